import { GPUS } from '../../data/gpu-specs.ts'
import { type Distribution, draw } from '../../data/profiles/distribution.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import { exp } from '../../kernel/exact-math.ts'
import { actFor, ORIGIN } from '../../kernel/journal-origin.ts'
import { type EntityKey, purpose } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import { pickByShare, weatherPack } from '../account/chaos-draws.ts'
import type { Ledger } from '../account/ledger.ts'
import { assertHandled, type EventOf } from '../events.ts'
import type { NodeRow } from '../fleet/node-row.ts'
import type { Nodes } from '../fleet/nodes.ts'
import type { Placement } from '../fleet/placement.ts'
import { XIDS } from '../fleet/xid.ts'
import { TablePart } from '../part.ts'
import type { Command, Commands } from './commands.ts'
import { CUSTOMERS_INTERVAL, moveOtherCustomers } from './other-customers.ts'

const WHEN = purpose('weather.when')
const WHAT = purpose('weather.what')
const WHICH = purpose('weather.which')
const HOW_LONG = purpose('weather.howLong')
const HOW_MUCH = purpose('weather.howMuch')
const LEMON = purpose('weather.lemon')
/** Sigma of the time between two preemptions at a pool: 1.3 to 2.0 in traces of 2022 and 2023 (skypilot-org/spot-traces). */
const SPOT_UP_SIGMA = 1.7

/** What can strike at a rate of its own, where drawing it takes more than a spread. */
type DrawnKind = 'nodeFault' | 'preemption'

/** What else can strike: the command that breaks, the one that ends it, and the spread of the time between them. */
const STRIKES = {
  degradation: ['node.degrade', 'node.recover', 'degradationLasts'],
  diskFull: ['disk.fill', 'disk.free', 'diskFullLasts'],
  zoneOutage: ['zone.down', 'zone.up', 'zoneOutageLasts'],
  stockOut: ['pool.stockOut', 'pool.restock', 'stockOutLasts'],
  hubOutage: ['hub.down', 'hub.up', 'hubOutageLasts'],
  hubThrottle: ['hub.throttle', 'hub.unthrottle', 'hubThrottleLasts'],
  registryOutage: ['registry.down', 'registry.up', 'registryOutageLasts'],
  autoscalerFreeze: ['autoscaler.freeze', 'autoscaler.free', 'autoscalerFreezeLasts'],
  slowProvisioning: ['provisioning.slow', 'provisioning.normal', 'slowProvisioningLasts'],
} as const
type WeatherKind = DrawnKind | keyof typeof STRIKES

/** A source of weather: one kind of trouble at one place, that strikes and passes again and again. */
export class WeatherSourceRow extends Row {
  declare readonly kind: WeatherKind
  /** The node, pool, zone or GPU type it strikes; '' where there is one of it. */
  declare readonly place: string
  declare readonly key: EntityKey
  /** Strikes in an hour. */
  declare readonly strikesPerHour: number
  strikeCount = this.int32(0)
  /** What makes it pass, while it lasts. */
  undo = this.reference<Command | undefined>(undefined)

  constructor(
    generation: Generation,
    id: string,
    initial: Pick<WeatherSourceRow, 'kind' | 'place' | 'key' | 'strikesPerHour'>,
  ) {
    super(generation, id)
    this.kind = this.reference(initial.kind)
    this.place = this.reference(initial.place)
    this.key = this.reference(initial.key)
    this.strikesPerHour = this.number(initial.strikesPerHour)
  }
}

/** The parts below that it uses. */
export interface WeatherParts {
  readonly ledger: Ledger
  readonly nodes: Nodes
  readonly placement: Placement
  readonly commands: Commands
}

/** What weather does at a place, and what ends it after `duration`. */
interface Strike {
  readonly command: Command
  readonly undo?: Command
  readonly duration: Micros
}

/**
 * Failures that come by themselves, drawn from the seed. Each node, zone, GPU type and service has its own chain of
 * draws, so a node that is added changes no failure of the others. Preemptions have a chain for each pool of spot nodes.
 * Without a pack in the profile, none comes.
 */
export class Weather extends TablePart<WeatherSourceRow, WeatherParts> {
  protected readonly table = this.tableOf(WeatherSourceRow)

  /** Starts the weather. Called once, after the fleet is built. */
  start(): void {
    const pack = weatherPack(this.context)
    if (!pack) return
    const { nodes } = this.parts
    for (const [ordinal] of nodes.entries()) this.addNode(ordinal)
    for (const zone of new Set(nodes.groups.map(({ group }) => group.zone))) {
      this.#addSource('zoneOutage', zone, pack.zoneOutagesPerHour)
    }
    for (const gpu of Object.keys(GPUS)) {
      if (nodes.groups.some(({ group }) => group.gpu === gpu)) this.#addSource('stockOut', gpu, pack.stockOutsPerHour)
    }
    for (const [pool, most] of this.#spotPools()) {
      // So that each node has the rate of the pack: an event takes all of them or one.
      const eventsPerHour = (pack.spotPreemptionsPerHour * most) / (1 + pack.spotCorrelation * (most - 1))
      this.#addSource('preemption', pool, eventsPerHour)
    }
    if (pack.tenantShare > 0) this.context.schedule(CUSTOMERS_INTERVAL, 'weather.customersMove')
    this.#addSource('hubOutage', '', pack.hubOutagesPerHour)
    this.#addSource('hubThrottle', '', pack.hubThrottlesPerHour)
    this.#addSource('registryOutage', '', pack.registryOutagesPerHour)
    this.#addSource('autoscalerFreeze', '', pack.autoscalerFreezesPerHour)
    this.#addSource('slowProvisioning', '', pack.slowProvisioningPerHour)
  }

