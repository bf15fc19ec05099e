import type { Micros } from '../kernel/duration.ts'
import { type Key, purpose } from '../kernel/random.ts'
import { type Generation, Row, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import { GPUS } from '../store/gpus.ts'
import type { WeatherPack } from '../store/profile.ts'
import { draw, type Spread } from '../store/profile-figures.ts'
import type { Command } from './commands.ts'
import type { EventName } from './events.ts'
import type { World } from './world.ts'
import { XIDS } from './xid.ts'

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
type Kind =
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

type BatchWait = keyof WeatherPack['batchWaitShares']

/** A source of weather: one kind of trouble at one place, that strikes and passes again and again. */
export class SourceRow extends Row {
  readonly kind: Kind
  /** The node, zone or GPU type it strikes; '' where there is one of it. */
  readonly place: string
  readonly key: Key
  /** Strikes in an hour. */
  readonly rate: number
  strikes = 0
  /** What makes it pass, while it lasts. */
  cure: Command | undefined

  constructor(generation: Generation, id: string, about: { kind: Kind; place: string; key: Key; rate: number }) {
    super(generation, id)
    this.kind = about.kind
    this.place = about.place
    this.key = about.key
    this.rate = about.rate
  }

  copy(generation: Generation): SourceRow {
    const copy = new SourceRow(generation, this.id, this)
    copy.strikes = this.strikes
    copy.cure = this.cure
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
  readonly #table: Table<SourceRow>

  constructor(world: World, table?: Table<SourceRow>) {
    this.#world = world
    this.#table = table ?? new Table(world.generation)
  }

  fork(world: World, theirs: Generation): Weather {
    return new Weather(world, this.#table.fork(theirs, world.generation))
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
  }

  get #pack(): WeatherPack | undefined {
    const { pack, packs } = this.#world.profile.weather
    return pack === 'none' ? undefined : packs[pack]
  }

  /** Lets it begin: once, when the fleet stands. */
  begin(): void {
    const pack = this.#pack
    if (!pack) return
    const { nodes } = this.#world
    for (const [ordinal] of nodes.entries()) this.watch(ordinal)
    for (const zone of new Set(nodes.groups.map(({ group }) => group.zone))) {
      this.#source('zoneOutage', zone, pack.zoneOutagesPerHour)
    }
    for (const gpu of Object.keys(GPUS)) {
      if (nodes.groups.some(({ group }) => group.gpu === gpu)) this.#source('stockOut', gpu, pack.stockOutsPerHour)
    }
    this.#source('hubOutage', '', pack.hubOutagesPerHour)
    this.#source('hubThrottle', '', pack.hubThrottlesPerHour)
    this.#source('registryOutage', '', pack.registryOutagesPerHour)
    this.#source('autoscalerFreeze', '', pack.autoscalerFreezesPerHour)
    this.#source('slowProvisioning', '', pack.slowProvisioningPerHour)
  }

  /** A node is there: its own weather begins. */
  watch(ordinal: number): void {
    const pack = this.#pack
    if (!pack) return
    const { chance, nodes, profile } = this.#world
    const node = nodes.read(ordinal)
    const { lemonShare, lemonFactor } = profile.weather
    const isLemon = chance.unit(chance.key('node', node.id), LEMON) < lemonShare
    // The mean over all nodes stays the rate of the pack.
    const usual = 1 / (1 - lemonShare + lemonShare * lemonFactor)
    this.#source('nodeFault', node.id, pack.nodeFaultsPerHour * usual * (isLemon ? lemonFactor : 1))
    this.#source('degradation', node.id, pack.degradationsPerHour * node.group.gpus)
    this.#source('diskFull', node.id, pack.diskFullPerHour)
    if (node.group.market === 'spot') this.#source('preemption', node.id, pack.spotPreemptionsPerHour)
  }

  /** Whether the nth charge of the account is declined although its card is good. */
  declinesTopup(nth: number): boolean {
    const { chance } = this.#world
    const likely = this.#pack?.topupDeclined ?? 0
    return likely > 0 && chance.unit(this.#accountKey, TOPUP_DECLINED, nth) < likely
  }

  /** How much later the nth charge of the account comes than it should. */
  topupDelay(nth: number): Micros {
    const { chance, profile } = this.#world
    const likely = this.#pack?.topupDelayed ?? 0
    if (likely === 0 || chance.unit(this.#accountKey, TOPUP_DELAYED, nth) >= likely) return 0
    return Math.round(draw(profile.weather.topupDelayLasts, chance, this.#accountKey, TOPUP_DELAY, nth))
  }

  /** How long a batch waits for shared capacity: a word, and its microseconds; Infinity where it expires waiting. */
  batchWait(key: Key): { readonly wait: BatchWait; readonly lasts: Micros } {
    const { chance, profile } = this.#world
    const pack = this.#pack
    const wait = pack ? pick(pack.batchWaitShares, chance.unit(key, BATCH_WAIT)) : 'none'
    if (wait === 'none') return { wait, lasts: 0 }
    if (wait === 'forever') return { wait, lasts: Number.POSITIVE_INFINITY }
    const { batchWaitShort, batchWaitLong, batchWaitDay } = profile.weather
    const spread = { short: batchWaitShort, long: batchWaitLong, day: batchWaitDay }[wait]
    return { wait, lasts: Math.round(draw(spread, chance, key, BATCH_WAITS)) }
  }

  get #accountKey(): Key {
    const { chance, ledger } = this.#world
    return chance.key('account', ledger.uid)
  }

  on(event: EventName, ordinal: number): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    if (event === 'weather.passes') {
      const { cure } = row
      row.cure = undefined
      if (cure) this.#give(cure)
      this.#planNext(ordinal, row)
      return
    }
    if (isOfNode(row.kind) && world.nodes.find(row.place) === undefined) {
      this.#table.remove(ordinal)
      return
    }
    row.strikes++
    const struck = this.#strike(row)
    if (!struck || !this.#give(struck.trouble)) {
      this.#planNext(ordinal, row)
      return
    }
    if (!struck.cure) {
      this.#planNext(ordinal, row)
      return
    }
    row.cure = struck.cure
    world.plan(struck.lasts, 'weather.passes', ordinal)
  }

  #source(kind: Kind, place: string, perHour: number): void {
    const world = this.#world
    const rate = perHour * world.profile.weather.acceleration
    if (rate <= 0) return
    const id = place === '' ? `weather/${kind}` : `weather/${kind}/${place}`
    const key = world.chance.key('weather', id)
    const row = new SourceRow(this.#table.generation, id, { kind, place, key, rate })
    this.#planNext(this.#table.add(row), row)
  }

  #planNext(ordinal: number, row: Readonly<SourceRow>): void {
    const { chance } = this.#world
    const wait = chance.exponential(MICROS_PER_HOUR / row.rate, row.key, WHEN, row.strikes)
    this.#world.plan(wait, 'weather.strikes', ordinal)
  }

  /** False when what it was meant for is not there, or is in that state already. */
  #give(command: Command): boolean {
    try {
      this.#world.commands.give(command)
      return true
    } catch {
      return false
    }
  }

  #strike(row: Readonly<SourceRow>): { trouble: Command; cure?: Command; lasts: Micros } | undefined {
    const { place, key, strikes } = row
    const { chance, profile } = this.#world
    const { weather } = profile
    const lasts = (spread: Spread) => draw(spread, chance, key, HOW_LONG, strikes)
    const much = (spread: Spread) => Math.max(1, draw(spread, chance, key, HOW_MUCH, strikes))
    switch (row.kind) {
      case 'nodeFault':
        return this.#nodeFault(row)
      case 'degradation':
        return {
          trouble: {
            verb: 'node.degrade',
            target: place,
            args: { factor: Math.min(1000, much(weather.degradationFactor)) },
          },
          cure: { verb: 'node.recover', target: place },
          lasts: lasts(weather.degradationLasts),
        }
      case 'diskFull':
        return {
          trouble: { verb: 'disk.fill', target: place },
          cure: { verb: 'disk.free', target: place },
          lasts: lasts(weather.diskFullLasts),
        }
      case 'preemption':
        return { trouble: { verb: 'node.preempt', target: place }, lasts: 0 }
      case 'zoneOutage':
        return {
          trouble: { verb: 'zone.down', target: place },
          cure: { verb: 'zone.up', target: place },
          lasts: lasts(weather.zoneOutageLasts),
        }
      case 'stockOut':
        return {
          trouble: { verb: 'pool.stockOut', target: place },
          cure: { verb: 'pool.restock', target: place },
          lasts: lasts(weather.stockOutLasts),
        }
      case 'hubOutage':
        return { trouble: { verb: 'hub.down' }, cure: { verb: 'hub.up' }, lasts: lasts(weather.hubOutageLasts) }
      case 'hubThrottle':
        return {
          trouble: { verb: 'hub.throttle', args: { share: 1 / much(weather.hubThrottleFactor) } },
          cure: { verb: 'hub.unthrottle' },
          lasts: lasts(weather.hubThrottleLasts),
        }
      case 'registryOutage':
        return {
          trouble: { verb: 'registry.down' },
          cure: { verb: 'registry.up' },
          lasts: lasts(weather.registryOutageLasts),
        }
      case 'autoscalerFreeze':
        return {
          trouble: { verb: 'autoscaler.freeze' },
          cure: { verb: 'autoscaler.free' },
          lasts: lasts(weather.autoscalerFreezeLasts),
        }
      case 'slowProvisioning':
        return {
          trouble: {
            verb: 'provisioning.slow',
            args: { factor: Math.min(1000, much(weather.slowProvisioningFactor)) },
          },
          cure: { verb: 'provisioning.normal' },
          lasts: lasts(weather.slowProvisioningLasts),
        }
    }
  }

  #nodeFault(row: Readonly<SourceRow>): { trouble: Command; cure: Command; lasts: Micros } | undefined {
    const { chance, profile, nodes } = this.#world
    const { weather, timings } = profile
    const { key, strikes, place } = row
    const ordinal = nodes.find(place)
    if (ordinal === undefined) return undefined
    const cause = pick(weather.faultCauses, chance.unit(key, WHAT, strikes))
    const spreads = {
      reset: timings.nodeRepairReset,
      automatic: timings.nodeRepairAutomatic,
      manual: timings.nodeRepairManual,
    }
    const repairIn = (kind: keyof typeof spreads) => draw(spreads[kind], chance, key, HOW_LONG, strikes)
    const lasts = repairIn(pick(timings.nodeRepairShares, chance.unit(key, WHICH, strikes)))
    if (cause === 'gpu' || cause === 'software') {
      const counts = cause === 'gpu' ? weather.gpuXids : weather.softwareXids
      const xid = pickCount(counts, chance.unit(key, HOW_MUCH, strikes))
      const gpu = chance.integer(nodes.read(ordinal).group.gpus, key, WHICH, strikes + 0x40000000)
      const target = `${place}/${gpu}`
      const trouble = { verb: 'gpu.fail', target, args: { xid } }
      // Somebody has to come with another GPU.
      if (XIDS[xid]?.action === 'service') {
        return { trouble, cure: { verb: 'node.repair', target: place }, lasts: repairIn('manual') }
      }
      return { trouble, cure: { verb: 'gpu.reset', target }, lasts }
    }
    if (cause === 'maintenance') {
      return { trouble: { verb: 'node.drain', target: place }, cure: { verb: 'node.uncordon', target: place }, lasts }
    }
    return { trouble: { verb: 'node.crash', target: place }, cure: { verb: 'node.repair', target: place }, lasts }
  }
}

function isOfNode(kind: Kind): boolean {
  return kind === 'nodeFault' || kind === 'degradation' || kind === 'diskFull' || kind === 'preemption'
}

/** The name whose share a number in [0, 1) falls into. */
function pick<Name extends string>(shares: Readonly<Record<Name, number>>, unit: number): Name {
  const names = Object.keys(shares) as Name[]
  let rest = unit
  for (const name of names) {
    rest -= shares[name]
    if (rest < 0) return name
  }
  return names[names.length - 1]!
}

function pickCount(counts: readonly { readonly xid: number; readonly count: number }[], unit: number): number {
  let rest = unit * counts.reduce((sum, { count }) => sum + count, 0)
  for (const { xid, count } of counts) {
    rest -= count
    if (rest < 0) return xid
  }
  return counts[0]!.xid
}
