/** A stage on a running server: a world made for one scenario, played over HTTP, and taken away when it is over. */

import { type MoveResult, type Transition, toTransition } from '../../clock/move-result.ts'
import { UntilError } from '../../clock/until-error.ts'
import { loadFixture } from '../../data/fixtures/load.ts'
import { Clock, DEFAULT_EPOCH_MS } from '../../kernel/clock.ts'
import { type Duration, formatDuration, type Micros, micros } from '../../kernel/duration.ts'
import type { Entry, EntryFields } from '../../kernel/journal.ts'
import { eventLoopTurn, monotonicMs } from '../../lib/real-time.ts'
import { readNames } from '../../service/naming/names-profile.ts'
import type { LedgerEntry } from '../../simulation/account/ledger.ts'
import type { NodeView } from '../../simulation/fleet/nodes.ts'
import {
  type ClusterCommands,
  createClusterCommands,
  createNodeCommands,
  type SendCommand,
} from '../../simulation/operations/cluster-api.ts'
import { toHttpFields } from '../../simulator/option-fields.ts'
import { isSnapshotFixture } from '../../simulator/options.ts'
import { NO_CHUNK_HEADER, POLLED_BODY_HEADER, POLLED_RESPONSE_HEADER } from '../../simulator/polled-response.ts'
import type { ScenarioOptions } from '../scenario.ts'
import { readPacedBody, waitForHeldResponse, waitOutDelay } from './answer-waiting.ts'
import type { CommandPath, PassTime, ScenarioClock, ScenarioEnvironment, ScenarioFaults } from './environment.ts'
import { describeUnmovedSleep, isReadRequest, unknownCommandError } from './local.ts'

/** A running server. */
export interface ServerAddress {
  /** As in `http://127.0.0.1:4010`. */
  readonly url: string
  /** What its control plane asks for where it listens beyond loopback. */
  readonly controlToken?: string | undefined
}

/** Entries that the journal of a played world keeps: a record must not lose its beginning. */
const JOURNAL_LIMIT = 1_000_000
const JOURNAL_PAGE = 10_000
/** Turns of the event loop without a sign of the script after which it counts as waiting. */
const QUIET_TURNS = 3
const NO_LIMIT = Number.POSITIVE_INFINITY

/** The connection broke before there was a whole answer; what was asked may have been done. */
export class BrokenConnection extends Error {
  override readonly name = 'BrokenConnection'
  readonly broken = true
}

/**
 * Makes a world for a scenario on a running server.
 *
 * @throws Error when no such server answers, or when the options make no world there
 * @example const stage = await openAgainst('http://127.0.0.1:4010', { fixtures: 'two-nodes', seed: 7 })
 */
export async function openRemoteEnvironment(
  server: string | ServerAddress,
  options: ScenarioOptions,
): Promise<RemoteEnvironment> {
  const { url, controlToken }: ServerAddress = typeof server === 'string' ? { url: server } : server
  const root = url.replace(/\/+$/, '')
  if (isSnapshotFixture(options.fixtures)) {
    throw new RangeError(
      `Failed to play against ${root}: the scenario begins with a snapshot, which holds the tokens of its world and is not sent to a server. ` +
        'Play it in this process, or begin with a fixture.',
    )
  }
  const control = new ControlClient(root, controlToken)
  const spec = worldSpec(options)
  try {
    const { world, token, base_url } = await control.request('POST', '/_sim/worlds', spec)
    return new RemoteEnvironment(control, {
      path: `/_sim/worlds/${world}`,
      baseUrl: base_url,
      // Below its own address a world knows its tokens without their routing word.
      token: token?.slice(0, -`.${world}`.length) ?? '',
      seed: String(spec.seed),
      epochMs: options.epoch === undefined ? DEFAULT_EPOCH_MS : Date.parse(options.epoch),
    })
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error
    throw new Error(
      `Failed to play against ${root}: ${error.message}. Start a server with 'modelhost-sim serve', or give the address of one.`,
    )
  }
}

