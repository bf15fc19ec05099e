/** Who or what began a chain of causes, in sentences. */

import { formatDuration, HOUR, type Micros, SECOND } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import type { WeatherSourceRow } from '../../simulation/operations/weather.ts'
import { isControlRequest } from '../observer.ts'
import type { Simulator } from '../simulator.ts'

/** The sources of weather, the kinds of their entries, and the field that has the place. Default: the subject. */
const WEATHER_SOURCES: readonly (readonly [source: string, kinds: readonly string[], place?: string])[] = [
  ['nodeFault', ['node.crashed', 'node.drained', 'node.repaired', 'node.uncordoned', 'gpu.failed', 'gpu.reset']],
  ['degradation', ['node.degraded', 'node.recovered']],
  ['diskFull', ['disk.filled', 'disk.freed']],
  ['preemption', ['node.preemptionNoticed']],
  ['zoneOutage', ['zone.down', 'zone.up'], 'zone'],
  ['stockOut', ['pool.stockedOut', 'pool.restocked'], 'gpu'],
  ['hubOutage', ['hub.down', 'hub.up'], ''],
  ['hubThrottle', ['hub.throttled', 'hub.unthrottled'], ''],
  ['registryOutage', ['registry.down', 'registry.up'], ''],
  ['autoscalerFreeze', ['autoscaler.frozen', 'autoscaler.freed'], ''],
  ['slowProvisioning', ['provisioning.slowed', 'provisioning.normal'], ''],
]
/** Kinds of the weather that end what another entry began. */
const PASSES = /\.(?:repaired|uncordoned|reset|recovered|freed|up|restocked|unthrottled|normal)$/

/** Says who or what caused the first entry of a chain. */
export function describeFirstCause(sim: Simulator, first: Entry): string[] {
  const { journal } = sim.world
  if (first.kind === 'request') {
    return [
      isControlRequest(first)
        ? 'The chain begins with a request to the control plane.'
        : 'The chain begins with the request of a client.',
    ]
  }
  if (first.cause > 0) {
    return [
      `Its cause was entry ${first.cause}, which the journal has dropped. Set a higher journalLimit to keep more.`,
    ]
  }
  if (first.kind === 'fault.added' && first.subject.startsWith('weather-')) {
    return ['The chain begins with the weather of the profile, which added this rule at the start.']
  }
  if (first.kind.startsWith('inference.')) return ['The chain begins with the client, which ended its request.']
  const giver = journal.giverOf(first.seq)
  if (giver === 'weather') return describeWeather(sim, first)
  if (giver === 'program') {
    return first.kind.startsWith('scenario.') || first.kind.startsWith('fault.')
      ? ['The chain begins with the program that controls the simulator.']
      : ['The chain begins with a command of the program that controls the simulator.']
  }
  return ['The chain begins with the start of the world, or before the start of its journal.']
}

/** Says which source of weather struck, and by which draw. */
function describeWeather(sim: Simulator, entry: Entry): string[] {
  const begin = 'The chain begins with the weather of the profile.'
  const id = sourceOf(sim, entry)
  if (id === undefined) return [begin]
  const { weather } = sim.world
  for (const [, source] of weather.entries()) {
    if (source.id !== id) continue
    const before = findChangeBefore(sim, entry, id)
    if (PASSES.test(entry.kind)) {
      const lasted = before === undefined ? '' : `, ${formatDuration(entry.time - before.time)} after the strike`
      return [begin, `The draw weather.howLong gave the end${lasted}. ${describeRate(id, source.strikesPerHour)}`]
    }
    const wait = findWait(sim, source, entry.time - (before?.time ?? 0))
    const drawn = wait === undefined ? '' : ` after a wait of ${formatDuration(wait)}`
    const mean = formatDuration(Math.round(HOUR / source.strikesPerHour / SECOND) * SECOND)
    const rate = describeRate(id, source.strikesPerHour)
    return [begin, `The draw weather.when gave the time${drawn}. The mean wait is ${mean}. ${rate}`]
  }
  return [begin]
}

function describeRate(id: string, strikesPerHour: number): string {
  return `The source ${id} strikes ${Number(strikesPerHour.toPrecision(3))} times an hour in the mean.`
}

/** Returns the id of the source of weather that an entry can come from; undefined for other kinds. */
function sourceOf({ world }: Simulator, { kind, subject, fields }: Entry): string | undefined {
  const [name, , field] = WEATHER_SOURCES.find(([, kinds]) => kinds.includes(kind)) ?? []
  if (name === undefined) return undefined
  if (name === 'preemption') return `weather/preemption/${world.nodes.poolOf(subject)}`
  const place = field === undefined ? subject : field === '' ? '' : String(fields?.[field])
  return place === '' ? `weather/${name}` : `weather/${name}/${place}`
}

/** Returns the last earlier entry of a source of weather: its strike, or the end of one. */
function findChangeBefore(sim: Simulator, { seq, time }: Entry, id: string): Entry | undefined {
  const { journal } = sim.world
  return journal
    .entries()
    .findLast(
      entry =>
        entry.seq < seq && entry.time < time && sourceOf(sim, entry) === id && journal.giverOf(entry.seq) === 'weather',
    )
}

/**
 * Returns the drawn wait before a strike, from the time since the last change of its source. In between, strikes can have
 * had nothing to hit. Undefined if no draw fits, as after a change that the journal has dropped.
 */
function findWait({ world }: Simulator, source: Readonly<WeatherSourceRow>, since: Micros): Micros | undefined {
  const waitOf = (nth: number) => Math.round(world.weather.drawWait(source, nth))
  // The waits from `first` to `last` have this sum. Both only go down, so each wait is drawn at most three times.
  let first = source.strikeCount
  let sum = 0
  for (let last = first - 1; last >= 0; last--) {
    while (first > 0 && (first > last || sum < since)) sum += waitOf(--first)
    const wait = waitOf(last)
    if (sum === since) return wait
    sum -= wait
  }
  return undefined
}
