/** What the page knows and does: one world of one simulator, its live events, and what the person did. */

import { computed, signal } from '@preact/signals'
import { monotonicMs, setRealTimeout } from '../../../lib/real-time.ts'
import {
  type AnswersByRoute,
  AskError,
  asCurl,
  type Connection,
  type ControlRoute,
  type EncodedRequest,
  encodeRequest,
  type FieldsByRoute,
  readAnswer,
} from './ask.ts'
import { Feed } from './feed.ts'
import { Place } from './place.ts'
import type { ExploreReport } from './report.ts'

/** Real milliseconds for which the message of an action that succeeded is shown. */
const NOTICE_MS = 8_000
/** Real milliseconds between two looks at a clock that moves by itself, or after a change. */
const CLOCK_POLL_MS = 500
/** The same for a clock that moves only by request. Most of its moves bring entries, and so a look. */
const STILL_CLOCK_POLL_MS = 2_000
/** How many actions the page remembers. */
const MAX_ACTIONS = 200

export const DEFAULT_WORLD = 'default'

/** A scenario that was run whole. */
export type ScenarioRun = AnswersByRoute['POST /_sim/scenarios/{name}/run']

export type Clock = AnswersByRoute['GET /_sim/clock']

/** A message to the person, shown until it is closed or replaced. */
interface Notice {
  readonly kind: 'done' | 'failed'
  readonly text: string
  /** The request that did it. */
  readonly request?: EncodedRequest
}

/** A fork that was made to look at the past of a world. */
export interface Visit {
  readonly world: string
  /** The world whose past it shows. */
  readonly of: string
  /** The moment, ISO 8601. */
  readonly at: string
}

/** Something that the person did here, with the request that did it. */
interface Action {
  readonly label: string
  /** Virtual time, ISO 8601. */
  readonly at: string
  readonly world: string
  readonly request: EncodedRequest
}

export class Session {
  readonly connection: Connection
  readonly place = new Place()
  readonly feed = new Feed()
  readonly clock = signal<Clock | undefined>(undefined)
  readonly notice = signal<Notice | undefined>(undefined)
  /** Reports of explorations that were opened. */
  readonly explored = signal<readonly ExploreReport[]>([])
  /** The newest run of each scenario, by its name. */
  readonly runs = signal<Readonly<Record<string, ScenarioRun>>>({})
  readonly actions = signal<readonly Action[]>([])
  /** The newest fork that was made to look at the past. */
  readonly visit = signal<Visit | undefined>(undefined)
  /** Names of commands that are under way. */
  readonly pending = signal<ReadonlySet<string>>(new Set())
  /** Name of the world that the page shows. */
  readonly world = computed(() => this.place.value.world ?? DEFAULT_WORLD)
  /** Counts what may have changed the world: events, moves of the clock, commands. */
  readonly revision = signal(0)
  /** Counts this too, and each request of a client. */
  readonly requestRevision = computed(() => this.revision.value + this.feed.revision.value)

  #clockReadAt = Number.NEGATIVE_INFINITY
  /** The changes of the feed at the last look at the clock. */
  #clockReadOf = -1

  constructor(connection: Connection) {
    this.connection = connection
  }

