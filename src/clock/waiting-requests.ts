/** Who waits for the time of a world, and what is said of them when nobody moves it. */

import { formatDuration, type Micros, SECOND } from '../kernel/duration.ts'
import { clearRealTimeout, monotonicMs, setRealTimeout } from '../lib/real-time.ts'
import type { InferenceHandle } from '../simulation/inference/request-row.ts'
import { FORECAST_HORIZON, type Forecast, forecastRequests } from '../simulation/reporting/forecast.ts'
import type { World } from '../simulation/world.ts'
import type { ClockMode } from './settings.ts'

/** Real time that the world's has stood after which it is said that somebody waits for it. */
const NOTICE_MS = 1000

/** A request whose answer waits for time. It is one wait however often it looks again. */
export interface RequestWait {
  /** Method and path. */
  readonly request: string
  readonly operation: string | undefined
  /** What waits for an instance to answer it; undefined where a fault of the wire delays the answer. */
  readonly call?: InferenceHandle | undefined
  /** Of an answer of a model: what its client has to wait for now. */
  readonly part?: 'turn' | 'head' | 'body' | undefined
  /** Address of the control plane of its world, where it has one. */
  readonly controlUrl?: string | undefined
  /** Since when in the world, and by the real clock. */
  readonly since: Micros
  readonly sinceMs: number
  /** Whether it was said that nobody moves time for it. */
  isReported: boolean
}

/** A request that waits, as it is shown. */
export interface PendingRequestView extends Forecast {
  readonly operation: string | undefined
  readonly request: string
  /** Wire id of the answer, and its model as the request names it. */
  readonly id: string | undefined
  readonly model: string | undefined
  /** Of the deployment that answers; undefined for models of the catalog. */
  readonly deploy_id: string | undefined
  readonly since: Micros
  /** Real milliseconds that it has waited. */
  readonly waitedMs: number
}

/** What of the clock is needed to say that it stands. */
interface ClockStatus {
  readonly world: World
  readonly mode: ClockMode
  readonly pausedBy: readonly string[]
  /** Where time is by now, whatever has happened in the world so far. */
  readonly currentTime: Micros
}

interface PausedWait {
  readonly wait: RequestWait
  /** When it looks again, or its answer comes. */
  readonly at: Micros
}

export class PendingRequests {
  readonly #clock: ClockStatus
  readonly #waits = new Set<PausedWait>()

  constructor(clock: ClockStatus) {
    this.#clock = clock
  }

  /** Begins a wait, or goes on with one; what is returned ends it. */
  begin(wait: RequestWait, at: Micros): () => void {
    const pausedWait = { wait, at }
    this.#waits.add(pausedWait)
    let notice: unknown
    const scheduleNotice = () => {
      if (wait.isReported) return
      const { currentTime: timeBefore } = this.#clock
      notice = setRealTimeout(() => {
        // What no time brings is no matter of the clock.
        if (at < Number.POSITIVE_INFINITY && this.#clock.currentTime !== timeBefore) return scheduleNotice()
        wait.isReported = true
        console.warn(`modelhost-sim: ${this.#formatNotice(pausedWait)}`)
      }, NOTICE_MS)
    }
    scheduleNotice()
    return () => {
      clearRealTimeout(notice)
      this.#waits.delete(pausedWait)
    }
  }

  /** Who waits, in the order in which they began; of one moment, in which they came. */
  list(): PendingRequestView[] {
    const callOrder = ({ wait }: PausedWait) => wait.call?.plan.sequence ?? Number.POSITIVE_INFINITY
    const sorted = [...this.#waits].sort((a, b) => a.wait.since - b.wait.since || callOrder(a) - callOrder(b) || 0)
    const calls = sorted.flatMap(({ wait }) => queuedCall(wait) ?? [])
    const forecasts = new Map(forecastRequests(this.#clock.world, calls).map((outlook, i) => [calls[i]!, outlook]))
    return sorted.map(pausedWait => {
      const { operation, request, call, since, sinceMs } = pausedWait.wait
      const { deployments } = this.#clock.world
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
    const { world, pausedBy, mode } = this.#clock
    const { request, call, controlUrl: control } = pausedWait.wait
    const queued = queuedCall(pausedWait.wait)
    const forecast = queued === undefined ? knownForecast(pausedWait) : forecastRequests(world, [queued])[0]!
    const requestName = call === undefined ? request : `${request} (model ${call.plan.model}, ${call.id})`
    if (queued === undefined && forecast.until === undefined) {
      return `${requestName} waits for an answer that never comes. Its client has to give up: pass it a signal.`
    }
    const clockState =
      pausedBy.length > 0
        ? `the clock is held by ${pausedBy.map(name => `'${printable(name)}'`).join(', ')}`
        : `the clock is ${mode}`
    const now = `It is ${world.clock.iso()}, and ${clockState}`
    const reason = `${requestName} waits for ${forecast.for}.`
    if (forecast.until === undefined) {
      const inspectCommand = control === undefined ? 'sim.cluster.troubles()' : `curl ${control}/troubles`
      return (
        `${reason} Nothing that is planned within ${formatDuration(FORECAST_HORIZON)} brings it. ${now}. ` +
        `See what is wrong with ${inspectCommand}, mend it, and move time: ${advanceCommand(600, control)}`
      )
    }
    const seconds = Math.max(1, Math.ceil((forecast.until - world.clock.now) / SECOND))
    return `${reason} That comes at ${world.clock.iso(forecast.until)}. ${now}. Move time: ${advanceCommand(seconds, control)}`
  }
}

/** What is asked of a model and still waits for an instance. */
function queuedCall({ call, part }: RequestWait): InferenceHandle | undefined {
  return part === 'turn' && call?.state === 'queued' ? call : undefined
}

/** What comes at a moment that is known. */
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
