/** The receivers of webhooks in a play: they answer as those of the recording did. */

import type { WebhookOutcome } from '../../../simulation/inference/webhooks.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { DeliverWebhook } from '../../webhook-options.ts'
import type { ParsedRecording } from '../file.ts'
import { type ReplayResult, replayRecording } from './perform-lines.ts'

/** What a receiver answers that the recording does not know. */
const ACCEPTED: WebhookOutcome = { status: 200 }

/** The outcomes of the attempts of a recording. */
export interface RecordedReceivers {
  /** By the name of an attempt and its address. */
  readonly ofAttempts: ReadonlyMap<string, WebhookOutcome>
  /** By address, in the order in which the attempts began. */
  readonly ofAddresses: ReadonlyMap<string, readonly WebhookOutcome[]>
  /** The replay that showed them. */
  readonly replay: ReplayResult
}

/** Returns the outcomes of a recording. Their lines do not name the address, so they come from its replay. */
export async function findReceivers(recording: ParsedRecording, what: string): Promise<RecordedReceivers> {
  const urls = new Map<string, string>()
  const ofAttempts = new Map<string, WebhookOutcome>()
  const ofAddresses = new Map<string, WebhookOutcome[]>()
  const onBegin = (sim: Simulator) => {
    for (const { requestId, attempt, url } of sim.world.webhooks.listUnderWay()) {
      urls.set(nameAttempt(sim, requestId, attempt), url)
    }
    sim.journal.listen(({ kind, subject, fields = {} }) => {
      const { attempt, url, status, reason } = fields
      const name = nameAttempt(sim, subject, Number(attempt))
      if (kind === 'webhook.sent') urls.set(name, String(url))
      if (kind === 'webhook.delivered' || kind === 'webhook.failed') {
        const outcome = status === undefined ? { reason: String(reason) } : { status: Number(status) }
        ofAttempts.set(`${name} ${urls.get(name)}`, outcome)
      }
    })
  }
  const replay = await replayRecording(recording, what, { onBegin })
  for (const [name, url] of urls) {
    const outcome = ofAttempts.get(`${name} ${url}`)
    if (outcome !== undefined) ofAddresses.set(url, [...(ofAddresses.get(url) ?? []), outcome])
  }
  return { ofAttempts, ofAddresses, replay }
}

/**
 * Returns what delivers the results of one play, without a connection. An attempt of the recording has its recorded
 * outcome. Another one has that of the recorded attempt at the same place in the order of its address, or of the last
 * one there. An address that the recording does not know accepts everything.
 *
 * @param sim returns the simulator of the play
 */
export function deliverAsRecorded(
  { ofAttempts, ofAddresses }: RecordedReceivers,
  sim: () => Simulator,
): DeliverWebhook {
  const deliveries = new Map<string, number>()
  return async (url, { body }) => {
    const delivered = deliveries.get(url) ?? 0
    deliveries.set(url, delivered + 1)
    const { request_id: id } = JSON.parse(body) as { readonly request_id: string }
    const underWay = sim().world.webhooks.listUnderWay()
    const { attempt = 0 } = underWay.find(({ requestId }) => requestId === id) ?? {}
    const inOrder = ofAddresses.get(url) ?? []
    const outcome =
      ofAttempts.get(`${nameAttempt(sim(), id, attempt)} ${url}`) ?? inOrder[delivered] ?? inOrder.at(-1) ?? ACCEPTED
    if ('reason' in outcome) throw new Error(outcome.reason)
    return outcome
  }
}

/** Names an attempt of a world. After a reset, another request can have the same id. */
function nameAttempt({ requestLog }: Simulator, id: string, attempt: number): string {
  return `${requestLog.worlds} ${id} ${attempt}`
}