/** Returns the body that makes a scenario's world. It sets every option, because a missing one would be the server's. */
function worldSpec(options: ScenarioOptions) {
  const { fixtures, names, epoch } = options
  return toHttpFields({
    ...options,
    fixtures: isPath(fixtures) ? loadFixture(fixtures, epochOf(epoch)) : fixtures,
    names: names === undefined ? undefined : readNames(names).profile,
    journalLimit: JOURNAL_LIMIT,
  })
}

function isPath(fixtures: ScenarioOptions['fixtures']): fixtures is string {
  return typeof fixtures === 'string' && /[\\/]/.test(fixtures)
}

function epochOf(epoch: string | undefined) {
  return epoch === undefined ? {} : { epochMs: Date.parse(epoch) }
}

/** Nobody answered at an address, or somebody else did. */
class NoServerError extends Error {}

/** What goes to and fro between a stage and its server. */
class ControlClient {
  readonly #root: string
  /** What the server asks of who commands it. */
  readonly headers: Readonly<Record<string, string>>

  constructor(root: string, controlToken: string | undefined) {
    this.#root = root
    this.headers = controlToken === undefined ? {} : { 'x-sim-control-token': controlToken }
  }

  /** Asks the control plane. Throws RangeError with what it says to a refusal. */
  // biome-ignore lint/suspicious/noExplicitAny: each path answers what its declaration says
  async request(method: string, path: string, body?: unknown): Promise<any> {
    const headers = { ...this.headers, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await fetch(`${this.#root}${path}`, init).catch(error => {
      throw new NoServerError(`no server answers there (${reasonOf(error)})`)
    })
    const text = await response.text()
    if (response.ok) return JSON.parse(text)
    const message = errorMessageIn(text)
    if (message === undefined) throw new NoServerError(`what answers there has no ${path} (${response.status})`)
    throw new RangeError(message)
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return (cause as { code?: string } | undefined)?.code ?? message
}

function errorMessageIn(text: string): string | undefined {
  try {
    const { error, detail } = JSON.parse(text)
    if (typeof error === 'string') return error
    return Array.isArray(detail) ? detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ') : undefined
  } catch {
    return undefined
  }
}

interface PendingSleep {
  readonly at: Micros
  readonly duration: Duration
  readonly wake: () => void
}

interface RemoteWorld {
  /** Path of the world on its server. */
  readonly path: string
  readonly baseUrl: string
  readonly token: string
  readonly seed: string
  readonly epochMs: number
}

/** A world of a running server. */
export class RemoteEnvironment implements ScenarioEnvironment {
  readonly seed: string
  readonly baseUrl: string
  readonly token: string
  readonly clock: ScenarioClock
  bug: unknown
  readonly #control: ControlClient
  readonly #worldPath: string
  /** The world's time as of the last answer that told it. */
  #worldClock: Clock
  /** One thing at a time, as in a process: what is asked first happens first. */
  #queue: Promise<unknown> = Promise.resolve()
  #entries: Entry[] = []
  /** How far the journal was read, and whether anything was done since. */
  #lastReadSeq = 0
  /** Rules of faults that are there from the start were told of when the world was made. */
  #isJournalStale = true
  #pendingSleeps: readonly PendingSleep[] = []
  #moveQueue: Promise<unknown> = Promise.resolve()
  #movesInProgress = 0
  /** Tells who waits for a predicate that an answer to it is held. */
  #onResponseHeld = () => {}
  #changeCount = 0
  #tasksInProgress = 0
  #requestsInFlight = 0
  #activityCount = 0

  constructor(line: ControlClient, { path: home, baseUrl, token, seed, epochMs }: RemoteWorld) {
    this.#control = line
    this.#worldPath = home
    this.baseUrl = baseUrl
    this.token = token
    this.seed = seed
    this.#worldClock = new Clock(epochMs)
    this.clock = this.#createClock()
  }

  get revision(): number {
    return this.#worldClock.now + this.#changeCount
  }

  get heartbeat(): number {
    return this.revision + (this.#tasksInProgress > 0 ? monotonicMs() : 0)
  }

  get waitReason(): string | undefined {
    const [first] = this.#pendingSleeps
    return first && describeUnmovedSleep(first.duration, first.at - this.#worldClock.now)
  }

  async send(request: Request, pass: PassTime): Promise<Response> {
    const before = this.#lastReadSeq
    const first = await this.#sendRequest(request)
    const number = first.headers.get(POLLED_RESPONSE_HEADER)
    const response = number === null ? first : await this.#waitForHeldResponse(first, number, request, pass)
    // It was put down as a success while its answer was waited for.
    if (number !== null && !response.ok) await this.#inOrder(() => this.#rereadRequests(before))
    const hangs = response.headers.has('x-sim-hang')
    const delay = hangs ? Number.POSITIVE_INFINITY : Number(response.headers.get('x-sim-delay') ?? 0)
    const wait = (span: Micros) => (this.#movesInProgress > 0 ? this.#moveTo(this.#worldClock.now + span) : pass(span))
    if (delay > 0) await waitOutDelay(delay, this.#nameOf(request), wait, this.clock)
    const pieces = response.headers.get(POLLED_BODY_HEADER)
    return pieces === null ? response : this.#readPacedBody(response, pieces, request, pass)
  }

  async #sendRequest(request: Request): Promise<Response> {
    this.#activityCount++
    this.#requestsInFlight++
    try {
      return await this.#inOrder(() => this.#forward(request))
    } finally {
      this.#requestsInFlight--
      this.#activityCount++
    }
  }

  /** Comes back for an answer that the world holds, and moves its time meanwhile. */
  #waitForHeldResponse(first: Response, number: string, request: Request, pass: PassTime): Promise<Response> {
    const again = (method: string) =>
      this.#sendRequest(new Request(request.url, { method, headers: { [POLLED_RESPONSE_HEADER]: number } }))
    let known: Response | undefined = first
    const held = {
      look: async () => {
        const answer = known ?? (await again('GET'))
        known = undefined
        return answer.headers.has(POLLED_RESPONSE_HEADER)
          ? { delay: Number(answer.headers.get('x-sim-delay')) }
          : { answer }
      },
      leave: () => again('DELETE'),
      pass,
    }
    return waitForHeldResponse(held, request, this.#nameOf(request), this.clock)
  }

  /** Comes back for each piece of a body that comes as time goes. */
  #readPacedBody(response: Response, number: string, request: Request, pass: PassTime): Response {
    const again = (method: string) =>
      this.#sendRequest(new Request(request.url, { method, headers: { [POLLED_BODY_HEADER]: number } }))
    const read = async () => {
      const piece = await again('GET')
      const none = piece.headers.get(NO_CHUNK_HEADER)
      if (none === 'over') return { isOver: true as const }
      if (none !== null) throw new BrokenConnection(`the connection broke during ${this.#nameOf(request)}`)
      const delay = piece.headers.get('x-sim-delay')
      return delay === null ? { piece: new Uint8Array(await piece.arrayBuffer()) } : { delay: Number(delay) }
    }
    const leave = () => again('DELETE')
    return readPacedBody(response, { read, leave, pass }, request, this.#nameOf(request))
  }

  async waitForTime(span: Micros, over: Promise<unknown>): Promise<void> {
    let sleeper: PendingSleep | undefined
    const woken = new Promise<void>(wake => {
      sleeper = { at: this.#worldClock.now + span, duration: `${span}us`, wake }
      this.#addSleep(sleeper)
    })
    this.#onResponseHeld()
    await Promise.race([woken, over])
    this.#pendingSleeps = this.#pendingSleeps.filter(other => other !== sleeper)
  }

  async runCommand(order: CommandPath): Promise<unknown> {
    return this.#inOrder(async () => {
      const [first, second] = order
      if (first!.name === 'nodes') return this.#nodes()
      if (first!.name === 'troubles') return this.#requestControl('GET', '/troubles')
      if (first!.name === 'heal') return this.#requestControl('POST', '/heal')
      if (first!.name === 'node' || first!.name === 'nodeOf') {
        const target = String(first!.args?.[0])
        const name = first!.name === 'node' ? target : await this.#nodeOfDeployment(target)
        return second?.name === 'view'
          ? this.#viewOf(name)
          : this.#runCommandPath(order, createNodeCommands(this.#sendCommand, name), order.slice(1))
      }
      return this.#runCommandPath(order, createClusterCommands(this.#sendCommand), order)
    })
  }

  get faults(): ScenarioFaults {
    const at = (id: string) => `/faults/${encodeURIComponent(id)}`
    return {
      add: rule => this.#sendChange(() => this.#requestControl('POST', '/faults', rule)),
      list: () => this.#inOrder(() => this.#requestControl('GET', '/faults')),
      get: id => this.#inOrder(() => this.#requestControl('GET', at(id))),
      remove: async id => void (await this.#sendChange(() => this.#requestControl('DELETE', at(id)))),
      clear: async () => void (await this.#sendChange(() => this.#requestControl('DELETE', '/faults'))),
    }
  }

  #sendChange<T>(command: () => Promise<T>): Promise<T> {
    this.#isJournalStale = true
    this.#changeCount++
    return this.#inOrder(command)
  }

  async balance(): Promise<number> {
    const { balance_microcents } = await this.#inOrder(() => this.#requestControl('GET', '/ledger'))
    return balance_microcents
  }

  async ledgerEntries(): Promise<readonly LedgerEntry[]> {
    const { entries } = await this.#inOrder(() => this.#requestControl('GET', '/ledger'))
    return entries.map((entry: { time: string }) => ({ ...entry, time: this.#worldClock.elapsedAt(entry.time) }))
  }

  addNote(kind: string, subject: string, fields: EntryFields): void {
    const note: Entry = { seq: 0, time: this.#worldClock.now, kind, subject, cause: 0, fields }
    this.#inOrder(async () => {
      await this.#readJournal()
      this.#entries.push(note)
      // What is wrong with the line is told by whoever asks for the record.
    }).catch(() => {})
  }

  async journalEntries(): Promise<readonly Entry[]> {
    await this.#inOrder(() => this.#readJournal())
    return this.#entries
  }

  async digest(): Promise<string> {
    const { digest } = await this.#inOrder(() => this.#requestControl('GET', '/digest'))
    return digest
  }

  async close(): Promise<void> {
    // A server that is gone took the world with it.
    await this.#inOrder(() => this.#control.request('DELETE', this.#worldPath)).catch(() => {})
  }

  #createClock(): ScenarioClock {
    const stage = this
    return {
      get now() {
        const { epochMs, now } = stage.#worldClock
        return new Date(epochMs + Math.floor(now / 1000))
      },
      get iso() {
        return stage.#worldClock.iso()
      },
      get elapsed() {
        return stage.#worldClock.now
      },
      advance: async duration => {
        const delta = micros(duration)
        return this.#inTurn(() => this.#moveTo(this.#worldClock.now + delta))
      },
      advanceTo: async moment => {
        const to = moment instanceof Date ? moment.toISOString() : moment
        const target = this.#worldClock.elapsedAt(to)
        if (target >= this.#worldClock.now) return this.#inTurn(() => this.#moveTo(target))
        // What is no time, or has passed, is the server's to refuse.
        return this.#inTurn(() => this.#requestMove('/clock/advance', { to }))
      },
      next: (options: NextOptions = {}) => this.#inTurn(() => this.#next(options)),
      until: async (predicate, { within = '24h' } = {}) => {
        const span = micros(within)
        return this.#inTurn(() => this.#until(predicate, span))
      },
      sleep: duration => this.#sleep(duration),
    }
  }

  #sleep(duration: Duration): Promise<void> {
    const at = this.#worldClock.now + micros(duration)
    return new Promise(wake => this.#addSleep({ at, duration, wake }))
  }

  #addSleep(sleeper: PendingSleep): void {
    const place = this.#pendingSleeps.findIndex(other => other.at > sleeper.at)
    this.#pendingSleeps =
      place < 0 ? [...this.#pendingSleeps, sleeper] : this.#pendingSleeps.toSpliced(place, 0, sleeper)
  }

  async #moveTo(target: Micros): Promise<void> {
    await this.#whenScriptIdle()
    for (let first = this.#pendingSleeps[0]; first && first.at <= target; first = this.#pendingSleeps[0]) {
      await this.#stepTo(first.at)
      await this.#whenScriptIdle()
    }
    await this.#stepTo(target)
  }

  async #next({ visible = false, within }: NextOptions): Promise<void> {
    const limit = within === undefined ? NO_LIMIT : this.#worldClock.now + micros(within)
    await this.#whenScriptIdle()
    await this.#moveToNext(visible, limit)
    await this.#whenScriptIdle()
  }

  async #until(predicate: () => boolean | Promise<boolean>, within: Micros): Promise<void> {
    const limit = this.#worldClock.now + within
    await this.#whenScriptIdle()
    for (;;) {
      if (await this.#evaluatePredicate(predicate, limit)) return
      if (!(await this.#moveToNext(true, limit))) break
    }
    throw new UntilError(
      `Failed to reach the condition within ${formatDuration(within)}: it does not hold at ${this.#worldClock.iso()}. ` +
        'Allow more with { within }.',
    )
  }

  /** What a predicate says; where an answer that it awaits is held, time is moved to it. */
  async #evaluatePredicate(predicate: () => boolean | Promise<boolean>, limit: Micros): Promise<boolean> {
    let isHeld = false
    let tell = () => {}
    const held = new Promise<void>(resolve => {
      tell = resolve
    })
    this.#onResponseHeld = () => {
      isHeld = true
      tell()
    }
    let isOver = false
    const outcome = Promise.resolve(predicate()).finally(() => {
      isOver = true
    })
    await Promise.race([outcome, held])
    while (isHeld && !isOver) {
      await this.#whenScriptIdle()
      const wake = this.#pendingSleeps[0]?.at ?? NO_LIMIT
      if (isOver || wake > limit) break
      await this.#stepTo(wake)
      await this.#whenScriptIdle()
    }
    if (isOver || !isHeld) return outcome
    // The answer comes too late, and nobody will be there to hear how the predicate ends.
    outcome.catch(() => {})
    return false
  }

  /** Goes to the next thing that happens, or to the first sleeper; false, with time at `limit`, when neither comes. */
  async #moveToNext(visible: boolean, limit: Micros): Promise<boolean> {
    const wake = this.#pendingSleeps[0]?.at ?? NO_LIMIT
    if (wake > limit || wake === NO_LIMIT) return this.#stepNext(visible, limit)
    // A sleeper wakes before anything else of its moment is looked at.
    if (wake > this.#worldClock.now && (await this.#stepNext(visible, wake - 1))) return true
    await this.#stepTo(wake)
    await this.#whenScriptIdle()
    return true
  }

  async #stepNext(visible: boolean, limit: Micros): Promise<boolean> {
    const within = limit === NO_LIMIT ? {} : { within: `${limit - this.#worldClock.now}us` }
    const { reached } = await this.#requestMove('/clock/next', { visible, ...within })
    return reached
  }

  async #stepTo(target: Micros): Promise<void> {
    await this.#requestMove('/clock/advance', { by: `${Math.max(0, target - this.#worldClock.now)}us` })
    const awake = this.#pendingSleeps.filter(({ at }) => at <= this.#worldClock.now)
    this.#pendingSleeps = this.#pendingSleeps.filter(({ at }) => at > this.#worldClock.now)
    for (const { wake } of awake) wake()
  }

  #requestMove(path: string, body: object): Promise<{ reached: boolean }> {
    return this.#inOrder(async () => {
      const result = await this.#requestControl('POST', path, body)
      const { epochMs } = this.#worldClock
      this.#worldClock = new Clock(epochMs, this.#worldClock.elapsedAt(result.now))
      return result
    })
  }

