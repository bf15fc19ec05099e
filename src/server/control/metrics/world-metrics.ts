/** The metrics of deployments and of the world itself. */
import { SECOND } from '../../../kernel/duration.ts'
import { INSTANCE_STATES } from '../../../simulation/deployments/instance-row.ts'
import { EMPTY_FLOW, toWholeRequests } from '../../../simulation/load/request-flow.ts'
import type { World } from '../../../simulation/world.ts'
import { counter, gauge, MetricTable, type MetricValues } from './metric.ts'
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
  for (const { ordinal, type } of world.deployments.list()) {
    if (type !== 'llm') continue
    const row = world.deployments.read(ordinal)
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
