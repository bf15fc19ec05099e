/** Plays an episode: one world, and requests to it and to the worlds that they create. */
import { setTimeout } from 'node:timers/promises'
import { loadFixture } from '../../../src/data/fixtures/load.ts'
import { eventLoopTurn } from '../../../src/lib/real-time.ts'
import type { ServedWorld } from '../../../src/server/worlds/served-world.ts'
import type { Worlds } from '../../../src/server/worlds/worlds.ts'
import { loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { findViolations } from '../../../src/simulation/invariants/check-world.ts'
import { createSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { Generator, type PlacedRequest } from './generator.ts'
import { createGround, type Ground, type Reply, type Transport } from './ground.ts'
import { Stopwatch } from './stopwatch.ts'

/** Requests of an episode. */
export const EPISODE_LENGTH = 400
/** Most CPU time of a request, in milliseconds. */
const MAX_CPU_MS = 1_000
/** Most CPU time of a move of the clock: it does the work of all events on its way. */
const MAX_MOVE_CPU_MS = 30_000
const MOVES = ['advanceClock', 'nextClock', 'untilClock']
/** Turns of the event loop before a request counts as one that waits for the virtual clock. */
const TURNS = 30
/** Turns that follow each other at once. After them, each turn lasts a millisecond of real time. */
const QUICK_TURNS = 300
/** The most turns until a request ends or waits for the virtual clock. */
const MAX_TURNS = 3_000
/** Answers that are longer are not searched for values. */
const MAX_COLLECTED_BYTES = 50_000

/** The 500 of a server to a request whose world was replaced or deleted while it waited. */
const WORLD_REPLACED = /the world was reset, restored or deleted while the request waited/

/** The laws that every request keeps. */
export type Law = 'no bug' | 'a refusal changes nothing' | 'a second of CPU' | 'every invariant' | 'every request ends'

export interface Violation {
  readonly law: Law
  readonly index: number
  readonly operation: string
  readonly message: string
  readonly request: PlacedRequest | undefined
}

export interface EpisodeResult {
  readonly violations: readonly Violation[]
  /** The number of answers by operation and status; 'pending' for requests that time never reached. */
  readonly counts: ReadonlyMap<string, ReadonlyMap<string, number>>
}

export interface Episode {
  readonly transport: Transport
  readonly seed: number
  /** The indices of its requests, ascending. All belong to one episode. */
  readonly indices: readonly number[]
  /** Called with each answer. */
  readonly onAnswer?: (index: number, request: PlacedRequest, reply: Reply) => void
}

/** The worlds with which episodes begin, in turn. */
const BEGINNINGS: readonly (SimulatorOptions & { readonly fixtures?: string })[] = [
  {},
  { fixtures: 'two-nodes' },
  { weather: 'realistic' },
  { fixtures: 'empty' },
  { inferencePace: 'clock' },
  { fixtures: 'full' },
  { strictRequests: true },
  { profile: 'rough' },
  { fixtures: 'fleet' },
  { profile: 'quick', weather: 'bad-week' },
]

const generators = new Map<Transport, Generator>()

/** Plays an episode, and returns every violation. */
export async function playEpisode({ transport, seed, indices, onAnswer }: Episode): Promise<EpisodeResult> {
  await loadTokenizer()
  const number = Math.floor((indices[0] ?? 0) / EPISODE_LENGTH)
  const beginning = BEGINNINGS[number % BEGINNINGS.length]!
  let onBug: SimulatorOptions['onBug']
  const sim = createSimulator({
    ...beginning,
    seed: number,
    check: true,
    maxStorageBytes: 4_000_000,
    journalLimit: 5_000,
    onBug: (error, name) => onBug?.(error, name),
  })
  const ground = await createGround(transport, sim)
  const generator = generators.get(transport) ?? new Generator(transport === 'http')
  generators.set(transport, generator)
  const { known } = generator
  known.reset(sim.token)
  known.collect(JSON.parse(JSON.stringify({ ...loadFixture(beginning.fixtures ?? 'default'), schemas: [] })))
  for (const node of sim.cluster.nodes()) known.add('gpu_slot', `${node.name}/0`)
  known.collect(sim.cluster.nodes())
  const play = new Play(ground, generator, onAnswer)
  onBug = (error, name) => play.reportBug(error, name)
  for (const index of indices) {
    // A token can be deleted. Most requests have one that works.
    if (sim.token !== '') known.token = sim.token
    await play.request(index, generator.request(seed, index))
  }
  await play.end()
  return play
}

/** The state of an episode. */
class Play implements EpisodeResult {
  readonly violations: Violation[] = []
  readonly counts = new Map<string, Map<string, number>>()
  readonly #ground: Ground
  readonly #generator: Generator
  /** The index of the newest request. */
  #current = 0
  /** Pending requests that do not wait for the virtual clock. They could change a world while others are judged. */
  readonly #stray = new Set<number>()
  readonly #stopwatch = new Stopwatch()
  readonly #pending = new Map<number, PlacedRequest>()

  readonly #onAnswer: Episode['onAnswer']

  constructor(ground: Ground, generator: Generator, onAnswer: Episode['onAnswer']) {
    this.#onAnswer = onAnswer
    this.#ground = ground
    this.#generator = generator
  }

  async request(index: number, generated: PlacedRequest): Promise<void> {
    const { worlds } = this.#ground
    const all = worlds.all()
    const world = all[generated.world % all.length]!
    const request = withTokenOf(world, generated, this.#generator.known.token)
    const waiting = world.sim.clock.pendingRequests.length
    const isAlone = this.#stray.size === 0
    const before = stateOf(world, worlds)
    this.#current = index
    this.#stopwatch.start()
    let reply: Reply | undefined
    this.#pending.set(index, request)
    const exchange = this.#ground.send(request, world).then(
      value => {
        reply = value
        this.#settle(index, request, value)
      },
      (error: unknown) => {
        this.#pending.delete(index)
        // A world that was replaced or deleted has no answer for those who wait. A lost instance closes its streams.
        if (!/WorldReplaced|Aborted|AbortError/.test(`${(error as Error).name}`) && !isClosedConnection(error)) {
          this.#violate('no bug', index, request, `it threw ${String((error as Error).stack ?? error).slice(0, 600)}`)
        }
      },
    )
    exchange.catch(() => {})
    const isMove = MOVES.includes(request.operation)
    for (let turn = 0; this.#pending.has(index); turn++) {
      await pass(turn)
      if (isMove) continue
      if (turn > TURNS && world.sim.clock.pendingRequests.length > waiting) break
      if (turn < MAX_TURNS) continue
      this.#stray.add(index)
      break
    }
    const limitMs = isMove ? MAX_MOVE_CPU_MS : MAX_CPU_MS
    if (this.#stopwatch.exceeds(limitMs)) {
      this.#violate('a second of CPU', index, request, `it took more than ${limitMs} ms of CPU time`)
    }
    if (reply !== undefined && reply.status >= 400 && !isMove && isAlone) {
      const change = changeOf(before, stateOf(world, worlds))
      if (change !== undefined)
        this.#violate('a refusal changes nothing', index, request, `${reply.status}, and ${change}`)
    }
  }

  /** Adds a bug of a request or of an event; the name is that of the operation or of the event. */
  reportBug(error: unknown, name: string): void {
    const message = `${name}: ${String(error instanceof Error ? error.stack : error).slice(0, 600)}`
    this.#violate('no bug', this.#current, this.#pending.get(this.#current), message)
  }

  /** Ends the episode: checks each world as a whole, and that no request waits for a world that is gone. */
  async end(): Promise<void> {
    const { worlds } = this.#ground
    for (const { name, sim } of worlds.all()) {
      for (const { invariant, message } of findViolations(sim.world)) {
        this.#violate('every invariant', this.#current, undefined, `${invariant} in the world ${name}: ${message}`)
      }
    }
    await this.#ground.close()
    for (let turn = 0; this.#pending.size > 0 && turn < MAX_TURNS; turn++) await pass(turn)
    for (const [index, request] of this.#pending) {
      this.#violate('every request ends', index, request, 'it waits although its world is disposed')
    }
  }

  #settle(index: number, request: PlacedRequest, reply: Reply): void {
    this.#pending.delete(index)
    this.#stray.delete(index)
    this.#onAnswer?.(index, request, reply)
    const { operation } = request
    const { status, bug, decidedBy, bytes } = reply
    const statuses = this.counts.get(operation) ?? new Map<string, number>()
    this.counts.set(operation, statuses.set(String(status), (statuses.get(String(status)) ?? 0) + 1))
    // As in the process, where this is WorldReplaced.
    if (bug !== undefined && WORLD_REPLACED.test(bug)) return
    if (bug !== undefined) this.#violate('no bug', index, request, `${status} ${bug}`)
    else if (status >= 500 && (decidedBy === undefined || decidedBy === 'none')) {
      this.#violate('no bug', index, request, `${status}, and neither a fault nor a state of the world decided it`)
    }
    this.#learn(request, status, bytes)
  }

  /** Keeps the names that an answer has, for later requests. */
  #learn({ operation }: PlacedRequest, status: number, bytes: Uint8Array): void {
    const { known } = this.#generator
    if (status !== 200) return
    if (operation === 'exportSnapshot') known.exported = bytes
    if (bytes.length > MAX_COLLECTED_BYTES || (bytes[0] !== 0x7b && bytes[0] !== 0x5b)) return
    try {
      known.collect(JSON.parse(Buffer.from(bytes).toString()))
    } catch {
      // A fault cut the answer.
    }
  }

  #violate(law: Law, index: number, request: PlacedRequest | undefined, message: string): void {
    this.violations.push({ law, index, operation: request?.operation ?? '', message, request })
  }
}