  /** A node is there: its own weather begins. */
  addNode(ordinal: number): void {
    const pack = weatherPack(this.context)
    if (!pack) return
    const { chance, profile } = this.context
    const { nodes } = this.parts
    const node = nodes.read(ordinal)
    const { lemonShare, lemonFactor } = profile.weather
    const isLemon = chance.unit(chance.key('node', node.id), LEMON) < lemonShare
    // The mean over all nodes stays the rate of the pack.
    const normalFactor = 1 / (1 - lemonShare + lemonShare * lemonFactor)
    this.#addSource('nodeFault', node.id, pack.nodeFaultsPerHour * normalFactor * (isLemon ? lemonFactor : 1))
    this.#addSource('degradation', node.id, pack.degradationsPerHour * node.group.gpus)
    this.#addSource('diskFull', node.id, pack.diskFullPerHour)
  }

  /** Returns the microseconds from the end of the strike before, or from the start of a source, to its nth strike, from 0. */
  drawWait({ kind, strikesPerHour, key }: Readonly<WeatherSourceRow>, nth: number): Micros {
    const { chance } = this.context
    const mean = HOUR / strikesPerHour
    if (kind !== 'preemption') return chance.exponential(mean, key, WHEN, nth)
    return chance.lognormal(mean * exp((-SPOT_UP_SIGMA * SPOT_UP_SIGMA) / 2), SPOT_UP_SIGMA, key, WHEN, nth)
  }

  onEvent(event: EventOf<'weather'>, source: number): void {
    switch (event) {
      case 'weather.strikes':
        this.#onStrike(source)
        break
      case 'weather.passes':
        this.#onPass(source)
        break
      case 'weather.customersMove':
        this.#moveOtherCustomers()
        break
      default:
        assertHandled(event)
    }
  }

