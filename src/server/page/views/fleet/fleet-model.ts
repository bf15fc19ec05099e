/** The fleet as the page draws it. */
import { formatSpeed } from '../../../../lib/text/numbers.ts'
import { plural } from '../../parts/format.ts'
import type { AnswersByRoute } from '../../store/ask.ts'

type FleetAnswer = AnswersByRoute['GET /_sim/fleet']
export type FleetGroup = FleetAnswer['groups'][number]
type Owner = FleetAnswer['owners'][number]

/** In the list of a node's GPUs: a free GPU, one of another customer, and a broken one. */
export const GPU_CODES = { free: -1, others: -2, broken: -3 } as const

/** A deployment or container that holds GPUs, with its place among the owners: its colour and its letters follow. */
interface FleetOwner extends Owner {
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
type FleetSection = FleetGroup & { readonly nodes: readonly FleetNode[] }

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

/** Counts the GPUs of nodes as the totals of the fleet do: a free GPU takes an instance now. */
export function countGpus(nodes: Iterable<FleetNode>) {
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

const STATE_WORDS: Readonly<Record<FleetNode['state'], string>> = {
  provisioning: 'being provisioned',
  ready: 'ready',
  cordoned: 'cordoned: takes nothing new',
  draining: 'draining: what runs moves elsewhere',
  down: 'down',
  gone: 'gone',
}

/** Returns the state of a node, with what is wrong with it: `ready, 2 times slower`. */
export function describeState({ state, slowdown, disk_full }: FleetNode): string {
  return [STATE_WORDS[state], slowdown === 1 ? '' : `${slowdown} times slower`, disk_full ? 'its disk is full' : '']
    .filter(Boolean)
    .join(', ')
}

/** Returns what a node is: `h100-0: ready, 3 of 8 GPUs held, 4 free, 1 unusable`. */
export function describeNode(node: FleetNode): string {
  const { gpus, held, free, others, unusable } = countGpus([node])
  const counts = [
    `${held} of ${plural(gpus, 'GPU')} held`,
    `${free} free`,
    others > 0 ? `${others} of other customers` : '',
    unusable > 0 ? `${unusable} unusable` : '',
  ]
  return `${node.name}: ${describeState(node)}, ${counts.filter(Boolean).join(', ')}`
}

/** Returns what a GPU does: `GPU 3: acme/chat, instance 2cZ…-0, ready, load 41 %`. */
export function describeGpu({ owners }: Fleet, node: FleetNode, gpu: number): string {
  const code = node.gpus[gpu]!
  if (code === GPU_CODES.broken) return `GPU ${gpu}: broken`
  if (code === GPU_CODES.others) return `GPU ${gpu}: held by another customer`
  const holder = node.holders[code]
  if (holder === undefined) return `GPU ${gpu}: ${node.state === 'ready' ? 'free' : 'unusable'}`
  const { name = '', kind = 'container', utilisation = null, engine = null } = owners.get(holder.owner) ?? {}
  const what = kind === 'deployment' ? `instance ${holder.id}` : `container ${holder.id}`
  const load = utilisation === null ? '' : `, load ${Math.round(utilisation * 100)} %`
  const speed = engine === null ? '' : `, at most ${formatSpeed(engine)}`
  return `GPU ${gpu}: ${name}, ${what}, ${holder.state}${load}${speed}`
}

/** Why a pool gives no GPU. */
export const UNAVAILABLE_WORDS: Readonly<Record<NonNullable<FleetGroup['unavailable']>['cause'], string>> = {
  stock_out: 'out of stock: gives no GPU',
  zone_down: 'zone down',
  spot_away: 'no spot nodes',
}

/** Sizes of a GPU in pixels, from the most comfortable to the smallest. */
const CELLS = [30, 26, 22, 18, 14, 11, 9] as const
/** From this size on, a node has its name above its GPUs. */
const NAMED_CELL = 18
/** A place with fewer pixels beside each other is narrow. */
const NARROW = 600
const ZONE_HEIGHT = 30
const SECTION_HEIGHT = 22
const SECTION_GAP = 10
const SECTIONS_APART = 24
/** So that the title of a section has room. */
const MIN_SECTION_WIDTH = 250

interface Place {
  readonly x: number
  readonly y: number
  width: number
}

/** The title of a zone with its sections, or of a section alone. */
export interface Title extends Place {
  readonly kind: 'zone' | 'section'
  readonly sections: readonly FleetSection[]
}

/** A node in the drawing. */
interface NodeBox extends Place {
  readonly node: FleetNode
  readonly height: number
  /** GPUs beside each other. */
  readonly columns: number
}

export type FleetLayout = ReturnType<typeof layoutWith>

/** A node under a place, with the number of the GPU there. */
export interface Hit {
  readonly node: FleetNode
  readonly gpu: number | undefined
}

/** Returns the layout with the largest GPUs that fit into a place, or with the smallest ones, which then scroll. */
export function layoutFleet(sections: readonly FleetSection[], width: number, height: number): FleetLayout {
  for (const cell of CELLS) {
    const layout = layoutWith(sections, width, cell)
    // On a narrow screen, a fleet with names that scrolls a little is better than one without.
    const room = width < NARROW && cell === NAMED_CELL ? 4 * height : height
    if (layout.height <= room || cell === CELLS.at(-1)) return layout
  }
  throw new Error('unreachable')
}

function layoutWith(sections: readonly FleetSection[], width: number, cell: number) {
  const isNamed = cell >= NAMED_CELL
  // The space around the GPUs within a node and between nodes, and the height of names; 0 if there is no room for them.
  const [padding, gap, nameHeight] = isNamed ? [6, 8, 18] : [2, 4, 0]
  const titles: Title[] = []
  const boxes: NodeBox[] = []
  // Sections stand beside each other as long as they fit: the end of the last one, and the lowest end of all of them.
  let [x, y, bottom] = [0, 0, 0]
  for (const [index, section] of sections.entries()) {
    if (section.zone !== sections[index - 1]?.zone) {
      ;[x, y] = [0, bottom]
      titles.push({ kind: 'zone', x, y, width, sections: sections.filter(({ zone }) => zone === section.zone) })
      y += ZONE_HEIGHT
    }
    const { nodes, gpus } = section
    const columns = gpus <= 4 ? gpus : Math.ceil(gpus / 2)
    const size = {
      width: columns * cell + 2 * padding,
      height: Math.ceil(gpus / columns) * cell + 2 * padding + nameHeight,
    }
    const pitch = size.width + gap
    const perRow = Math.max(1, Math.floor((width + gap) / pitch))
    const used = Math.max(Math.min(perRow, nodes.length) * pitch - gap, MIN_SECTION_WIDTH)
    if (x > 0 && (x + used > width || nodes.length > perRow)) [x, y] = [0, bottom]
    // The title of the last section of a row has the rest of it. The next section of the row takes that back.
    const before = titles.findLast(({ kind }) => kind === 'section')
    if (before?.y === y) before.width = x - SECTIONS_APART - before.x
    titles.push({ kind: 'section', x, y, width: Math.max(used, width - x), sections: [section] })
    const topOf = (row: number) => y + SECTION_HEIGHT + row * (size.height + gap)
    for (const [place, node] of nodes.entries()) {
      boxes.push({ node, columns, ...size, x: x + (place % perRow) * pitch, y: topOf(Math.floor(place / perRow)) })
    }
    bottom = Math.max(bottom, topOf(Math.ceil(nodes.length / perRow)) + SECTION_GAP)
    x += used + SECTIONS_APART
  }
  return { ...{ cell, padding, nameHeight, titles, boxes }, height: bottom }
}

/** Returns the node at a place. */
export function findAt({ boxes, cell, padding, nameHeight }: FleetLayout, x: number, y: number): Hit | undefined {
  const box = boxes.find(one => y >= one.y && y < one.y + one.height && x >= one.x && x < one.x + one.width)
  if (box === undefined) return undefined
  const { node, columns } = box
  const column = Math.floor((x - box.x - padding) / cell)
  const row = Math.floor((y - box.y - nameHeight - padding) / cell)
  const gpu = row * columns + column
  const isGpu = column >= 0 && column < columns && row >= 0 && gpu < node.gpus.length
  return { node, gpu: isGpu ? gpu : undefined }
}

export type Direction = 'left' | 'right' | 'up' | 'down'

/** Returns the index of the node that lies in a direction of another one; that one itself at the edge. */
export function neighborOf({ boxes }: FleetLayout, index: number, direction: Direction): number {
  if (direction === 'left') return Math.max(0, index - 1)
  if (direction === 'right') return Math.min(boxes.length - 1, index + 1)
  const from = boxes[index]!
  let [nearest, least] = [index, Number.POSITIVE_INFINITY]
  for (const [other, { x, y }] of boxes.entries()) {
    if (direction === 'down' ? y <= from.y : y >= from.y) continue
    // The nearest row first, and in it the nearest node.
    const distance = Math.abs(y - from.y) * 10_000 + Math.abs(x - from.x)
    if (distance < least) [nearest, least] = [other, distance]
  }
  return nearest
}
