/** What a server reports of the requests that it answered: to a log, and about polls while time does not move. */
import type { Exchange } from '../../service/http/exchange.ts'
import { inProgress } from '../../simulation/reporting/progress.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { ServedWorld } from '../worlds/served-world.ts'

/** A request that a server answered. */
export interface ServedRequest extends Pick<Exchange, 'method' | 'status' | 'operation' | 'decidedBy'> {
  /** Time of the world, ISO 8601. */
  readonly time: string
  readonly world: string
  /** Path and query. API tokens are shortened to their last four characters, and other credentials are hidden. */
  readonly path: string
  /** The name of the rule, the words of the refusal, or the first error of a 422. */
  readonly reason?: string
}

/** Polls of one thing at one time, after which a notice says how to move time. */
const POLLS_BEFORE_NOTICE = 5
/** Things whose polls are counted at one time. */
const MAX_COUNTED = 1_000

interface Polls {
  time: number
  readonly counts: Map<string, number>
  isReported: boolean
}

export class ServedRequests {
  readonly #log: ((request: ServedRequest) => void) | undefined
  readonly #polls = new WeakMap<Simulator, Polls>()

  /** @param log called with each request; must not throw */
  constructor(log: ((request: ServedRequest) => void) | undefined) {
    this.#log = log
  }

  add(world: ServedWorld, exchange: Exchange, controlUrl: string): void {
    const { method, path, status, operation, endedAt, decidedBy, reason } = exchange
    if (method === 'GET' && status === 200) this.#countPoll(world.sim, path, endedAt, controlUrl)
    if (this.#log === undefined) return
    const { apiTokens, clock } = world.sim.world
    this.#log({
      time: new Date(clock.epochMs + Math.floor(endedAt / 1000)).toISOString(),
      world: world.name,
      method,
      path: apiTokens.hideSecrets(path),
      status,
      operation,
      decidedBy,
      ...(reason !== undefined && reason !== '' && { reason: apiTokens.hideSecrets(reason) }),
    })
  }

  /** Tells once how to move time, if a client polls a thing in progress and time does not move. */
  #countPoll(sim: Simulator, target: string, time: number, controlUrl: string): void {
    let polls = this.#polls.get(sim)
    if (polls === undefined) {
      polls = { time, counts: new Map(), isReported: false }
      this.#polls.set(sim, polls)
    }
    if (polls.isReported) return
    if (polls.time !== time || polls.counts.size > MAX_COUNTED) {
      polls.time = time
      polls.counts.clear()
    }
    const count = (polls.counts.get(target) ?? 0) + 1
    polls.counts.set(target, count)
    if (count < POLLS_BEFORE_NOTICE) return
    const polled = sim.api.findPolledResource('GET', target)
    if (polled === undefined || inProgress(sim.world, polled).size === 0) return
    polls.isReported = true
    const path = sim.world.apiTokens.hideSecrets(target)
    console.warn(
      `modelhost-sim: GET ${path} was asked ${count} times at ${sim.clock.iso}. ${explainStill(sim, controlUrl)}`,
    )
  }
}

function explainStill({ clock: { mode, pausedBy } }: Simulator, controlUrl: string): string {
  if (pausedBy.length > 0) {
    return `Time is paused by ${pausedBy.map(owner => JSON.stringify(owner)).join(', ')}. Resume it: POST ${controlUrl}/clock/resume.`
  }
  const why =
    mode === 'idle'
      ? 'Time moves only after a pause without requests longer than --idle-after, and a deadline alone does not move it'
      : 'Time does not move by itself'
  return (
    `${why}, because the clock is ${mode}. Move it: curl --json '{"by":"10m"}' ${controlUrl}/clock/advance. ` +
    'Or let it move: serve --clock scaled.'
  )
}
