/** What the name of a GPU type, a zone or a pool of the fleet says. */

import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import type { Entry } from '../../kernel/journal.ts'
import type { World } from '../../simulation/world.ts'
import { formatCents, formatNumberOf, formatValue } from './sentence.ts'
import type { Thing } from './thing.ts'

const isOf =
  (what: string) =>
  ({ kind }: Entry): boolean =>
    kind.startsWith(`${what}.`)

/** Finds a GPU type, a zone or a pool of the fleet. */
export function findFleetThing(world: World, id: string): Thing | undefined {
  const { nodes, environment, gpuQuotas, ledger } = world
  const groups = nodes.groups.map(({ group }) => group)
  const own = nodes.list()
  const gpu = GPU_TYPES.find(type => type === id)
  if (gpu !== undefined && groups.some(group => group.gpu === gpu)) {
    const quota = gpuQuotas.get(gpu)
    const sentences = [
      `${id} is a GPU type. ${describeNodes(own.filter(node => node.gpu === gpu))}`,
      environment.isStockedOut(gpu) ? 'It is out of stock, so that no GPU of it is assigned.' : 'It is in stock.',
      `A GPU of it costs ${formatCents(ledger.meters.priceCentsPerHour(gpu))} an hour.`,
      quota === null
        ? 'The account has no quota for it.'
        : `The quota of the account is ${quota} of them, and it holds ${gpuQuotas.held(gpu)}.`,
    ]
    return { kind: 'gpu_type', id, sentences, isOwn: ({ fields }) => fields?.gpu === gpu, decides: isOf('pool') }
  }
  if (groups.some(({ zone }) => zone === id)) {
    const sentences = [
      `${formatValue(id)} is a zone. ${describeNodes(own.filter(({ zone }) => zone === id))}`,
      environment.isZoneDown(id) ? 'It is down.' : 'It is up.',
    ]
    return { kind: 'zone', id, sentences, isOwn: ({ fields }) => fields?.zone === id, decides: isOf('zone') }
  }
  const group = groups.find(({ pool }) => pool === id)
  if (group === undefined) return undefined
  const { zone, market } = group
  const sentences = [
    `${formatValue(id)} is a pool of ${market} nodes in the zone ${formatValue(zone)}.`,
    describeNodes(own.filter(({ pool }) => pool === id)),
  ]
  return { kind: 'pool', id, sentences, isOwn: ({ fields }) => fields?.pool === id, decides: isOf('pool') }
}

function describeNodes(nodes: readonly { readonly gpus: number; readonly free: number }[]): string {
  const sum = (field: 'gpus' | 'free') => nodes.reduce((total, node) => total + node[field], 0)
  return `It has ${formatNumberOf(nodes.length, 'node')} with ${formatNumberOf(sum('gpus'), 'GPU')}, of which ${sum('free')} are free.`
}
