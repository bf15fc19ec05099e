/** Plays the requests of a recording at their times, in a world that may go another way. */

import type { Micros } from '../../../kernel/duration.ts'
import { tryParseJson } from '../../../lib/json-text.ts'
import { eventLoopTurn, monotonicMs } from '../../../lib/real-time.ts'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import type { InferencePace } from '../../clock/answer-waiter.ts'
import { toTransition } from '../../clock/moves/result.ts'
import { WireFaultResponse } from '../../faults/wire-faults.ts'
import type { SimulatorOptions } from '../../options.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { ParsedRecording } from '../file.ts'
import { createRecordedSimulator } from '../header.ts'
import type { ActionLine, Numbered } from '../lines.ts'
import { collectExchanges, type WholeExchange } from '../timeline.ts'
import { performAction } from './actions.ts'
import { deliverAsRecorded, type RecordedReceivers } from './recorded-receivers.ts'
import { createRequest } from './replayed-request.ts'

/** Most real milliseconds in which a request is answered, unless it waits for time. Some code is loaded first. */
const SEND_MS = 5000

/** A change that fits a recording. */
export interface Change {
  readonly options: Partial<SimulatorOptions>
  /** The id of a fault rule of the start that is removed. */
  readonly removedRule?: string | undefined
  /** The line that is left out; of a fault, the rule is removed at once, so that others keep their ids. */
  readonly removedLine?: number | undefined
  readonly field?: { readonly name: string; readonly value: unknown } | undefined
}

const NO_CHANGE: Change = { options: {} }

/** What the client of a request got. */
export interface PlayedAnswer {
  /** As in `GET /deploy/list (request 7)`. */
  readonly name: string
  /** 0: no answer. */
  status: number
  text: string
  /** What a fault did on the wire. */
  wire: string
  /** When the client had all of it; undefined if it never did, as for a request that hangs. */
  endedAt: Micros | undefined
  /** Whether a fault delays it. */
  isDelayed: boolean
}

/** What came of a play. */
export interface Outcome {
  readonly answers: ReadonlyMap<number, PlayedAnswer>
  /** The changes of status by subject, each with its time; of a request with a webhook, what came of its attempts. */
  readonly states: ReadonlyMap<string, readonly { readonly at: Micros; readonly became: string }[]>
  /** Micro-cents. */
  readonly balance: number
  /** Micro-cents by kind of posting. */
  readonly postings: ReadonlyMap<string, number>
  /** Actions that could not be performed, with the reason, by line. */
  readonly failedActions: ReadonlyMap<number, string>
  readonly digest: string
}

/**
 * Plays a recording by time alone.
 *
 * @param receivers answer webhooks, at the time of each attempt
 * @throws RecordingError if this build makes another world of it
 */
export async function playFreely(
  recording: ParsedRecording,
  what: string,
  receivers: RecordedReceivers,
  change: Change = NO_CHANGE,
): Promise<Outcome> {
  const { header, lines } = recording
  await loadTokenizer()
  const options = { ...change.options, inferencePace: paceOf(recording) }
  const sim: Simulator = createRecordedSimulator(
    header,
    what,
    options,
    deliverAsRecorded(receivers, () => sim),
  )
  const play = new FreePlay(sim, collectExchanges(lines), change)
  try {
    return await play.run(lines)
  } finally {
    await play.close()
  }
}

class FreePlay {
  readonly #sim: Simulator
  readonly #facts: ReadonlyMap<number, WholeExchange>
  readonly #change: Change
  readonly #answers = new Map<number, PlayedAnswer>()
  readonly #clients = new Map<number, AbortController>()
  readonly #states = new Map<string, { readonly at: Micros; readonly became: string }[]>()
  readonly #failedActions = new Map<number, string>()

  constructor(sim: Simulator, facts: ReadonlyMap<number, WholeExchange>, change: Change) {
    this.#sim = sim
    this.#facts = facts
    this.#change = change
    sim.journal.listen(entry => {
      const isWebhook = entry.kind.startsWith('webhook.')
      const became = isWebhook ? entry.kind : toTransition(entry, sim.world.clock)?.became
      if (became === undefined) return
      const { subject } = entry
      this.#states.set(subject, [...(this.#states.get(subject) ?? []), { at: entry.time, became }])
    })
    if (change.removedRule !== undefined) sim.faults.remove(change.removedRule)
  }

  async run(lines: readonly Numbered[]): Promise<Outcome> {
    await this.#settleWebhooks()
    for (const line of lines) await this.#play(line)
    // Answers that need no more time come now.
    await eventLoopTurn()
    return this.#conclude()
  }