  /** One move at a time: a second one queues behind the first. */
  #inTurn(move: () => Promise<unknown>): Promise<MoveResult> {
    this.#movesInProgress++
    const result = this.#moveQueue.then(async () => {
      const from = this.#worldClock.iso()
      await this.#inOrder(() => this.#readJournal())
      const before = this.#lastReadSeq
      await move()
      await this.#inOrder(() => this.#readJournal())
      return this.#moveResultSince(before, from)
    })
    const over = () => {
      this.#movesInProgress--
    }
    this.#moveQueue = result.then(over, over)
    return result
  }

  #moveResultSince(seq: number, from: string): MoveResult {
    const counts: Record<string, number> = {}
    const transitions: Transition[] = []
    let events = 0
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i]!
      // Notes have no position; what was read before has a lower one.
      if (entry.seq > 0 && entry.seq <= seq) break
      if (entry.seq === 0 || entry.kind === 'request') continue
      counts[entry.kind] = (counts[entry.kind] ?? 0) + 1
      events++
      const transition = toTransition(entry, this.#worldClock)
      if (transition) transitions.unshift(transition)
    }
    return { from, to: this.#worldClock.iso(), events, counts, transitions }
  }

  /** Waits until the script has nothing left to do but wait. */
  async #whenScriptIdle(): Promise<void> {
    let quietTurns = 0
    let lastActivity = this.#activityCount
    while (quietTurns < QUIET_TURNS) {
      await eventLoopTurn()
      quietTurns = this.#activityCount === lastActivity && this.#requestsInFlight === 0 ? quietTurns + 1 : 0
      lastActivity = this.#activityCount
    }
  }

  /** A request as it would be called in a process: without the address of the world. */
  #nameOf({ method, url }: Request): string {
    const { pathname } = new URL(url)
    const base = new URL(this.baseUrl).pathname
    return `${method} ${pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname}`
  }

  async #forward(request: Request): Promise<Response> {
    const { method } = request
    // Whatever the host of a request, it reaches this world, as it does in a process.
    const { pathname, search } = new URL(request.url)
    const base = new URL(this.baseUrl)
    const path = pathname.startsWith(`${base.pathname}/`) ? pathname : `${base.pathname}${pathname}`
    const headers = new Headers(request.headers)
    headers.set('x-sim-client', 'scenario')
    for (const [name, value] of Object.entries(this.#control.headers)) headers.set(name, value)
    const body = request.body === null ? undefined : await request.arrayBuffer()
    this.#isJournalStale = true
    if (method !== 'GET' && method !== 'HEAD') this.#changeCount++
    const init = { method, headers, signal: request.signal, ...(body !== undefined && { body }) }
    let response: Response
    let bytes: ArrayBuffer
    try {
      response = await fetch(`${base.origin}${path}${search}`, init)
      bytes = await response.arrayBuffer()
    } catch (error) {
      if (request.signal.aborted) throw error
      const reason = reasonOf(error)
      if (reason === 'ECONNREFUSED') throw new Error(`Failed to go on: the server at ${base.origin} is gone.`)
      throw new BrokenConnection(`the connection broke during ${method} ${pathname}`)
    }
    const bug = response.headers.get('x-sim-error')
    if (bug !== null) this.bug ??= new Error(bug)
    const { status, statusText } = response
    const isEmpty = bytes.byteLength === 0
    return new Response(isEmpty ? null : bytes, { status, statusText, headers: response.headers })
  }

  readonly #sendCommand: SendCommand = (command, delay) => {
    this.#changeCount++
    return this.#requestControl('POST', '/commands', { ...command, ...(delay > 0 && { at: `${delay}us` }) })
  }

  async #runCommandPath(order: CommandPath, target: object, steps: CommandPath): Promise<unknown> {
    let reached: unknown = target
    for (const { name, args } of steps) {
      const member = (reached as Record<string, unknown>)[name]
      if (args === undefined) reached = member
      else if (typeof member === 'function') reached = member.apply(reached, args)
      else throw unknownCommandError(order, name, commandNamesOf(reached as object, target))
    }
    await reached
    return undefined
  }

  async #nodeOfDeployment(deploy_id: string): Promise<string> {
    const { name } = await this.#requestControl('GET', `/cluster/deployments/${encodeURIComponent(deploy_id)}/node`)
    return name
  }

  async #nodes(): Promise<NodeView[]> {
    return this.#requestControl('GET', '/cluster/nodes')
  }

  async #viewOf(name: string): Promise<NodeView> {
    const node = (await this.#nodes()).find(one => one.name === name)
    // Asked of the commands, which know what to say of a name that nobody has.
    return node ?? this.#requestControl('POST', '/commands', { verb: 'node.cordon', target: name })
  }

  /** Asks the control plane of this world. */
  #requestControl(method: string, path: string, body?: unknown) {
    if (method !== 'GET') this.#isJournalStale = true
    return this.#control.request(method, `${this.#worldPath}/_sim${path}`, body)
  }

  /** Does one thing after all that was asked before it. */
  #inOrder<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(async () => {
      this.#tasksInProgress++
      try {
        return await act()
      } finally {
        this.#tasksInProgress--
      }
    })
    this.#queue = result.catch(() => {})
    return result
  }

  /** Reads the journal up to now. */
  async #readJournal(): Promise<void> {
    if (!this.#isJournalStale) return
    for (;;) {
      const path = `/journal?after=${this.#lastReadSeq}&limit=${JOURNAL_PAGE}`
      const { entries, last, dropped } = await this.#requestControl('GET', path)
      if (dropped > this.#lastReadSeq) {
        throw new Error(
          `Failed to keep the record: the server dropped ${dropped - this.#lastReadSeq} entries before they were read. Advance in smaller steps.`,
        )
      }
      for (const { at: _, ...entry } of entries) this.#addEntry({ fields: undefined, ...entry })
      this.#lastReadSeq = entries.at(-1)?.seq ?? last
      if (this.#lastReadSeq >= last) break
    }
    this.#isJournalStale = false
  }

  /** Reads what is on record again from a place on: requests that came to another end than they were put down with. */
  async #rereadRequests(from: number): Promise<void> {
    let after = from
    while (after < this.#lastReadSeq) {
      const { entries } = await this.#requestControl('GET', `/journal?after=${after}&limit=${JOURNAL_PAGE}`)
      if (entries.length === 0) return
      for (const { at: _, ...entry } of entries) {
        const place = entry.kind === 'request' ? this.#entries.findIndex(({ seq }) => seq === entry.seq) : -1
        if (place >= 0) this.#entries = this.#entries.with(place, { fields: undefined, ...entry })
      }
      after = entries.at(-1).seq
    }
  }

  #addEntry(entry: Entry): void {
    // What the stage itself asked of the control plane is none of the story.
    if (entry.kind === 'request' && /^\w+ \/_sim(?:[/?]|$)/.test(entry.subject)) return
    if (isReadRequest(entry) && isReadRequest(this.#entries.at(-1))) this.#entries.pop()
    this.#entries.push(entry)
  }
}

interface NextOptions {
  readonly visible?: boolean | undefined
  readonly within?: Duration | undefined
}

/** What could have been said instead of a verb that there is not. */
function commandNamesOf(reached: object, target: ClusterCommands | object): string[] {
  const names = Object.keys(reached)
  return reached === target && 'hub' in target ? ['node', 'nodeOf', 'nodes', ...names] : names
}
