import * as z from 'zod'
import { queryInteger } from '../../../service/fields.ts'
import { WAIT_CAUSES } from '../../../simulator/explain/waits.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { CONTROL_PROVENANCE, control } from '../endpoint.ts'
import type { FleetNode, FleetView, Holder } from './fleet-tracker.ts'
import { UNAVAILABLE_CAUSES } from './fleet-waits.ts'

const NodeTuple = z.tuple([
  z.string().describe('Name'),
  z.int().describe('Index of its group in groups'),
  z.enum(['provisioning', 'ready', 'cordoned', 'draining', 'down', 'gone']),
  z
    .array(z.int())
    .describe('For each GPU: index in the holders of the node; -1 free, -2 of another customer, -3 broken'),
  z
    .array(
      z.tuple([
        z.int().describe('Index of its owner in owners'),
        z.int().nullable().describe('Number of the instance; null for a container'),
        z.int().describe('Index of its state in states'),
      ]),
    )
    .describe('Who holds GPUs of it'),
  z.number().describe('By which factor it is slower; 1 is full speed'),
  z.boolean().describe('Whether its disk is full'),
])

export const getFleet = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/fleet',
  summary:
    'Return the nodes of the fleet, the state of each GPU and who holds it, the pools without GPUs, and the ' +
    'deployments that wait for GPUs. With `since` (the revision of an earlier answer), it returns only nodes and ' +
    'owners that changed. If `full` of the answer is true, the answer replaces all earlier ones. Indexes are those ' +
    'of the same answer',
  example: { target: '/_sim/fleet?since=1' },
  query: { since: queryInteger({ min: 0 }).optional() },
  returns: z.object({
    revision: z.int().describe('For since of the next request'),
    full: z.boolean(),
    now: z.string(),
    totals: z.object({
      nodes: z.int(),
      gpus: z.int(),
      free: z.int(),
      held: z.int(),
      others: z.int().describe('Of other customers'),
      broken: z.int(),
      unusable: z.int().describe('Broken ones, and those without a holder on a node that takes no instance'),
    }),
    groups: z.array(
      z.object({
        pool: z.string(),
        zone: z.string(),
        market: z.enum(['on-demand', 'spot']),
        gpu: z.string(),
        gpus: z.int().describe('GPUs of each node'),
        unavailable: z
          .object({
            cause: z.enum(UNAVAILABLE_CAUSES),
            since: z.string().nullable().describe('null if the journal does not have its begin'),
            until: z.string().nullable().describe('null if no event ends it'),
          })
          .nullable()
          .describe('Why its GPUs cannot be used; null if they can'),
      }),
    ),
    states: z.array(z.string()).describe('The states of holders'),
    owners: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(['deployment', 'container']),
        name: z.string(),
        status: z.string(),
        utilisation: z.number().nullable().describe('Mean of its ready instances, 0 to 1; null without one'),
      }),
    ),
    nodes: z.array(NodeTuple),
    removed: z.array(z.string()).describe('Names of nodes that are gone since'),
    waiting: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          gpu: z.string(),
          gpus: z.int().describe('GPUs of each instance'),
          instances: z.int().describe('Instances without GPUs, requested or not'),
          since: z.string().nullable().describe('null if the journal does not have its begin'),
          cause: z.enum(WAIT_CAUSES),
          sentence: z.string(),
        }),
      )
      .describe('Deployments that wait for GPUs: all of them, the longest wait first, at most 200'),
    waiting_count: z.int(),
  }),
  handle: ({ query: { since }, sim, lookAtFleet }) => toFleetJson(sim, lookAtFleet(since)),
})

function toFleetJson({ world, clock }: Simulator, view: FleetView) {
  const { revision, isFull, totals, groups, owners, nodes, removed, waits } = view
  const toIso = (time: number | undefined) => (time === undefined ? null : world.clock.iso(time))
  const toUnavailable = (index: number) => {
    const { cause, since, until } = waits.unavailable[index] ?? {}
    return cause === undefined ? null : { cause, since: toIso(since), until: toIso(until) }
  }
  const states: string[] = []
  const stateIndexes = new Map<string, number>()
  const indexOfState = (state: string) => {
    const index = stateIndexes.get(state) ?? states.push(state) - 1
    stateIndexes.set(state, index)
    return index
  }
  const ownerIndexes = new Map(owners.map(({ id }, index) => [id, index]))
  const groupIndexes = new Map(groups.map((group, index) => [group, index]))
  const toHolder = ({ owner, number, state }: Holder): [number, number | null, number] => [
    ownerIndexes.get(owner)!,
    number,
    indexOfState(state),
  ]
  const toNode = ({ name, group, state, gpus, holders, slowdown, isDiskFull }: FleetNode) =>
    [name, groupIndexes.get(group)!, state, [...gpus], holders.map(toHolder), slowdown, isDiskFull] as const
  return {
    ...{ revision, full: isFull, now: clock.iso, totals },
    groups: groups.map(({ pool, zone, market, gpu, gpus }, index) => ({
      ...{ pool, zone, market, gpu, gpus },
      unavailable: toUnavailable(index),
    })),
    states,
    owners: [...owners],
    nodes: nodes.map(node => [...toNode(node)] as z.input<typeof NodeTuple>),
    removed: [...removed],
    waiting: waits.waiting.map(one => ({ ...one, since: toIso(one.since) })),
    waiting_count: waits.waitingCount,
  }
}
