/** The metrics of deployments, of the world itself, and of the simulator with its process. */
import { SECOND } from '../../../kernel/duration.ts'
import { processUsage } from '../../../lib/real-time.ts'
import { VERSION } from '../../../lib/version.ts'
import type { DeploymentRow } from '../../../simulation/deployments/deployment-row.ts'
import { INSTANCE_STATES, type InstanceState } from '../../../simulation/deployments/instance-row.ts'
import { EMPTY_FLOW, toWholeRequests } from '../../../simulation/load/request-flow.ts'
import type { World } from '../../../simulation/world.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { Worlds } from '../../worlds/worlds.ts'
import { counter, gauge, info, type Metric, type MetricValues, readMetrics } from './metric.ts'
import { type ServingState, servingState } from './serving-state.ts'

/** The outcomes of requests to a deployment, as reports count them. */
const OUTCOMES = ['served', 'refused', 'failed', 'left'] as const

/** What is known of a deployment at one time. */
interface DeploymentFigures extends Pick<ServingState, 'arrivalRate' | 'waiting' | 'estimate'> {
  readonly row: Readonly<DeploymentRow>
  readonly states: readonly InstanceState[]
  /** Requests that ended. */
  readonly ended: Readonly<Record<(typeof OUTCOMES)[number], number>>
}

export const DEPLOYMENT_METRICS: readonly Metric<DeploymentFigures>[] = [
  gauge(
    'modelhost_sim_deployment_instances',
    'Instances of a deployment by state.',
    ({ states }) => INSTANCE_STATES.map(name => states.filter(state => state === name).length),
    { variants: INSTANCE_STATES.map(state => ({ state })) },
  ),
  gauge(
    'modelhost_sim_deployment_desired_instances',
    'Instances that the autoscaler wants for a deployment.',
    ({ row }) => row.desired,
  ),
  gauge(
    'modelhost_sim_deployment_arrival_rate',
    'Requests per second of the offered load of a deployment.',
    ({ arrivalRate }) => arrivalRate,
  ),
  gauge(
    'modelhost_sim_deployment_waiting_requests',
    'Requests that wait for an instance of a deployment, with or without a ready instance.',
    ({ waiting }) => waiting,
  ),
  gauge(
    'modelhost_sim_deployment_utilisation',
    'Share of the capacity of the ready instances that the offered load uses, from 0 to 1.',
    ({ estimate }) => estimate.utilisation,
  ),
  counter(
    'modelhost_sim_deployment_requests',
    'Requests to a deployment that ended, by outcome.',
    ({ ended }) => OUTCOMES.map(outcome => ended[outcome]),
    { variants: OUTCOMES.map(outcome => ({ outcome })) },
  ),
]

const inSeconds = { unit: 'seconds' } as const

export const WORLD_METRICS: readonly Metric<World>[] = [
  gauge(
    'modelhost_sim_virtual_time_seconds',
    'Virtual time, in Unix seconds.',
    ({ clock }) => clock.epochMs / 1000 + clock.now / SECOND,
    inSeconds,
  ),
  counter(
    'modelhost_sim_elapsed_seconds',
    'Virtual time since the start of the world.',
    ({ clock }) => clock.now / SECOND,
    inSeconds,
  ),
  gauge('modelhost_sim_scheduled_events', 'Events on the agenda.', ({ agenda }) => agenda.size),
  gauge(
    'modelhost_sim_inference_requests',
    'Single requests to models that run or wait.',
    ({ inferenceRequests }) => inferenceRequests.inFlightCount,
  ),
  gauge(
    'modelhost_sim_journal_entries',
    'Entries that the journal keeps.',
    ({ journal }) => journal.last - journal.dropped,
  ),
  counter(
    'modelhost_sim_journal_dropped',
    'Entries that a full journal has dropped.',
    ({ journal }) => journal.dropped,
  ),
]

export const EVENT_METRICS = [
  counter<number>('modelhost_sim_events', 'Events of the world by kind of journal entry.', count => count),
]

/** Yields the values of all deployments that are not deleted, by creation. */
export function* readDeployments(world: World): Generator<MetricValues> {
  for (const { ordinal, row } of world.deployments.list()) {
    if (row.plan.type !== 'llm') continue
    const load = toWholeRequests(world.history.totalsAt(row, world.clock.now).served ?? EMPTY_FLOW)
    const { served, refused, failed, left } = row.requests
    const figures = {
      ...servingState(world, ordinal),
      ...{ row, states: row.instances.map(instance => world.instances.read(instance).state) },
      ended: { served: load.served + served, refused: load.refused + refused, failed, left },
    }
    const labels = { deploy_id: row.id, model_name: row.plan.modelName, gpu: row.gpu }
    yield readMetrics(DEPLOYMENT_METRICS, figures, labels)
  }
}

/** Returns the values of the world, and of each kind of event. */
export function readWorld(world: World): MetricValues[] {
  return [
    readMetrics(WORLD_METRICS, world, {}),
    ...[...world.journal.counts].sort().map(([kind, count]) => readMetrics(EVENT_METRICS, count, { kind })),
  ]
}

export const SIMULATOR_METRICS: readonly Metric<Worlds>[] = [
  info('modelhost_sim', 'The version of the simulator and the seed of the world.', () => 1),
  gauge('modelhost_sim_worlds', 'Worlds of the server.', worlds => worlds.all().length),
]

export const REQUEST_METRICS = [
  counter<number>(
    'modelhost_sim_requests',
    'Requests to the service by operation and status. Status 0: a fault withheld the response, or the client left before it.',
    count => count,
  ),
]

type Usage = NonNullable<ReturnType<typeof processUsage>>

export const PROCESS_METRICS: readonly Metric<Usage>[] = [
  counter(
    'process_cpu_seconds',
    'Total user and system CPU time spent in seconds.',
    ({ cpuSeconds }) => cpuSeconds,
    inSeconds,
  ),
  gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', ({ residentBytes }) => residentBytes, {
    unit: 'bytes',
  }),
]

/** Returns the values of the simulator. Those of its process follow the real clock. */
export function readSimulator(sim: Simulator, worlds: Worlds): MetricValues[] {
  const usage = processUsage()
  return [
    readMetrics(SIMULATOR_METRICS, worlds, { version: VERSION, seed: sim.seed }),
    ...sim.requestCounts.map(({ operation, status, count }) =>
      readMetrics(REQUEST_METRICS, count, { operation, status: String(status) }),
    ),
    ...(usage ? [readMetrics(PROCESS_METRICS, usage, {})] : []),
  ]
}
