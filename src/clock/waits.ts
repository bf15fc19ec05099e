/** Who waits for the time of a world, and what is said of them when nobody moves it. */
import type { InferenceCall } from '../cluster/inference-row.ts'
import { HORIZON, type Outlook, outlooksOf } from '../cluster/outlook.ts'
import type { World } from '../cluster/world.ts'
import { type Micros, readable, SECOND } from '../kernel/duration.ts'
import { monotonicMs } from '../kernel/pacer.ts'
import type { ClockMode } from './setting.ts'
import { forget, soon } from './turns.ts'

/** Real time that the world's has stood after which it is said that somebody waits for it. */
const NOTICE_MS = 1000

/** A request whose answer waits for time. It is one wait however often it looks again. */
export interface Wait {
  /** Method and path. */
  readonly request: string
  readonly operation: string | undefined
  /** What waits for an instance to answer it; undefined where a fault of the wire delays the answer. */
  readonly call?: InferenceCall | undefined
  /** Of an answer of a model: what its client has to wait for now. */
  readonly part?: 'turn' | 'head' | 'body' | undefined
  /** Address of the control plane of its world, where it has one. */
  readonly control?: string | undefined
  /** Since when in the world, and by the real clock. */
  readonly since: Micros
  readonly sinceMs: number
  /** Whether it was said that nobody moves time for it. */
  isTold: boolean
}

/** A request that waits, as it is shown. */
export interface WaitingRequest extends Outlook {
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
interface Standing {
  readonly world: World
  readonly mode: ClockMode
  readonly pausedBy: readonly string[]
  /** Where time is by now, whatever has happened in the world so far. */
  readonly shown: Micros
}

interface Held {
  readonly wait: Wait
  /** When it looks again, or its answer comes. */
  readonly at: Micros
}

export class Waits {
  readonly #clock: Standing
  readonly #held = new Set<Held>()

  constructor(clock: Standing) {
    this.#clock = clock
  }

  /** Begins a wait, or goes on with one; what is returned ends it. */
  begin(wait: Wait, at: Micros): () => void {
    const held = { wait, at }
    this.#held.add(held)
    let notice: unknown
    const watch = () => {
      if (wait.isTold) return
      const { shown } = this.#clock
      notice = soon(() => {
        // What no time brings is no matter of the clock.
        if (at < Number.POSITIVE_INFINITY && this.#clock.shown !== shown) return watch()
        wait.isTold = true
        console.warn(`modelhost-sim: ${this.#notice(held)}`)
      }, NOTICE_MS)
    }
    watch()
    return () => {
      forget(notice)
      this.#held.delete(held)
    }
  }

  /** Who waits, in the order in which they began; of one moment, in which they came. */
  list(): WaitingRequest[] {
    const nth = ({ wait }: Held) => wait.call?.plan.nth ?? Number.POSITIVE_INFINITY
    const all = [...this.#held].sort((a, b) => a.wait.since - b.wait.since || nth(a) - nth(b) || 0)
    const calls = all.flatMap(({ wait }) => callThatWaits(wait) ?? [])
    const outlooks = new Map(outlooksOf(this.#clock.world, calls).map((outlook, i) => [calls[i]!, outlook]))
    return all.map(held => {
      const { operation, request, call, since, sinceMs } = held.wait
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
        ...((call && outlooks.get(call)) ?? ownOutlook(held)),
      }
    })
  }

  #notice(held: Held): string {
    const { world, pausedBy, mode } = this.#clock
    const { request, call, control } = held.wait
    const waiting = callThatWaits(held.wait)
    const outlook = waiting === undefined ? ownOutlook(held) : outlooksOf(world, [waiting])[0]!
    const who = call === undefined ? request : `${request} (model ${call.plan.model}, ${call.id})`
    if (waiting === undefined && outlook.until === undefined) {
      return `${who} waits for an answer that never comes. Its client has to give up: pass it a signal.`
    }
    const stands =
      pausedBy.length > 0
        ? `the clock is held by ${pausedBy.map(name => `'${printable(name)}'`).join(', ')}`
        : `the clock is ${mode}`
    const now = `It is ${world.clock.iso()}, and ${stands}`
    const said = `${who} waits for ${outlook.for}.`
    if (outlook.until === undefined) {
      const look = control === undefined ? 'sim.cluster.troubles()' : `curl ${control}/troubles`
      return (
        `${said} Nothing that is planned within ${readable(HORIZON)} brings it. ${now}. ` +
        `See what is wrong with ${look}, mend it, and move time: ${moveBy(600, control)}`
      )
    }
    const seconds = Math.max(1, Math.ceil((outlook.until - world.clock.now) / SECOND))
    return `${said} That comes at ${world.clock.iso(outlook.until)}. ${now}. Move time: ${moveBy(seconds, control)}`
  }
}

/** What is asked of a model and still waits for an instance. */
function callThatWaits({ call, part }: Wait): InferenceCall | undefined {
  return part === 'turn' && call?.state === 'queued' ? call : undefined
}

/** What comes at a moment that is known. */
function ownOutlook({ wait: { call, part }, at }: Held): Outlook {
  const until = at === Number.POSITIVE_INFINITY ? undefined : at
  if (call === undefined) return { for: 'an answer that a fault of the wire delays', until }
  return { for: part === 'body' ? 'the next token of its answer' : 'its answer, which an instance works on', until }
}

function moveBy(seconds: number, control: string | undefined): string {
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
