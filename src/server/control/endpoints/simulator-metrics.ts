/** The metrics of the simulator itself: its worlds, the requests that it answered, and its process. */
import { processUsage } from '../../../lib/real-time.ts'
import { VERSION } from '../../../lib/version.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { Worlds } from '../../worlds/worlds.ts'
import { counter, gauge, info, MetricTable, type MetricValues } from '../metrics/metric.ts'

export const SIMULATOR_METRICS = new MetricTable([
  info('modelhost_sim', 'The version of the simulator and the seed of the world.'),
  gauge('modelhost_sim_worlds', 'Worlds of the server.'),
])

export const REQUEST_METRICS = new MetricTable([
  counter(
    'modelhost_sim_requests',
    'Requests to the service by operation and status. Status 0: a fault withheld the response, or the client left before it.',
  ),
])

export const PROCESS_METRICS = new MetricTable([
  counter('process_cpu_seconds', 'Total user and system CPU time spent in seconds.', { unit: 'seconds' }),
  gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', { unit: 'bytes' }),
])

/** Returns the values of the simulator. Those of its process follow the real clock. */
export function readSimulator(sim: Simulator, worlds: Worlds): MetricValues[] {
  const usage = processUsage()
  return [
    {
      table: SIMULATOR_METRICS,
      labels: { version: VERSION, seed: sim.seed },
      values: Float64Array.of(1, worlds.all().length),
    },
    ...sim.requestCounts.map(({ operation, status, count }) => ({
      table: REQUEST_METRICS,
      labels: { operation, status: String(status) },
      values: Float64Array.of(count),
    })),
    ...(usage
      ? [{ table: PROCESS_METRICS, labels: {}, values: Float64Array.of(usage.cpuSeconds, usage.residentBytes) }]
      : []),
  ]
}
