/** A stage on a running server: a world made for one scenario, played over HTTP, and taken away when it is over. */

import { readNames } from '../api/names.ts'
import { AWAITED_HEADER, NO_PIECE_HEADER, PIECES_HEADER } from '../awaited-answer.ts'
import { type Happened, type Transition, transitionOf } from '../clock/happened.ts'
import { turn } from '../clock/turns.ts'
import { UntilError } from '../clock/until-error.ts'
import type { LedgerEntry } from '../cluster/ledger.ts'
import type { NodeView } from '../cluster/nodes.ts'
import { type ClusterCommands, clusterCommands, type Give, nodeCommands } from '../cluster/verbs.ts'
import { Clock, DEFAULT_EPOCH_MS } from '../kernel/clock.ts'
import { type Duration, type Micros, micros, readable } from '../kernel/duration.ts'
import type { Entry, Fields } from '../kernel/journal.ts'
import { monotonicMs } from '../kernel/pacer.ts'
import { beginsWithSnapshot } from '../simulator.ts'
import { loadFixture } from '../store/fixture.ts'
import { isLook, noVerb, unmoved } from './in-process.ts'
import { awaitAnswer, awaitHeld, readAsTimeGoes } from './patience.ts'
import type { ScenarioOptions } from './scenario.ts'
import type { Order, Pass, Stage, StageClock, StageFaults } from './stage.ts'

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
const NEVER = Number.POSITIVE_INFINITY

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
export async function openAgainst(server: string | ServerAddress, options: ScenarioOptions): Promise<AgainstStage> {
  const { url, controlToken }: ServerAddress = typeof server === 'string' ? { url: server } : server
  const root = url.replace(/\/+$/, '')
  if (beginsWithSnapshot(options.fixtures)) {
    throw new RangeError(
      `Failed to play against ${root}: the scenario begins with a snapshot, which holds the tokens of its world and is not sent to a server. ` +
        'Play it in this process, or begin with a fixture.',
    )
  }
  const line = new Line(root, controlToken)
  const spec = worldSpec(options)
  try {
    const { world, token, base_url } = await line.ask('POST', '/_sim/worlds', spec)
    return new AgainstStage(line, {
      home: `/_sim/worlds/${world}`,
      baseUrl: base_url,
      // Below its own address a world knows its tokens without their routing word.
      token: token?.slice(0, -`.${world}`.length) ?? '',
      seed: String(spec.seed),
      epochMs: options.epoch === undefined ? DEFAULT_EPOCH_MS : Date.parse(options.epoch),
    })
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    throw new Error(
      `Failed to play against ${root}: ${error.message}. Start a server with 'modelhost-sim serve', or give the address of one.`,
    )
  }
}

/** A scenario's world in the words of the control plane. What is left out must not be the server's, so all is said. */
function worldSpec({ fixtures = 'default', seed = 1, profile = 'realistic', epoch, clock, ...more }: ScenarioOptions) {
  return {
    fixtures: isPath(fixtures) ? loadFixture(fixtures, epochOf(epoch)) : fixtures,
    seed,
    profile,
    weather: more.weather ?? null,
    epoch: epoch ?? new Date(DEFAULT_EPOCH_MS).toISOString(),
    clock: clock ?? 'manual',
    with: more.with ?? {},
    faults: more.faults ?? [],
    documented_only: more.documentedOnly ?? false,
    strict_requests: more.strictRequests ?? false,
    names: more.names === undefined ? {} : readNames(more.names).profile,
    journal_limit: JOURNAL_LIMIT,
    inference_pace: more.inferencePace ?? null,
    ...(more.maxStorageBytes !== undefined && { max_storage_bytes: more.maxStorageBytes }),
  }
}

function isPath(fixtures: ScenarioOptions['fixtures']): fixtures is string {
  return typeof fixtures === 'string' && /[\\/]/.test(fixtures)
}

