import * as z from 'zod'
import type { FleetNode, FleetView, Holder } from '../../evidence/views/fleet-tracker.ts'
import { queryInteger } from '../../service/fields.ts'
import { CONTROL_PROVENANCE, control } from '../endpoint.ts'
import { tokenRedactor } from '../token-redactor.ts'

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
    'Return the nodes of the fleet, the state of each GPU and who holds it. With since (the revision of an earlier ' +
    'answer), it returns only nodes and owners that changed. With full true, the answer replaces all earlier ones. ' +
    'Indexes are those of the same answer',
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
    }),
    groups: z.array(
      z.object({
        pool: z.string(),
        zone: z.string(),
        market: z.enum(['on-demand', 'spot']),
        gpu: z.string(),
        gpus: z.int().describe('GPUs of each node'),
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
  }),
  handle: ({ query: { since }, sim, lookAtFleet }) =>
    toFleetJson(sim.clock.iso, lookAtFleet(since), tokenRedactor(sim)),
})

function toFleetJson(now: string, view: FleetView, redact: (text: string) => string) {
  const { revision, isFull, totals, groups, owners, nodes, removed } = view
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
    ...{ revision, full: isFull, now, totals },
    groups: groups.map(({ pool, zone, market, gpu, gpus }) => ({ pool, zone, market, gpu, gpus })),
    states,
    owners: owners.map(owner => ({ ...owner, name: redact(owner.name) })),
    nodes: nodes.map(node => [...toNode(node)] as z.input<typeof NodeTuple>),
    removed: [...removed],
  }
}