/** Replaces the token of the default world by that of the addressed one. */
function withTokenOf({ sim }: ServedWorld, request: PlacedRequest, token: string): PlacedRequest {
  if (token === '' || sim.token === '' || sim.token === token) return request
  const headers = request.sent.headers.map(([name, value]): [string, string] => [name, value.replace(token, sim.token)])
  return { ...request, sent: { ...request.sent, headers } }
}

function pass(turn: number): Promise<void> {
  return turn < QUICK_TURNS ? eventLoopTurn() : setTimeout(1)
}

/** What a refused request leaves as it is. */
interface State {
  readonly now: number
  /** Requests that fault rules changed. A fault can apply the effect of a request and refuse it. */
  readonly hits: number
  readonly values: Readonly<Record<string, unknown>>
}

function stateOf({ sim, snapshots }: ServedWorld, worlds: Worlds): State {
  const rules = sim.faults.list()
  return {
    now: sim.world.clock.now,
    hits: rules.reduce((sum, { hits }) => sum + hits, 0),
    values: {
      digest: sim.digest,
      balance: sim.ledger.balance,
      'number of scheduled events': sim.world.agenda.size,
      'fault rules': rules.map(({ id }) => id).join(),
      'clock mode': JSON.stringify(sim.clock.setting),
      snapshots: [...snapshots.keys()].join(),
      worlds: worlds
        .all()
        .map(({ name }) => name)
        .join(),
      'scripted answers': sim.inference.list().length,
    },
  }
}

/** Returns what differs; undefined if nothing does, or if time or a fault came between. */
function changeOf(before: State, after: State): string | undefined {
  if (before.now !== after.now || before.hits !== after.hits) return undefined
  const changed = Object.keys(before.values).filter(name => before.values[name] !== after.values[name])
  return changed.length === 0 ? undefined : `the ${changed.join(', the ')} changed`
}

/** Returns whether an error is that of a body whose connection the service closed. */
function isClosedConnection(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } }
  return cause?.code === 'UND_ERR_SOCKET'
}