function epochOf(epoch: string | undefined) {
  return epoch === undefined ? {} : { epochMs: Date.parse(epoch) }
}

/** Nobody answered at an address, or somebody else did. */
class NoAnswer extends Error {}

/** What goes to and fro between a stage and its server. */
class Line {
  readonly #root: string
  /** What the server asks of who commands it. */
  readonly headers: Readonly<Record<string, string>>

  constructor(root: string, controlToken: string | undefined) {
    this.#root = root
    this.headers = controlToken === undefined ? {} : { 'x-sim-control-token': controlToken }
  }

  /** Asks the control plane. Throws RangeError with what it says to a refusal. */
  // biome-ignore lint/suspicious/noExplicitAny: each path answers what its declaration says
  async ask(method: string, path: string, body?: unknown): Promise<any> {
    const headers = { ...this.headers, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await fetch(`${this.#root}${path}`, init).catch(error => {
      throw new NoAnswer(`no server answers there (${reasonOf(error)})`)
    })
    const text = await response.text()
    if (response.ok) return JSON.parse(text)
    const said = saidIn(text)
    if (said === undefined) throw new NoAnswer(`what answers there has no ${path} (${response.status})`)
    throw new RangeError(said)
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return (cause as { code?: string } | undefined)?.code ?? message
}

function saidIn(text: string): string | undefined {
  try {
    const { error, detail } = JSON.parse(text)
    if (typeof error === 'string') return error
    return Array.isArray(detail) ? detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ') : undefined
  } catch {
    return undefined
  }
}

interface Sleeper {
  readonly at: Micros
  readonly duration: Duration
  readonly wake: () => void
}

interface Home {
  /** Path of the world on its server. */
  readonly home: string
  readonly baseUrl: string
  readonly token: string
  readonly seed: string
  readonly epochMs: number
}

/** A world of a running server. */
export class AgainstStage implements Stage {
  readonly seed: string
  readonly baseUrl: string
  readonly token: string
  readonly clock: StageClock
  bug: unknown
  readonly #line: Line
  readonly #home: string
  /** The world's time as of the last answer that told it. */
  #time: Clock
  /** One thing at a time, as in a process: what is asked first happens first. */
  #tail: Promise<unknown> = Promise.resolve()
  #record: Entry[] = []
  /** How far the journal was read, and whether anything was done since. */
  #read = 0
  /** Rules of faults that are there from the start were told of when the world was made. */
  #isBehind = true
  #sleepers: readonly Sleeper[] = []
  #moves: Promise<unknown> = Promise.resolve()
  #movesUnderWay = 0
  /** Tells who waits for a predicate that an answer to it is held. */
  #tellHeld = () => {}
  #changes = 0
  #underWay = 0
  #inFlight = 0
  #activity = 0

  constructor(line: Line, { home, baseUrl, token, seed, epochMs }: Home) {
    this.#line = line
    this.#home = home
    this.baseUrl = baseUrl
    this.token = token
    this.seed = seed
    this.#time = new Clock(epochMs)
    this.clock = this.#clock()
  }

  get revision(): number {
    return this.#time.now + this.#changes
  }

  get pulse(): number {
    return this.revision + (this.#underWay > 0 ? monotonicMs() : 0)
  }

  get waiting(): string | undefined {
    const [first] = this.#sleepers
    return first && unmoved(first.duration, first.at - this.#time.now)
  }

  async send(request: Request, pass: Pass): Promise<Response> {
    const before = this.#read
    const first = await this.#sent(request)
    const number = first.headers.get(AWAITED_HEADER)
    const response = number === null ? first : await this.#held(first, number, request, pass)
    // It was put down as a success while its answer was waited for.
    if (number !== null && !response.ok) await this.#inOrder(() => this.#correct(before))
    const hangs = response.headers.has('x-sim-hang')
    const delay = hangs ? Number.POSITIVE_INFINITY : Number(response.headers.get('x-sim-delay') ?? 0)
    const wait = (span: Micros) => (this.#movesUnderWay > 0 ? this.#moveTo(this.#time.now + span) : pass(span))
    if (delay > 0) await awaitAnswer(delay, this.#nameOf(request), wait, this.clock)
    const pieces = response.headers.get(PIECES_HEADER)
    return pieces === null ? response : this.#readAsTimeGoes(response, pieces, request, pass)
  }

  async #sent(request: Request): Promise<Response> {
    this.#activity++
    this.#inFlight++
    try {
      return await this.#inOrder(() => this.#forward(request))
    } finally {
      this.#inFlight--
      this.#activity++
    }
  }

  /** Comes back for an answer that the world holds, and moves its time meanwhile. */
  #held(first: Response, number: string, request: Request, pass: Pass): Promise<Response> {
    const again = (method: string) =>
      this.#sent(new Request(request.url, { method, headers: { [AWAITED_HEADER]: number } }))
    let known: Response | undefined = first
    const held = {
      look: async () => {
        const answer = known ?? (await again('GET'))
        known = undefined
        return answer.headers.has(AWAITED_HEADER) ? { delay: Number(answer.headers.get('x-sim-delay')) } : { answer }
      },
      leave: () => again('DELETE'),
      pass,
    }
    return awaitHeld(held, request, this.#nameOf(request), this.clock)
  }

  /** Comes back for each piece of a body that comes as time goes. */
  #readAsTimeGoes(response: Response, number: string, request: Request, pass: Pass): Response {
    const again = (method: string) =>
      this.#sent(new Request(request.url, { method, headers: { [PIECES_HEADER]: number } }))
    const read = async () => {
      const piece = await again('GET')
      const none = piece.headers.get(NO_PIECE_HEADER)
      if (none === 'over') return { isOver: true as const }
      if (none !== null) throw new BrokenConnection(`the connection broke during ${this.#nameOf(request)}`)
      const delay = piece.headers.get('x-sim-delay')
      return delay === null ? { piece: new Uint8Array(await piece.arrayBuffer()) } : { delay: Number(delay) }
    }
    const leave = () => again('DELETE')
    return readAsTimeGoes(response, { read, leave, pass }, request, this.#nameOf(request))
  }

  async meanwhile(span: Micros, over: Promise<unknown>): Promise<void> {
    let sleeper: Sleeper | undefined
    const come = new Promise<void>(wake => {
      sleeper = { at: this.#time.now + span, duration: `${span}us`, wake }
      this.#lay(sleeper)
    })
    this.#tellHeld()
    await Promise.race([come, over])
    this.#sleepers = this.#sleepers.filter(other => other !== sleeper)
  }

  async command(order: Order): Promise<unknown> {
    return this.#inOrder(async () => {
      const [first, second] = order
      if (first!.name === 'nodes') return this.#nodes()
      if (first!.name === 'troubles') return this.#ask('GET', '/troubles')
      if (first!.name === 'heal') return this.#ask('POST', '/heal')
      if (first!.name === 'node' || first!.name === 'nodeOf') {
        const target = String(first!.args?.[0])
        const name = first!.name === 'node' ? target : await this.#nodeOfDeployment(target)
        return second?.name === 'view'
          ? this.#viewOf(name)
          : this.#obey(order, nodeCommands(this.#give, name), order.slice(1))
      }
      return this.#obey(order, clusterCommands(this.#give), order)
    })
  }

  get faults(): StageFaults {
    const at = (id: string) => `/faults/${encodeURIComponent(id)}`
    return {
      add: rule => this.#change(() => this.#ask('POST', '/faults', rule)),
      list: () => this.#inOrder(() => this.#ask('GET', '/faults')),
      get: id => this.#inOrder(() => this.#ask('GET', at(id))),
      remove: async id => void (await this.#change(() => this.#ask('DELETE', at(id)))),
      clear: async () => void (await this.#change(() => this.#ask('DELETE', '/faults'))),
    }
  }

  #change<T>(command: () => Promise<T>): Promise<T> {
    this.#isBehind = true
    this.#changes++
    return this.#inOrder(command)
  }

  async balance(): Promise<number> {
    const { balance_microcents } = await this.#inOrder(() => this.#ask('GET', '/ledger'))
    return balance_microcents
  }

  async ledgerEntries(): Promise<readonly LedgerEntry[]> {
    const { entries } = await this.#inOrder(() => this.#ask('GET', '/ledger'))
    return entries.map((entry: { time: string }) => ({ ...entry, time: this.#time.fromIso(entry.time) }))
  }

  note(kind: string, subject: string, fields: Fields): void {
    const note: Entry = { seq: 0, time: this.#time.now, kind, subject, cause: 0, fields }
    this.#inOrder(async () => {
      await this.#catchUp()
      this.#record.push(note)
      // What is wrong with the line is told by whoever asks for the record.
    }).catch(() => {})
  }

  async record(): Promise<readonly Entry[]> {
    await this.#inOrder(() => this.#catchUp())
    return this.#record
  }

  async digest(): Promise<string> {
    const { digest } = await this.#inOrder(() => this.#ask('GET', '/digest'))
    return digest
  }

  async close(): Promise<void> {
    // A server that is gone took the world with it.
    await this.#inOrder(() => this.#line.ask('DELETE', this.#home)).catch(() => {})
  }

  #clock(): StageClock {
    const stage = this
    return {
      get now() {
        const { epochMs, now } = stage.#time
        return new Date(epochMs + Math.floor(now / 1000))
      },
      get iso() {
        return stage.#time.iso()
      },
      get elapsed() {
        return stage.#time.now
      },
      advance: async duration => {
        const delta = micros(duration)
        return this.#inTurn(() => this.#moveTo(this.#time.now + delta))
      },
      advanceTo: async moment => {
        const to = moment instanceof Date ? moment.toISOString() : moment
        const target = this.#time.fromIso(to)
        if (target >= this.#time.now) return this.#inTurn(() => this.#moveTo(target))
        // What is no time, or has passed, is the server's to refuse.
        return this.#inTurn(() => this.#step('/clock/advance', { to }))
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
    const at = this.#time.now + micros(duration)
    return new Promise(wake => this.#lay({ at, duration, wake }))
  }

  #lay(sleeper: Sleeper): void {
    const place = this.#sleepers.findIndex(other => other.at > sleeper.at)
    this.#sleepers = place < 0 ? [...this.#sleepers, sleeper] : this.#sleepers.toSpliced(place, 0, sleeper)
  }

  async #moveTo(target: Micros): Promise<void> {
    await this.#settle()
    for (let first = this.#sleepers[0]; first && first.at <= target; first = this.#sleepers[0]) {
      await this.#stepTo(first.at)
      await this.#settle()
    }
    await this.#stepTo(target)
  }

  async #next({ visible = false, within }: NextOptions): Promise<void> {
    const limit = within === undefined ? NEVER : this.#time.now + micros(within)
    await this.#settle()
    await this.#toNext(visible, limit)
    await this.#settle()
  }

  async #until(predicate: () => boolean | Promise<boolean>, within: Micros): Promise<void> {
    const limit = this.#time.now + within
    await this.#settle()
    for (;;) {
      if (await this.#asked(predicate, limit)) return
      if (!(await this.#toNext(true, limit))) break
    }
    throw new UntilError(
      `Failed to reach the condition within ${readable(within)}: it does not hold at ${this.#time.iso()}. ` +
        'Allow more with { within }.',
    )
  }

  /** What a predicate says; where an answer that it awaits is held, time is moved to it. */
  async #asked(predicate: () => boolean | Promise<boolean>, limit: Micros): Promise<boolean> {
    let isHeld = false
    let tell = () => {}
    const held = new Promise<void>(resolve => {
      tell = resolve
    })
    this.#tellHeld = () => {
      isHeld = true
      tell()
    }
    let isOver = false
    const outcome = Promise.resolve(predicate()).finally(() => {
      isOver = true
    })
    await Promise.race([outcome, held])
    while (isHeld && !isOver) {
      await this.#settle()
      const wake = this.#sleepers[0]?.at ?? NEVER
      if (isOver || wake > limit) break
      await this.#stepTo(wake)
      await this.#settle()
    }
    if (isOver || !isHeld) return outcome
    // The answer comes too late, and nobody will be there to hear how the predicate ends.
    outcome.catch(() => {})
    return false
  }

  /** Goes to the next thing that happens, or to the first sleeper; false, with time at `limit`, when neither comes. */
  async #toNext(visible: boolean, limit: Micros): Promise<boolean> {
    const wake = this.#sleepers[0]?.at ?? NEVER
    if (wake > limit || wake === NEVER) return this.#stepNext(visible, limit)
    // A sleeper wakes before anything else of its moment is looked at.
    if (wake > this.#time.now && (await this.#stepNext(visible, wake - 1))) return true
    await this.#stepTo(wake)
    await this.#settle()
    return true
  }

  async #stepNext(visible: boolean, limit: Micros): Promise<boolean> {
    const within = limit === NEVER ? {} : { within: `${limit - this.#time.now}us` }
    const { reached } = await this.#step('/clock/next', { visible, ...within })
    return reached
  }

  async #stepTo(target: Micros): Promise<void> {
    await this.#step('/clock/advance', { by: `${Math.max(0, target - this.#time.now)}us` })
    const awake = this.#sleepers.filter(({ at }) => at <= this.#time.now)
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#time.now)
    for (const { wake } of awake) wake()
  }

  #step(path: string, body: object): Promise<{ reached: boolean }> {
    return this.#inOrder(async () => {
      const moved = await this.#ask('POST', path, body)
      const { epochMs } = this.#time
      this.#time = new Clock(epochMs, this.#time.fromIso(moved.now))
      return moved
    })
  }

  /** One move at a time: a second one queues behind the first. */
  #inTurn(move: () => Promise<unknown>): Promise<Happened> {
    this.#movesUnderWay++
    const result = this.#moves.then(async () => {
      const from = this.#time.iso()
      await this.#inOrder(() => this.#catchUp())
      const before = this.#read
      await move()
      await this.#inOrder(() => this.#catchUp())
      return this.#happenedSince(before, from)
    })
    const over = () => {
      this.#movesUnderWay--
    }
    this.#moves = result.then(over, over)
    return result
  }

  #happenedSince(seq: number, from: string): Happened {
    const counts: Record<string, number> = {}
    const transitions: Transition[] = []
    let events = 0
    for (let i = this.#record.length - 1; i >= 0; i--) {
      const entry = this.#record[i]!
      // Notes have no position; what was read before has a lower one.
      if (entry.seq > 0 && entry.seq <= seq) break
      if (entry.seq === 0 || entry.kind === 'request') continue
      counts[entry.kind] = (counts[entry.kind] ?? 0) + 1
      events++
      const transition = transitionOf(entry, this.#time)
      if (transition) transitions.unshift(transition)
    }
    return { from, to: this.#time.iso(), events, counts, transitions }
  }

  /** Waits until the script has nothing left to do but wait. */
  async #settle(): Promise<void> {
    let calm = 0
    let seen = this.#activity
    while (calm < QUIET_TURNS) {
      await turn()
      calm = this.#activity === seen && this.#inFlight === 0 ? calm + 1 : 0
      seen = this.#activity
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
    for (const [name, value] of Object.entries(this.#line.headers)) headers.set(name, value)
    const body = request.body === null ? undefined : await request.arrayBuffer()
    this.#isBehind = true
    if (method !== 'GET' && method !== 'HEAD') this.#changes++
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

  readonly #give: Give = (command, delay) => {
    this.#changes++
    return this.#ask('POST', '/commands', { ...command, ...(delay > 0 && { at: `${delay}us` }) })
  }

  async #obey(order: Order, target: object, steps: Order): Promise<unknown> {
    let reached: unknown = target
    for (const { name, args } of steps) {
      const member = (reached as Record<string, unknown>)[name]
      if (args === undefined) reached = member
      else if (typeof member === 'function') reached = member.apply(reached, args)
      else throw noVerb(order, name, namesOf(reached as object, target))
    }
    await reached
    return undefined
  }

  async #nodeOfDeployment(deploy_id: string): Promise<string> {
    const { name } = await this.#ask('GET', `/cluster/deployments/${encodeURIComponent(deploy_id)}/node`)
    return name
  }

  async #nodes(): Promise<NodeView[]> {
    return this.#ask('GET', '/cluster/nodes')
  }

  async #viewOf(name: string): Promise<NodeView> {
    const node = (await this.#nodes()).find(one => one.name === name)
    // Asked of the commands, which know what to say of a name that nobody has.
    return node ?? this.#ask('POST', '/commands', { verb: 'node.cordon', target: name })
  }

  /** Asks the control plane of this world. */
  #ask(method: string, path: string, body?: unknown) {
    if (method !== 'GET') this.#isBehind = true
    return this.#line.ask(method, `${this.#home}/_sim${path}`, body)
  }

  /** Does one thing after all that was asked before it. */
  #inOrder<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(async () => {
      this.#underWay++
      try {
        return await act()
      } finally {
        this.#underWay--
      }
    })
    this.#tail = result.catch(() => {})
    return result
  }

  /** Reads the journal up to now. */
  async #catchUp(): Promise<void> {
    if (!this.#isBehind) return
    for (;;) {
      const path = `/journal?after=${this.#read}&limit=${JOURNAL_PAGE}`
      const { entries, last, dropped } = await this.#ask('GET', path)
      if (dropped > this.#read) {
        throw new Error(
          `Failed to keep the record: the server dropped ${dropped - this.#read} entries before they were read. Advance in smaller steps.`,
        )
      }
      for (const { at: _, ...entry } of entries) this.#put({ fields: undefined, ...entry })
      this.#read = entries.at(-1)?.seq ?? last
      if (this.#read >= last) break
    }
    this.#isBehind = false
  }

  /** Reads what is on record again from a place on: requests that came to another end than they were put down with. */
  async #correct(from: number): Promise<void> {
    let after = from
    while (after < this.#read) {
      const { entries } = await this.#ask('GET', `/journal?after=${after}&limit=${JOURNAL_PAGE}`)
      if (entries.length === 0) return
      for (const { at: _, ...entry } of entries) {
        const place = entry.kind === 'request' ? this.#record.findIndex(({ seq }) => seq === entry.seq) : -1
        if (place >= 0) this.#record = this.#record.with(place, { fields: undefined, ...entry })
      }
      after = entries.at(-1).seq
    }
  }

  #put(entry: Entry): void {
    // What the stage itself asked of the control plane is none of the story.
    if (entry.kind === 'request' && /^\w+ \/_sim(?:[/?]|$)/.test(entry.subject)) return
    if (isLook(entry) && isLook(this.#record.at(-1))) this.#record.pop()
    this.#record.push(entry)
  }
}

interface NextOptions {
  readonly visible?: boolean | undefined
  readonly within?: Duration | undefined
}

/** What could have been said instead of a verb that there is not. */
function namesOf(reached: object, target: ClusterCommands | object): string[] {
  const names = Object.keys(reached)
  return reached === target && 'hub' in target ? ['node', 'nodeOf', 'nodes', ...names] : names
}
