import { GPUS } from '../../data/gpu-specs.ts'
import { type Distribution, draw } from '../../data/profiles/figures.ts'
import type { WeatherPack } from '../../data/profiles/load.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type EntityKey, purpose } from '../../kernel/random.ts'
import { type Generation, Row, Table } from '../../kernel/table.ts'
import type { EventName } from '../events.ts'
import { XIDS } from '../fleet/xid.ts'
import type { World } from '../world.ts'
import type { Command } from './commands.ts'

const WHEN = purpose('weather.when')
const WHAT = purpose('weather.what')
const WHICH = purpose('weather.which')
const HOW_LONG = purpose('weather.howLong')
const HOW_MUCH = purpose('weather.howMuch')
const LEMON = purpose('weather.lemon')
const TOPUP_DECLINED = purpose('weather.topupDeclined')
const TOPUP_DELAYED = purpose('weather.topupDelayed')
const TOPUP_DELAY = purpose('weather.topupDelay')
const BATCH_WAIT = purpose('weather.batchWait')
const BATCH_WAITS = purpose('weather.batchWaits')
const MICROS_PER_HOUR = 3_600_000_000

/** What can strike, each at a rate of its own. */
type WeatherKind =
  | 'nodeFault'
  | 'degradation'
  | 'diskFull'
  | 'preemption'
  | 'zoneOutage'
  | 'stockOut'
  | 'hubOutage'
  | 'hubThrottle'
  | 'registryOutage'
  | 'autoscalerFreeze'
  | 'slowProvisioning'

type BatchWaitLength = keyof WeatherPack['batchWaitShares']

/** A source of weather: one kind of trouble at one place, that strikes and passes again and again. */
export class WeatherSourceRow extends Row {
  readonly kind: WeatherKind
  /** The node, zone or GPU type it strikes; '' where there is one of it. */
  readonly place: string
  readonly key: EntityKey
  /** Strikes in an hour. */
  readonly strikesPerHour: number
  strikeCount = 0
  /** What makes it pass, while it lasts. */
  undo: Command | undefined

  constructor(
    generation: Generation,
    id: string,
    initial: { kind: WeatherKind; place: string; key: EntityKey; strikesPerHour: number },
  ) {
    super(generation, id)
    this.kind = initial.kind
    this.place = initial.place
    this.key = initial.key
    this.strikesPerHour = initial.strikesPerHour
  }

  copy(generation: Generation): WeatherSourceRow {
    const copy = new WeatherSourceRow(generation, this.id, this)
    copy.strikeCount = this.strikeCount
    copy.undo = this.undo
    return copy.takeHash(this)
  }
}

/**
 * Trouble that comes by itself, drawn from the seed: each node, zone, GPU type and service has its own chain of strikes,
 * so adding a node or removing a deployment leaves everybody else's weather as it was. None unless the profile names a
 * pack.
 */
export class Weather {
  readonly #world: World
  readonly #table: Table<WeatherSourceRow>

  constructor(world: World, table?: Table<WeatherSourceRow>) {
    this.#world = world
    this.#table = table ?? new Table(world.generation)
  }

  fork(world: World, originGeneration: Generation): Weather {
    return new Weather(world, this.#table.fork(originGeneration, world.generation))
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
  }

  get #pack(): WeatherPack | undefined {
    const { pack, packs } = this.#world.profile.weather
    return pack === 'none' ? undefined : packs[pack]
  }

  /** Lets it begin: once, when the fleet stands. */
  start(): void {
    const pack = this.#pack
    if (!pack) return
    const { nodes } = this.#world
    for (const [ordinal] of nodes.entries()) this.addNode(ordinal)
    for (const zone of new Set(nodes.groups.map(({ group }) => group.zone))) {
      this.#addSource('zoneOutage', zone, pack.zoneOutagesPerHour)
    }
    for (const gpu of Object.keys(GPUS)) {
      if (nodes.groups.some(({ group }) => group.gpu === gpu)) this.#addSource('stockOut', gpu, pack.stockOutsPerHour)
    }
    this.#addSource('hubOutage', '', pack.hubOutagesPerHour)
    this.#addSource('hubThrottle', '', pack.hubThrottlesPerHour)
    this.#addSource('registryOutage', '', pack.registryOutagesPerHour)
    this.#addSource('autoscalerFreeze', '', pack.autoscalerFreezesPerHour)
    this.#addSource('slowProvisioning', '', pack.slowProvisioningPerHour)
  }

