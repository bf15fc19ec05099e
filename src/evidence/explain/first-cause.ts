/** Who or what began a chain of causes, in sentences. */

import type { Entry } from '../../kernel/journal.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { isControlRequest } from './kind-sentences.ts'

/** The source of weather of each kind of entry, and the field that has its place. Default: the subject. */
const WEATHER_KINDS: Readonly<Record<string, readonly [source: string, place?: string]>> = {
  'node.crashed': ['nodeFault'],
  'node.drained': ['nodeFault'],
  'node.repaired': ['nodeFault'],
  'node.uncordoned': ['nodeFault'],
  'gpu.failed': ['nodeFault'],
  'gpu.reset': ['nodeFault'],
  'node.degraded': ['degradation'],
  'node.recovered': ['degradation'],
  'disk.filled': ['diskFull'],
  'disk.freed': ['diskFull'],
  'node.preemptionNoticed': ['preemption'],
  'zone.down': ['zoneOutage', 'zone'],
  'zone.up': ['zoneOutage', 'zone'],
  'pool.stockedOut': ['stockOut', 'gpu'],
  'pool.restocked': ['stockOut', 'gpu'],
  'hub.down': ['hubOutage', ''],
  'hub.up': ['hubOutage', ''],
  'hub.throttled': ['hubThrottle', ''],
  'hub.unthrottled': ['hubThrottle', ''],
  'registry.down': ['registryOutage', ''],
  'registry.up': ['registryOutage', ''],
  'autoscaler.frozen': ['autoscalerFreeze', ''],
  'autoscaler.freed': ['autoscalerFreeze', ''],
  'provisioning.slowed': ['slowProvisioning', ''],
  'provisioning.normal': ['slowProvisioning', ''],
}
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
function describeWeather({ world }: Simulator, { kind, subject, fields }: Entry): string[] {
  const begin = 'The chain begins with the weather of the profile.'
  const [name, field] = WEATHER_KINDS[kind] ?? []
  if (name === undefined) return [begin]
  const place = field === undefined ? subject : field === '' ? '' : String(fields?.[field])
  const id = place === '' ? `weather/${name}` : `weather/${name}/${place}`
  for (const [, source] of world.weather.sources()) {
    if (source.id !== id) continue
    const rate = Number(source.strikesPerHour.toPrecision(3))
    const draw = PASSES.test(kind) ? 'The draw weather.howLong gave the end' : 'The draw weather.when gave the time'
    return [begin, `${draw}: the source ${id} strikes ${rate} times an hour in the mean.`]
  }
  return [begin]
}
