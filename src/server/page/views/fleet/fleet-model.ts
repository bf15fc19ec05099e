/** The fleet as the page keeps it: whole, from answers that have only what changed. */
import type { AnswersByRoute } from '../../store/ask.ts'
import type { Folding } from '../../store/live-answer.ts'

type FleetAnswer = AnswersByRoute['GET /_sim/fleet']
export type FleetTotals = FleetAnswer['totals']
export type FleetGroup = FleetAnswer['groups'][number]
type Owner = FleetAnswer['owners'][number]

export type WaitingDeployment = FleetAnswer['waiting'][number]

/** In the list of a node's GPUs: a free GPU, one of another customer, and a broken one. */
export const GPU_CODES = { free: -1, others: -2, broken: -3 } as const

/** A deployment or container that holds GPUs, with its place among the owners: its colour and its letters follow. */
export interface FleetOwner extends Owner {
  readonly index: number
}

export interface FleetHolder {
  readonly owner: string
  /** Id of the instance or the container. */
  readonly id: string
  readonly state: string
}

export interface FleetNode {
  readonly name: string
  /** As it was when the node last changed. */
  readonly group: FleetGroup
  readonly state: FleetAnswer['nodes'][number][2]
  /** For each GPU: the index of its holder, or one of `GPU_CODES`. */
  readonly gpus: readonly number[]
  readonly holders: readonly FleetHolder[]
  /** By which factor it is slower. */
  readonly slowdown: number
  readonly isDiskFull: boolean
}

export interface Fleet {
  readonly revision: number
  readonly totals: FleetTotals
  readonly owners: ReadonlyMap<string, FleetOwner>
  readonly nodes: ReadonlyMap<string, FleetNode>
  readonly groups: readonly FleetGroup[]
  readonly waiting: readonly WaitingDeployment[]
  /** How many wait, also those that are not listed. */
  readonly waitingCount: number
}

export const FLEET_FOLDING: Folding<'GET /_sim/fleet', Fleet> = {
  since: ({ revision }) => ({ since: revision }),
  fold: foldFleet,
}

/** Returns the fleet after an answer. If nothing changed, it is the same object. */
export function foldFleet(before: Fleet | undefined, answer: FleetAnswer): Fleet {
  const {
    revision,
    full,
    totals,
    groups,
    states,
    owners,
    nodes,
    removed,
    waiting,
    waiting_count: waitingCount,
  } = answer
  if (before !== undefined && !full && revision === before.revision) return before
  const known = full ? undefined : before
  const ownersById = new Map(known?.owners)
  for (const owner of owners) {
    const index = ownersById.get(owner.id)?.index ?? ownersById.size
    ownersById.set(owner.id, { ...owner, index })
  }
  const nodesByName = new Map(known?.nodes)
  for (const name of removed) nodesByName.delete(name)
  for (const [name, group, state, gpus, holders, slowdown, isDiskFull] of nodes) {
    nodesByName.set(name, {
      ...{ name, state, gpus, slowdown, isDiskFull },
      group: groups[group]!,
      holders: holders.map(([owner, number, holderState]) => {
        const { id } = owners[owner]!
        return { owner: id, id: number === null ? id : `${id}-${number}`, state: states[holderState]! }
      }),
    })
  }
  return { revision, totals, groups, waiting, waitingCount, owners: ownersById, nodes: nodesByName }
}

/** A group of equal nodes in a zone. */
export interface FleetSection {
  readonly zone: string
  readonly pool: string
  readonly market: string
  readonly gpu: string
  /** GPUs of each node. */
  readonly gpus: number
  readonly nodes: readonly FleetNode[]
  /** Why its GPUs cannot be used; null if they can. */
  readonly unavailable: FleetGroup['unavailable']
}

const collator = new Intl.Collator('en', { numeric: true })

/** Returns what tells a group from others, in the order in which groups are shown. */
export function keyOf({ zone, gpu, gpus, pool, market }: Omit<FleetGroup, 'unavailable'>): string {
  return [zone, gpu, gpus, pool, market].join('\n')
}

/** Returns the nodes by zone, GPU type and pool, each in the order of their names. */
export function toSections({ nodes, groups }: Fleet): FleetSection[] {
  const unavailable = new Map(groups.map(group => [keyOf(group), group.unavailable]))
  const byKey = new Map<string, FleetNode[]>()
  for (const node of nodes.values()) {
    const key = keyOf(node.group)
    const list = byKey.get(key)
    if (list === undefined) byKey.set(key, [node])
    else list.push(node)
  }
  return [...byKey]
    .sort(([a], [b]) => collator.compare(a, b))
    .map(([key, list]) => ({
      ...list[0]!.group,
      unavailable: unavailable.get(key) ?? null,
      nodes: list.sort((a, b) => collator.compare(a.name, b.name)),
    }))
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
