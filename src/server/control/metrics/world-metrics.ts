/** The metrics of deployments, of the world itself, and of the simulator with its process. */
import { SECOND } from '../../../kernel/duration.ts'
import { processUsage } from '../../../lib/real-time.ts'
import { VERSION } from '../../../lib/version.ts'
import { INSTANCE_STATES } from '../../../simulation/deployments/instance-row.ts'
import { EMPTY_FLOW, toWholeRequests } from '../../../simulation/load/request-flow.ts'
import type { World } from '../../../simulation/world.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { Worlds } from '../../worlds/worlds.ts'
import { counter, gauge, info, MetricTable, type MetricValues } from './metric.ts'
import { servingState } from './serving-state.ts'

/** The outcomes of requests to a deployment, as reports count them. */
const OUTCOMES = ['served', 'refused', 'failed', 'left'] as const

export const DEPLOYMENT_METRICS = new MetricTable([
  gauge('modelhost_sim_deployment_instances', 'Instances of a deployment by state.', {
    variants: INSTANCE_STATES.map(state => ({ state })),
  }),
  gauge('modelhost_sim_deployment_desired_instances', 'Instances that the autoscaler wants for a deployment.'),
  gauge('modelhost_sim_deployment_arrival_rate', 'Requests per second of the offered load of a deployment.'),
  gauge(
    'modelhost_sim_deployment_waiting_requests',
    'Requests that wait for an instance of a deployment, with or without a ready instance.',
  ),
  gauge(
    'modelhost_sim_deployment_utilisation',
    'Share of the capacity of the ready instances that the offered load uses, from 0 to 1.',
  ),
  counter('modelhost_sim_deployment_requests', 'Requests to a deployment that ended, by outcome.', {
    variants: OUTCOMES.map(outcome => ({ outcome })),
  }),
])

export const WORLD_METRICS = new MetricTable([
  gauge('modelhost_sim_virtual_time_seconds', 'Virtual time, in Unix seconds.', { unit: 'seconds' }),
  counter('modelhost_sim_elapsed_seconds', 'Virtual time since the start of the world.', { unit: 'seconds' }),
  gauge('modelhost_sim_scheduled_events', 'Events on the agenda.'),
  gauge('modelhost_sim_inference_requests', 'Single requests to models that run or wait.'),
  gauge('modelhost_sim_journal_entries', 'Entries that the journal keeps.'),
  counter('modelhost_sim_journal_dropped', 'Entries that a full journal has dropped.'),
])

export const EVENT_METRICS = new MetricTable([
  counter('modelhost_sim_events', 'Events of the world by kind of journal entry.'),
])

/** Yields the values of all deployments that are not deleted, by creation. */
export function* readDeployments(world: World): Generator<MetricValues> {
  for (const { ordinal, row } of world.deployments.list()) {
    if (row.plan.type !== 'llm') continue
    const state = servingState(world, ordinal)
    const load = toWholeRequests(world.history.totalsAt(row, world.clock.now).served ?? EMPTY_FLOW)
    const { requests } = row
    const counts = INSTANCE_STATES.map(
      name => row.instances.filter(instance => world.instances.read(instance).state === name).length,
    )
    const ended = [load.served + requests.served, load.refused + requests.refused, requests.failed, requests.left]
    const { arrivalRate, waiting, estimate } = state
    yield {
      table: DEPLOYMENT_METRICS,
      labels: { deploy_id: row.id, model_name: row.plan.modelName, gpu: row.gpu },
      values: Float64Array.from([...counts, ...[row.desired, arrivalRate, waiting, estimate.utilisation], ...ended]),
    }
  }
}

/** Returns the values of the world, and of each kind of event. */
export function readWorld({ clock, agenda, journal, inferenceRequests }: World): MetricValues[] {
  const { last, dropped, counts } = journal
  const values = [
    ...[clock.epochMs / 1000 + clock.now / SECOND, clock.now / SECOND, agenda.size, inferenceRequests.inFlightCount],
    ...[last - dropped, dropped],
  ]
  return [
    { table: WORLD_METRICS, labels: {}, values: Float64Array.from(values) },
    ...[...counts].sort().map(([kind, count]) => ({
      table: EVENT_METRICS,
      labels: { kind },
      values: Float64Array.of(count),
    })),
  ]
}

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
