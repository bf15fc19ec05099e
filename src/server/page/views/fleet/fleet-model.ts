/** The fleet as the page draws it. */
import type { AnswersByRoute } from '../../store/ask.ts'

type FleetAnswer = AnswersByRoute['GET /_sim/fleet']
export type FleetGroup = FleetAnswer['groups'][number]
type Owner = FleetAnswer['owners'][number]

export type WaitingDeployment = FleetAnswer['waiting'][number]

/** In the list of a node's GPUs: a free GPU, one of another customer, and a broken one. */
export const GPU_CODES = { free: -1, others: -2, broken: -3 } as const

/** A deployment or container that holds GPUs, with its place among the owners: its colour and its letters follow. */
export interface FleetOwner extends Owner {
  readonly index: number
}

export type FleetNode = Omit<FleetAnswer['nodes'][number], 'group'> & { readonly group: FleetGroup }

/** The fleet with the nodes and the owners by their names. */
export type Fleet = Omit<FleetAnswer, 'owners' | 'nodes'> & {
  readonly owners: ReadonlyMap<string, FleetOwner>
  readonly nodes: ReadonlyMap<string, FleetNode>
}

/** Returns the fleet of an answer. `places` has the place of each owner so far, and gets those of new ones. */
export function toFleet({ owners, nodes, ...rest }: FleetAnswer, places: Map<string, number>): Fleet {
  for (const { id } of owners) if (!places.has(id)) places.set(id, places.size)
  return {
    ...rest,
    owners: new Map(owners.map(owner => [owner.id, { ...owner, index: places.get(owner.id)! }])),
    nodes: new Map(nodes.map(node => [node.name, { ...node, group: rest.groups[node.group]! }])),
  }
}

/** A group of equal nodes in a zone. */
export type FleetSection = FleetGroup & { readonly nodes: readonly FleetNode[] }

const collator = new Intl.Collator('en', { numeric: true })

/** Returns what tells a group from others, in the order in which groups are shown. */
export function keyOf({ zone, gpu, gpus, pool, market }: FleetGroup): string {
  return [zone, gpu, gpus, pool, market].join('\n')
}

/** Returns the nodes by zone, GPU type and pool, each in the order of their names. */
export function toSections({ nodes, groups }: Fleet): FleetSection[] {
  const sections = new Map(groups.map(group => [keyOf(group), { ...group, nodes: [] as FleetNode[] }]))
  for (const node of nodes.values()) sections.get(keyOf(node.group))!.nodes.push(node)
  const byName = (a: FleetNode, b: FleetNode) => collator.compare(a.name, b.name)
  return [...sections]
    .filter(([, section]) => section.nodes.length > 0)
    .sort(([a], [b]) => collator.compare(a, b))
    .map(([, section]) => ({ ...section, nodes: section.nodes.sort(byName) }))
}

/** How many GPUs of each kind there are. */
export interface GpuCounts {
  readonly gpus: number
  readonly held: number
  readonly free: number
  readonly others: number
  readonly unusable: number
}

/** Counts the GPUs of nodes as the totals of the fleet do: a free GPU takes an instance now. */
export function countGpus(nodes: Iterable<FleetNode>): GpuCounts {
  const counts = { gpus: 0, held: 0, free: 0, others: 0, unusable: 0 }
  for (const { gpus, state } of nodes) {
    for (const code of gpus) {
      counts.gpus++
      if (code >= 0) counts.held++
      else if (code === GPU_CODES.others) counts.others++
      else if (code === GPU_CODES.free && state === 'ready') counts.free++
      else counts.unusable++
    }
  }
  return counts
}

/** Returns the letters of an owner: A to Z, then AA. They stand in its GPUs, so that it is known without its colour. */
export function lettersOf(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26))
  return index < 26 ? letter : lettersOf(Math.floor(index / 26) - 1) + letter
}

/** Returns the name of the colour of an owner. */
export function colorOf(index: number): string {
  return `owner-${index % 8}`
}