  async close(): Promise<void> {
    for (const client of this.#clients.values()) client.abort()
    await this.#sim[Symbol.asyncDispose]()
  }

  async #play(line: Numbered): Promise<void> {
    await moveTo(this.#sim, line.at[0])
    if ('request' in line) {
      if (line.line !== this.#change.removedLine && !line.look) await this.#send(line.request)
    } else if ('end' in line) {
      if (line.state === 'left') this.#clients.get(line.end)?.abort()
    } else if ('answer' in line) {
      if (line.status === 0) this.#clients.get(line.answer)?.abort()
    } else if ('action' in line) {
      this.#perform(line)
      if (line.action.do === 'reset' || line.action.do === 'restore') await this.#settleWebhooks()
    }
  }

  /** Waits for the attempts that the present world began with. Else real time would decide which line they come before. */
  async #settleWebhooks(): Promise<void> {
    await this.#sim.clock.advance(0)
  }

  async #send(number: number): Promise<void> {
    const { name, line, body } = this.#facts.get(number)!
    const { field } = this.#change
    const changed = field !== undefined && typeof body === 'string' ? setField(body, field) : undefined
    const client = new AbortController()
    this.#clients.set(number, client)
    const request = createRequest(line, changed ?? body, client.signal)
    const answer: PlayedAnswer = { name, status: 0, text: '', wire: '', endedAt: undefined, isDelayed: false }
    this.#answers.set(number, answer)
    const header = (one: string) => {
      const key = one.toLowerCase()
      // The changed body has another length.
      return changed !== undefined && key === 'content-length' ? null : (line.headers[key] ?? null)
    }
    this.#receive(answer, request, { path: line.path, clientAddress: line.address, header }).catch(() => {})
    // Requests of one time take their steps one after another.
    const { clock } = this.#sim
    const waiting = clock.pendingRequests.length
    const isOnItsWay = () =>
      answer.endedAt === undefined && !answer.isDelayed && clock.pendingRequests.length <= waiting
    for (const deadline = monotonicMs() + SEND_MS; isOnItsWay() && monotonicMs() < deadline; ) await eventLoopTurn()
  }

  async #receive(answer: PlayedAnswer, request: Request, incoming: Parameters<Simulator['answer']>[1]): Promise<void> {
    const { clock } = this.#sim
    const response = await this.#sim.answer(request, incoming)
    const outcome = response instanceof WireFaultResponse ? response.outcome : undefined
    answer.wire = outcome?.kind ?? ''
    const delay = outcome?.kind === 'delayed' ? outcome.delay : 0
    answer.isDelayed = delay > 0 || outcome?.kind === 'hang'
    if (outcome?.kind === 'hang') return
    if (delay > 0) await clock.sleep(delay / 1000)
    if (outcome?.kind !== 'reset' && outcome?.kind !== 'refused') {
      answer.status = response.status
      const isSlow = response instanceof WireFaultResponse && outcome?.kind === 'slow'
      const delivered = isSlow ? await this.#sim.deliverFault(response, request) : response
      answer.text = await delivered.text()
    }
    answer.endedAt = clock.elapsed
  }

  #perform(line: Numbered<ActionLine>): void {
    const { action } = line
    // Requests to the control plane only number the journal. The receivers of this play answer the webhooks.
    if (action.do === 'listControlRequest' || action.do === 'settleWebhook') return
    const isRemoved = line.line === this.#change.removedLine
    if (isRemoved && action.do !== 'addFault') return
    try {
      const before = new Set(this.#sim.faults.list().map(({ id }) => id))
      performAction(this.#sim, action)
      if (!isRemoved) return
      const added = this.#sim.faults.list().find(({ id }) => !before.has(id))!
      this.#sim.faults.remove(added.id)
    } catch (error) {
      this.#failedActions.set(line.line, (error as Error).message)
    }
  }

  #conclude(): Outcome {
    const postings = new Map<string, number>()
    for (const { kind, microcents } of this.#sim.ledger.entries()) {
      postings.set(kind, (postings.get(kind) ?? 0) + microcents)
    }
    return {
      answers: this.#answers,
      states: this.#states,
      balance: this.#sim.ledger.balance,
      postings,
      failedActions: this.#failedActions,
      digest: this.#sim.digest,
    }
  }
}

/** Returns when models answer in a play on a manual clock: as recorded, some answers take time, or none does. */
export function paceOf({ header, lines }: ParsedRecording): InferencePace {
  return header.options.inferencePace ?? (lines.some(line => 'waits' in line) ? 'clock' : 'instant')
}

/** Moves the clock to a time of the world, in microseconds since its epoch. Does nothing for a time that is over. */
export async function moveTo({ clock }: Simulator, time: Micros): Promise<void> {
  if (time > clock.elapsed) await clock.advance(`${time - clock.elapsed}us`)
}

/** Returns a JSON body with another value of a field, at every place that has it; undefined if none has. */
export function setField(body: string, { name, value }: NonNullable<Change['field']>): string | undefined {
  const parsed = tryParseJson(body)
  const steps = name.split('.')
  let isFound = false
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const holder = steps
      .slice(0, -1)
      .reduce<unknown>((one, step) => (one as Record<string, unknown> | undefined)?.[step], node)
    const last = steps.at(-1)!
    if (typeof holder === 'object' && holder !== null && Object.hasOwn(holder, last)) {
      ;(holder as Record<string, unknown>)[last] = value
      isFound = true
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(parsed)
  return isFound ? JSON.stringify(parsed) : undefined
}