  /** A node is there: its own weather begins. */
  addNode(ordinal: number): void {
    const pack = this.#pack
    if (!pack) return
    const { chance, nodes, profile } = this.#world
    const node = nodes.read(ordinal)
    const { lemonShare, lemonFactor } = profile.weather
    const isLemon = chance.unit(chance.key('node', node.id), LEMON) < lemonShare
    // The mean over all nodes stays the rate of the pack.
    const normalFactor = 1 / (1 - lemonShare + lemonShare * lemonFactor)
    this.#addSource('nodeFault', node.id, pack.nodeFaultsPerHour * normalFactor * (isLemon ? lemonFactor : 1))
    this.#addSource('degradation', node.id, pack.degradationsPerHour * node.group.gpus)
    this.#addSource('diskFull', node.id, pack.diskFullPerHour)
    if (node.group.market === 'spot') this.#addSource('preemption', node.id, pack.spotPreemptionsPerHour)
  }

  /** Whether the nth charge of the account is declined although its card is good. */
  declinesTopup(index: number): boolean {
    const { chance } = this.#world
    const probability = this.#pack?.topupDeclined ?? 0
    return probability > 0 && chance.unit(this.#accountKey, TOPUP_DECLINED, index) < probability
  }

  /** How much later the nth charge of the account comes than it should. */
  topupDelay(index: number): Micros {
    const { chance, profile } = this.#world
    const probability = this.#pack?.topupDelayed ?? 0
    if (probability === 0 || chance.unit(this.#accountKey, TOPUP_DELAYED, index) >= probability) return 0
    return Math.round(draw(profile.weather.topupDelayLasts, chance, this.#accountKey, TOPUP_DELAY, index))
  }

  /** How long a batch waits for shared capacity: a word, and its microseconds; Infinity where it expires waiting. */
  batchWait(key: EntityKey): { readonly wait: BatchWaitLength; readonly duration: Micros } {
    const { chance, profile } = this.#world
    const pack = this.#pack
    const wait = pack ? pickByShare(pack.batchWaitShares, chance.unit(key, BATCH_WAIT)) : 'none'
    if (wait === 'none') return { wait, duration: 0 }
    if (wait === 'forever') return { wait, duration: Number.POSITIVE_INFINITY }
    const { batchWaitShort, batchWaitLong, batchWaitDay } = profile.weather
    const spread = { short: batchWaitShort, long: batchWaitLong, day: batchWaitDay }[wait]
    return { wait, duration: Math.round(draw(spread, chance, key, BATCH_WAITS)) }
  }

  get #accountKey(): EntityKey {
    const { chance, ledger } = this.#world
    return chance.key('account', ledger.uid)
  }

  onEvent(event: EventName, ordinal: number): void {
    const world = this.#world
    const row = this.#table.writable(ordinal)
    if (event === 'weather.passes') {
      const { undo } = row
      row.undo = undefined
      if (undo) this.#tryExecute(undo)
      this.#scheduleNextStrike(ordinal, row)
      return
    }
    if (strikesNodes(row.kind) && world.nodes.ordinalOf(row.place) === undefined) {
      this.#table.remove(ordinal)
      return
    }
    row.strikeCount++
    const strike = this.#drawStrike(row)
    if (!strike || !this.#tryExecute(strike.command)) {
      this.#scheduleNextStrike(ordinal, row)
      return
    }
    if (!strike.undo) {
      this.#scheduleNextStrike(ordinal, row)
      return
    }
    row.undo = strike.undo
    world.schedule(strike.duration, 'weather.passes', ordinal)
  }

  #addSource(kind: WeatherKind, place: string, strikesPerHour: number): void {
    const world = this.#world
    const rate = strikesPerHour * world.profile.weather.acceleration
    if (rate <= 0) return
    const id = place === '' ? `weather/${kind}` : `weather/${kind}/${place}`
    const key = world.chance.key('weather', id)
    const row = new WeatherSourceRow(this.#table.generation, id, { kind, place, key, strikesPerHour: rate })
    this.#scheduleNextStrike(this.#table.add(row), row)
  }

  #scheduleNextStrike(ordinal: number, row: Readonly<WeatherSourceRow>): void {
    const { chance } = this.#world
    const wait = chance.exponential(MICROS_PER_HOUR / row.strikesPerHour, row.key, WHEN, row.strikeCount)
    this.#world.schedule(wait, 'weather.strikes', ordinal)
  }

  /** False when what it was meant for is not there, or is in that state already. */
  #tryExecute(command: Command): boolean {
    try {
      this.#world.commands.schedule(command)
      return true
    } catch {
      return false
    }
  }

  #drawStrike(row: Readonly<WeatherSourceRow>): { command: Command; undo?: Command; duration: Micros } | undefined {
    const { place, key, strikeCount } = row
    const { chance, profile } = this.#world
    const { weather } = profile
    const lasts = (spread: Distribution) => draw(spread, chance, key, HOW_LONG, strikeCount)
    const drawFactor = (spread: Distribution) => Math.max(1, draw(spread, chance, key, HOW_MUCH, strikeCount))
    switch (row.kind) {
      case 'nodeFault':
        return this.#drawNodeFault(row)
      case 'degradation':
        return {
          command: {
            verb: 'node.degrade',
            target: place,
            args: { factor: Math.min(1000, drawFactor(weather.degradationFactor)) },
          },
          undo: { verb: 'node.recover', target: place },
          duration: lasts(weather.degradationLasts),
        }
      case 'diskFull':
        return {
          command: { verb: 'disk.fill', target: place },
          undo: { verb: 'disk.free', target: place },
          duration: lasts(weather.diskFullLasts),
        }
      case 'preemption':
        return { command: { verb: 'node.preempt', target: place }, duration: 0 }
      case 'zoneOutage':
        return {
          command: { verb: 'zone.down', target: place },
          undo: { verb: 'zone.up', target: place },
          duration: lasts(weather.zoneOutageLasts),
        }
      case 'stockOut':
        return {
          command: { verb: 'pool.stockOut', target: place },
          undo: { verb: 'pool.restock', target: place },
          duration: lasts(weather.stockOutLasts),
        }
      case 'hubOutage':
        return { command: { verb: 'hub.down' }, undo: { verb: 'hub.up' }, duration: lasts(weather.hubOutageLasts) }
      case 'hubThrottle':
        return {
          command: { verb: 'hub.throttle', args: { share: 1 / drawFactor(weather.hubThrottleFactor) } },
          undo: { verb: 'hub.unthrottle' },
          duration: lasts(weather.hubThrottleLasts),
        }
      case 'registryOutage':
        return {
          command: { verb: 'registry.down' },
          undo: { verb: 'registry.up' },
          duration: lasts(weather.registryOutageLasts),
        }
      case 'autoscalerFreeze':
        return {
          command: { verb: 'autoscaler.freeze' },
          undo: { verb: 'autoscaler.free' },
          duration: lasts(weather.autoscalerFreezeLasts),
        }
      case 'slowProvisioning':
        return {
          command: {
            verb: 'provisioning.slow',
            args: { factor: Math.min(1000, drawFactor(weather.slowProvisioningFactor)) },
          },
          undo: { verb: 'provisioning.normal' },
          duration: lasts(weather.slowProvisioningLasts),
        }
    }
  }

  #drawNodeFault(row: Readonly<WeatherSourceRow>): { command: Command; undo: Command; duration: Micros } | undefined {
    const { chance, profile, nodes } = this.#world
    const { weather, timings } = profile
    const { key, strikeCount, place } = row
    const ordinal = nodes.ordinalOf(place)
    if (ordinal === undefined) return undefined
    const cause = pickByShare(weather.faultCauses, chance.unit(key, WHAT, strikeCount))
    const spreads = {
      reset: timings.nodeRepairReset,
      automatic: timings.nodeRepairAutomatic,
      manual: timings.nodeRepairManual,
    }
    const drawRepairTime = (kind: keyof typeof spreads) => draw(spreads[kind], chance, key, HOW_LONG, strikeCount)
    const lasts = drawRepairTime(pickByShare(timings.nodeRepairShares, chance.unit(key, WHICH, strikeCount)))
    if (cause === 'gpu' || cause === 'software') {
      const counts = cause === 'gpu' ? weather.gpuXids : weather.softwareXids
      const xid = pickXid(counts, chance.unit(key, HOW_MUCH, strikeCount))
      const gpu = chance.integer(nodes.read(ordinal).group.gpus, key, WHICH, strikeCount + 0x40000000)
      const target = `${place}/${gpu}`
      const trouble = { verb: 'gpu.fail', target, args: { xid } }
      // Somebody has to come with another GPU.
      if (XIDS[xid]?.action === 'service') {
        return { command: trouble, undo: { verb: 'node.repair', target: place }, duration: drawRepairTime('manual') }
      }
      return { command: trouble, undo: { verb: 'gpu.reset', target }, duration: lasts }
    }
    if (cause === 'maintenance') {
      return {
        command: { verb: 'node.drain', target: place },
        undo: { verb: 'node.uncordon', target: place },
        duration: lasts,
      }
    }
    return {
      command: { verb: 'node.crash', target: place },
      undo: { verb: 'node.repair', target: place },
      duration: lasts,
    }
  }
}

function strikesNodes(kind: WeatherKind): boolean {
  return kind === 'nodeFault' || kind === 'degradation' || kind === 'diskFull' || kind === 'preemption'
}

/** The name whose share a number in [0, 1) falls into. */
function pickByShare<Name extends string>(shares: Readonly<Record<Name, number>>, unit: number): Name {
  const names = Object.keys(shares) as Name[]
  let rest = unit
  for (const name of names) {
    rest -= shares[name]
    if (rest < 0) return name
  }
  return names[names.length - 1]!
}

function pickXid(counts: readonly { readonly xid: number; readonly count: number }[], unit: number): number {
  let rest = unit * counts.reduce((sum, { count }) => sum + count, 0)
  for (const { xid, count } of counts) {
    rest -= count
    if (rest < 0) return xid
  }
  return counts[0]!.xid
}