  #moveOtherCustomers(): void {
    const { nodes, placement, ledger } = this.parts
    const { soldOut, freed } = moveOtherCustomers(this.context, nodes)
    for (const gpu of soldOut) this.context.record(ledger.account, 'pool.soldOut', { gpu })
    for (const gpu of freed) this.context.record(ledger.account, 'pool.freed', { gpu })
    placement.scheduleRound()
    this.context.schedule(CUSTOMERS_INTERVAL, 'weather.customersMove')
  }

  #onPass(ordinal: number): void {
    const row = this.table.writable(ordinal)
    const { undo } = row
    row.undo = undefined
    if (undo) this.#tryExecute(undo)
    this.#scheduleNextStrike(ordinal, row)
  }

  #onStrike(ordinal: number): void {
    const row = this.table.writable(ordinal)
    if (strikesNodes(row.kind) && this.parts.nodes.ordinalOf(row.place) === undefined) {
      this.table.remove(ordinal)
      return
    }
    row.strikeCount++
    const strike = this.#drawStrike(row)
    if (!strike || !this.#tryExecute(strike.command) || !strike.undo) {
      this.#scheduleNextStrike(ordinal, row)
      return
    }
    row.undo = strike.undo
    this.context.schedule(strike.duration, 'weather.passes', ordinal)
  }

  #addSource(kind: WeatherKind, place: string, strikesPerHour: number): void {
    const rate = strikesPerHour * this.context.profile.weather.acceleration
    if (rate <= 0) return
    const id = place === '' ? `weather/${kind}` : `weather/${kind}/${place}`
    const key = this.context.chance.key('weather', id)
    const row = new WeatherSourceRow(this.table.generation, id, { kind, place, key, strikesPerHour: rate })
    this.#scheduleNextStrike(this.table.add(row), row)
  }

  #scheduleNextStrike(ordinal: number, row: Readonly<WeatherSourceRow>): void {
    const away = row.kind === 'preemption' ? this.#spotAwayTime(row.place) : 0
    this.context.schedule(away + this.drawWait(row, row.strikeCount), 'weather.strikes', ordinal)
  }

  /** Returns the pools of spot nodes, each with the most nodes that it may have. */
  #spotPools(): ReadonlyMap<string, number> {
    const pools = new Map<string, number>()
    for (const { group } of this.parts.nodes.groups) {
      if (group.market === 'spot') pools.set(group.pool, (pools.get(group.pool) ?? 0) + group.max)
    }
    return pools
  }

  #spotNodes(pool: string): Readonly<NodeRow>[] {
    const rows = Array.from(this.parts.nodes.entries(), ([, row]) => row)
    return rows.filter(({ group }) => group.pool === pool && group.market === 'spot')
  }

  /** Returns the time until a pool without a usable node gets spot nodes again; 0 for a pool that has one. */
  #spotAwayTime(pool: string): Micros {
    if (this.#spotNodes(pool).some(({ state }) => state === 'ready')) return 0
    const until = this.parts.nodes.groups.find(({ group }) => group.pool === pool)?.spotUnavailableUntil ?? 0
    return Math.max(0, until - this.context.clock.now)
  }

  /** False when what it was meant for is not there, or is in that state already. */
  #tryExecute(command: Command): boolean {
    try {
      actFor(this.context.journal, ORIGIN.weather, () => this.parts.commands.execute(command))
      return true
    } catch {
      return false
    }
  }

  #drawStrike(row: Readonly<WeatherSourceRow>): Strike | undefined {
    const { kind, place, key, strikeCount } = row
    const { chance, profile } = this.context
    const { weather } = profile
    if (kind === 'nodeFault') return this.#drawNodeFault(row)
    if (kind === 'preemption') return this.#drawPreemption(row)
    const [verb, undo, lasts] = STRIKES[kind]
    const target = place === '' ? {} : { target: place }
    const args = this.#drawArguments(row)
    return {
      command: { verb, ...target, ...(args && { args }) },
      undo: { verb: undo, ...target },
      duration: draw(weather[lasts], chance, key, HOW_LONG, strikeCount),
    }
  }

  #drawArguments({ kind, key, strikeCount }: Readonly<WeatherSourceRow>): Command['args'] | undefined {
    const { chance, profile } = this.context
    const { degradationFactor, hubThrottleFactor, slowProvisioningFactor } = profile.weather
    const drawFactor = (spread: Distribution) => Math.max(1, draw(spread, chance, key, HOW_MUCH, strikeCount))
    if (kind === 'degradation') return { factor: Math.min(1000, drawFactor(degradationFactor)) }
    if (kind === 'hubThrottle') return { share: 1 / drawFactor(hubThrottleFactor) }
    return kind === 'slowProvisioning' ? { factor: Math.min(1000, drawFactor(slowProvisioningFactor)) } : undefined
  }

  /** Returns the preemption of all nodes of a pool, or of one. Undefined if the pool is smaller than its `max` now. */
  #drawPreemption({ place, key, strikeCount }: Readonly<WeatherSourceRow>): Strike | undefined {
    const { chance } = this.context
    if (chance.unit(key, WHAT, strikeCount) < (weatherPack(this.context)?.spotCorrelation ?? 0)) {
      return { command: { verb: 'pool.preempt', target: place }, duration: 0 }
    }
    const node = this.#spotNodes(place)[chance.integer(this.#spotPools().get(place) ?? 0, key, WHICH, strikeCount)]
    return node && { command: { verb: 'node.preempt', target: node.id }, duration: 0 }
  }

  #drawNodeFault(row: Readonly<WeatherSourceRow>): Strike {
    const { chance, profile } = this.context
    const { nodes } = this.parts
    const { weather, timings } = profile
    const { key, strikeCount, place } = row
    const cause = pickByShare(weather.faultCauses, chance.unit(key, WHAT, strikeCount))
    const { nodeRepairReset: reset, nodeRepairAutomatic: automatic, nodeRepairManual: manual } = timings
    const spreads = { reset, automatic, manual }
    const drawRepairTime = (kind: keyof typeof spreads) => draw(spreads[kind], chance, key, HOW_LONG, strikeCount)
    const lasts = drawRepairTime(pickByShare(timings.nodeRepairShares, chance.unit(key, WHICH, strikeCount)))
    if (cause === 'gpu' || cause === 'software') {
      const counts = cause === 'gpu' ? weather.gpuXids : weather.softwareXids
      const xid = pickXid(counts, chance.unit(key, HOW_MUCH, strikeCount))
      const gpu = chance.integer(nodes.findById(place)!.group.gpus, key, WHICH, strikeCount + 0x40000000)
      const target = `${place}/${gpu}`
      const trouble = { verb: 'gpu.fail', target, args: { xid } }
      // The GPU has to be replaced.
      if (XIDS[xid]?.action === 'service') {
        return { command: trouble, undo: { verb: 'node.repair', target: place }, duration: drawRepairTime('manual') }
      }
      return { command: trouble, undo: { verb: 'gpu.reset', target }, duration: lasts }
    }
    const isPlanned = cause === 'maintenance'
    return {
      command: { verb: isPlanned ? 'node.drain' : 'node.crash', target: place },
      undo: { verb: isPlanned ? 'node.uncordon' : 'node.repair', target: place },
      duration: lasts,
    }
  }
}

function strikesNodes(kind: WeatherKind): boolean {
  return kind === 'nodeFault' || kind === 'degradation' || kind === 'diskFull'
}

function pickXid(counts: readonly { readonly xid: number; readonly count: number }[], unit: number): number {
  let rest = unit * counts.reduce((sum, { count }) => sum + count, 0)
  for (const { xid, count } of counts) {
    rest -= count
    if (rest < 0) return xid
  }
  return counts[0]!.xid
}