  /** Begins to follow the world that the page shows, and each one it is switched to. */
  start(): void {
    // A change of the world follows the other one from its beginning.
    this.world.subscribe(() => this.reconnect())
    this.feed.changes.subscribe(() => {
      this.revision.value++
    })
    const watch = () => {
      setRealTimeout(watch, CLOCK_POLL_MS)
      const isDue = monotonicMs() - this.#clockReadAt >= STILL_CLOCK_POLL_MS
      if (!document.hidden && this.feed.link.value === 'live' && (isDue || this.#mayHaveMoved)) void this.readClock()
    }
    watch()
    // The next look of a hidden page can be a minute away.
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) void this.readClock()
    })
  }

  /** Follows the shown world from the beginning again. */
  reconnect(): void {
    const world = this.world.peek()
    this.feed.follow((query, signal) => this.send(`/_sim/events${query}`, { signal }, world))
    this.clock.value = undefined
    void this.readClock()
    // From here on, the timeline can go back. A page that cannot keep the past says so when it is asked to go there.
    if (this.place.value.origin === undefined) this.ask('POST /_sim/past', {}, { world }).catch(() => {})
  }

  /** Returns the command line that sends a request to the shown world. */
  curlOf({ path, ...request }: EncodedRequest): string {
    // A page in a browser alone has no server: the address is that of one with the default port.
    const address = this.connection.home === 'server' ? location.host : '127.0.0.1:4010'
    const world = this.world.peek()
    return asCurl({ ...request, path: world === DEFAULT_WORLD ? path : `/_sim/worlds/${world}${path}` }, address)
  }

  /** Sends a request to a world. `path` is that of the default world. */
  send(path: string, init?: RequestInit, world: string = this.world.value): Promise<Response> {
    return this.connection.send(world === DEFAULT_WORLD ? path : `/_sim/worlds/${world}${path}`, init)
  }

  /** Asks the control plane of a world. Throws AskError if the answer is not a success. */
  async ask<Route extends ControlRoute>(
    route: Route,
    fields?: FieldsByRoute[Route],
    { world = this.world.value, signal }: { world?: string; signal?: AbortSignal } = {},
  ): Promise<AnswersByRoute[Route]> {
    const request = encodeRequest(route, fields as Record<string, unknown>)
    return (await this.sendEncoded(request, world, signal)) as AnswersByRoute[Route]
  }

  async sendEncoded({ method, path, body }: EncodedRequest, world: string, signal?: AbortSignal): Promise<unknown> {
    const content = body !== undefined && { body, headers: { 'content-type': 'application/json' } }
    return this.read(await this.send(path, { method, ...content, ...(signal && { signal }) }, world))
  }

  /** Reads an answer of the control plane. Throws AskError if it is not a success. */
  read(response: Response): Promise<unknown> {
    if (response.status === 401) this.feed.link.value = 'locked'
    return readAnswer(response)
  }

  /**
   * Does something that the person asked for: sends the request, remembers it, and says what it did or why it failed.
   * Returns the answer; undefined if it failed.
   *
   * @param label what it does: 'Crash h100-0'
   * @param world Default: the shown one
   */
  async act<Route extends ControlRoute>(
    label: string,
    route: Route,
    fields?: FieldsByRoute[Route],
    world: string = this.world.peek(),
  ): Promise<AnswersByRoute[Route] | undefined> {
    const request = encodeRequest(route, fields as Record<string, unknown>)
    const at = this.clock.peek()?.now ?? ''
    this.pending.value = new Set([...this.pending.value, label])
    try {
      const answer = (await this.sendEncoded(request, world)) as AnswersByRoute[Route]
      this.actions.value = [...this.actions.value, { label, at, world, request }].slice(-MAX_ACTIONS)
      const notice = { kind: 'done', text: label, request } as const
      this.notice.value = notice
      setRealTimeout(() => {
        if (this.notice.peek() === notice) this.notice.value = undefined
      }, NOTICE_MS)
      return answer
    } catch (error) {
      this.notice.value = { kind: 'failed', text: describeError(error), request }
      return undefined
    } finally {
      this.pending.value = new Set([...this.pending.value].filter(name => name !== label))
      await this.readClock()
      this.revision.value++
    }
  }

  /** Whether the clock moves by itself, or something may have moved it since the last look. */
  get #mayHaveMoved(): boolean {
    const clock = this.clock.peek()
    const isStill = clock !== undefined && (clock.mode === 'manual' || clock.paused_by.length > 0)
    return !isStill || this.feed.changes.peek() !== this.#clockReadOf
  }

  /** Reads the time of the world. A change of it counts as a revision. */
  async readClock(): Promise<void> {
    const world = this.world.value
    this.#clockReadAt = monotonicMs()
    this.#clockReadOf = this.feed.changes.peek()
    try {
      const clock = await this.ask('GET /_sim/clock', {}, { world })
      if (world !== this.world.value) return
      const before = this.clock.peek()
      if (JSON.stringify(before) === JSON.stringify(clock)) return
      this.clock.value = clock
      this.revision.value++
    } catch (error) {
      // Otherwise the feed says that the server is away.
      if (!(error instanceof AskError) || error.status !== 404 || world === DEFAULT_WORLD) return
      this.notice.value = { kind: 'failed', text: error.message }
      this.place.go({ world: undefined })
    }
  }
}

/** Returns what went wrong, for people. */
export function describeError(error: unknown): string {
  if (error instanceof AskError) return error.message
  return `Failed to reach the simulator: ${(error as Error).message}.`
}

/** A page has one session. A context of Preact would be larger, and say the same. */
let ofPage: Session | undefined

/** Sets the session of the page, before anything is drawn. */
export function provideSession(session: Session): void {
  ofPage = session
}

/** Returns the session of the page. */
export function useSession(): Session {
  return ofPage!
}

/** Forks a world and shows the fork, whose clock is manual. */
export async function forkWorld(session: Session, from: string): Promise<void> {
  const made = await session.act(`Fork ${from}`, 'POST /_sim/worlds', { from, clock: 'manual' }, DEFAULT_WORLD)
  if (made !== undefined) session.place.go({ world: made.world, origin: from })
}

/** The name of the hold by which the page pauses a clock. */
export const HOLD_OWNER = 'control-room'

/** Advances the clock by a duration: `90m`. */
export async function advance(session: Session, by: string): Promise<void> {
  await session.act(`Advance by ${by}`, 'POST /_sim/clock/advance', { by })
}

/** Advances the clock to a time in ISO 8601. */
export async function advanceTo(session: Session, to: string): Promise<void> {
  await session.act(`Advance to ${to}`, 'POST /_sim/clock/advance', { to })
}

export async function nextEvent(session: Session): Promise<void> {
  await session.act('Go to the next event', 'POST /_sim/clock/next', {})
}

/** Holds the clock, or releases the hold of the page. A manual clock has nothing to pause. */
export async function togglePause(session: Session): Promise<void> {
  const clock = session.clock.peek()
  if (clock === undefined || clock.mode === 'manual') return
  const owner = HOLD_OWNER
  if (clock.paused_by.includes(owner)) await session.act('Play', 'POST /_sim/clock/resume', { owner })
  else await session.act('Pause', 'POST /_sim/clock/pause', { owner })
}
