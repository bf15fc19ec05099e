/** The requests that wait for the time of a world, and the notice about them if time does not move. */

import type { Clock } from '../../kernel/clock.ts'
import { formatDuration, type Micros, SECOND } from '../../kernel/duration.ts'
import { clearRealTimeout, monotonicMs, setRealTimeout } from '../../lib/real-time.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import { FORECAST_HORIZON, type Forecast, forecastRequests } from '../../simulation/reporting/forecast.ts'
import type { RequestWait } from './host.ts'
import type { WorldTime } from './world-time.ts'

/** Real milliseconds without a move of time after which a notice reports a waiting request. */
const NOTICE_MS = 1000

/** A waiting request, in the form for users. */
export interface PendingRequestView extends Forecast {
  readonly operation: string | undefined
  readonly request: string
  /** Wire id of the answer, and its model as the request names it. */
  readonly id: string | undefined
  readonly model: string | undefined
  /** Id of the deployment that answers; undefined for models of the catalog. */
  readonly deploy_id: string | undefined
  readonly since: Micros
  /** Real milliseconds since the start of the wait. */
  readonly waitedMs: number
}

/** A request that waits, with ISO 8601 times. `until` is undefined if no scheduled event ends the wait. */
export type PendingRequest = Omit<PendingRequestView, 'since' | 'until'> & {
  readonly since: string
  readonly until: string | undefined
}

/** Returns a pending request with its times in the format of the wire. */
export function toPendingRequest(
  { since, until, ...rest }: PendingRequestView,
  clock: Pick<Clock, 'iso'>,
): PendingRequest {
  return { ...rest, since: clock.iso(since), until: until === undefined ? undefined : clock.iso(until) }
}

interface PausedWait {
  readonly wait: RequestWait
  /** Time at which it checks the time again, or its answer comes. */
  readonly at: Micros
}

export class PendingRequests {
  readonly #time: WorldTime
  readonly #waits = new Set<PausedWait>()

  constructor(time: WorldTime) {
    this.#time = time
  }

  /** The present time. Its events may not have fired yet. */
  get #currentTime(): Micros {
    const { holds, elapsed } = this.#time
    return holds.isHeld ? elapsed : this.#time.due
  }

  /** Begins or continues a wait. Returns a function that ends it. */
  begin(wait: RequestWait, at: Micros): () => void {
    const pausedWait = { wait, at }
    this.#waits.add(pausedWait)
    let notice: unknown
    const scheduleNotice = () => {
      if (wait.isReported) return
      const timeBefore = this.#currentTime
      notice = setRealTimeout(() => {
        // An answer that never comes does not depend on the clock.
        if (at < Number.POSITIVE_INFINITY && this.#currentTime !== timeBefore) return scheduleNotice()
        wait.isReported = true
        const text = this.#formatNotice(pausedWait)
        console.warn(`modelhost-sim: ${this.#time.world.apiTokens.hideSecrets(text)}`)
      }, NOTICE_MS)
    }
    scheduleNotice()
    return () => {
      clearRealTimeout(notice)
      this.#waits.delete(pausedWait)
    }
  }

  /** Returns the waits in the order of their start; at one time, in the order of the requests. */
  list(): PendingRequestView[] {
    const callOrder = ({ wait }: PausedWait) => wait.call?.plan.sequence ?? Number.POSITIVE_INFINITY
    const sorted = [...this.#waits].sort((a, b) => a.wait.since - b.wait.since || callOrder(a) - callOrder(b) || 0)
    const calls = sorted.flatMap(({ wait }) => queuedCall(wait) ?? [])
    const forecasts = new Map(forecastRequests(this.#time.world, calls).map((forecast, i) => [calls[i]!, forecast]))
    return sorted.map(pausedWait => {
      const { operation, request, call, since, sinceMs } = pausedWait.wait
      const { deployments } = this.#time.world
      return {
        operation,
        request,
        id: call?.id,
        model: call?.plan.model,
        deploy_id:
          call === undefined || call.plan.deployment < 0 ? undefined : deployments.read(call.plan.deployment).id,
        since,
        waitedMs: monotonicMs() - sinceMs,
        ...((call && forecasts.get(call)) ?? knownForecast(pausedWait)),
      }
    })
  }

  #formatNotice(pausedWait: PausedWait): string {
    const { world, holds, drive } = this.#time
    const pausedBy = holds.owners
    const { request, call, controlUrl: control } = pausedWait.wait
    const queued = queuedCall(pausedWait.wait)
    const forecast = queued === undefined ? knownForecast(pausedWait) : forecastRequests(world, [queued])[0]!
    const requestName = call === undefined ? request : `${request} (model ${call.plan.model}, ${call.id})`
    if (queued === undefined && forecast.until === undefined) {
      return `${requestName} waits for an answer that never comes. Only its client can end this wait, by a timeout or an abort signal.`
    }
    const clockState =
      pausedBy.length > 0
        ? `the clock is held by ${pausedBy.map(name => `'${printable(name)}'`).join(', ')}`
        : `the clock is ${drive.mode}`
    const now = `It is ${world.clock.iso()}, and ${clockState}`
    const reason = `${requestName} waits for ${forecast.for}.`
    if (forecast.until === undefined) {
      const inspectCommand = control === undefined ? 'sim.cluster.activeFailures()' : `curl ${control}/troubles`
      return (
        `${reason} No event within ${formatDuration(FORECAST_HORIZON)} brings it. ${now}. ` +
        `See what is wrong with ${inspectCommand}, recover it, and move time: ${advanceCommand(600, control)}`
      )
    }
    const seconds = Math.max(1, Math.ceil((forecast.until - world.clock.now) / SECOND))
    return `${reason} That comes at ${world.clock.iso(forecast.until)}. ${now}. Move time: ${advanceCommand(seconds, control)}`
  }
}

/** Returns the inference request of a wait that still waits for an instance. */
function queuedCall({ call, part }: RequestWait): InferenceHandle | undefined {
  return part === 'turn' && call?.state === 'queued' ? call : undefined
}

/** Returns the forecast of an answer whose time is known. */
function knownForecast({ wait: { call, part }, at }: PausedWait): Forecast {
  const until = at === Number.POSITIVE_INFINITY ? undefined : at
  if (call === undefined) return { for: 'an answer that a fault of the wire delays', until }
  return { for: part === 'body' ? 'the next token of its answer' : 'its answer, which an instance works on', until }
}

function advanceCommand(seconds: number, control: string | undefined): string {
  return control === undefined
    ? `sim.clock.advance('${seconds}s')`
    : `curl --json '{"by":"${seconds}s"}' ${control}/clock/advance`
}

/** Most characters of a name in a notice. */
const NAME_MAX_LENGTH = 100

/** Returns the start of a text with control characters escaped: a terminal would act on them. */
function printable(text: string): string {
  const start = text.length > NAME_MAX_LENGTH ? `${text.slice(0, NAME_MAX_LENGTH)}…` : text
  return start.replaceAll(/\p{Cc}/gu, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
