/** The fleet as the page draws it. */
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

/** How many GPUs of each kind there are. */
interface GpuCounts {
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
  const band = engine?.band == null ? '' : `, ${engine.class} engine ± ${Math.round(100 * engine.band)} %`
  return `GPU ${gpu}: ${name}, ${what}, ${holder.state}${load}${band}`
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

/** A part of the drawing: the title of a zone, the title of a section, or a row of nodes. */
export type Line = Box &
  (
    | { readonly kind: 'zone'; readonly sections: readonly FleetSection[] }
    | { readonly kind: 'section'; readonly section: FleetSection }
    | NodeRow
  )

interface Box {
  readonly x: number
  readonly y: number
  width: number
  readonly height: number
}

interface NodeRow {
  readonly kind: 'nodes'
  readonly nodes: readonly FleetNode[]
  readonly shape: NodeShape
  /** Index of its first node in the order of the drawing. */
  readonly first: number
}

/** The form of the nodes of a section. */
interface NodeShape {
  /** GPUs beside each other. */
  readonly columns: number
  readonly width: number
  readonly height: number
  /** From the left edge of a node to that of the next. */
  readonly pitch: number
}

export interface FleetLayout {
  readonly cell: number
  /** Space around the GPUs within a node. */
  readonly padding: number
  /** Height of the name of a node; 0 if there is no room for names. */
  readonly nameHeight: number
  readonly height: number
  readonly lines: readonly Line[]
  /** The nodes in the order of the drawing. */
  readonly nodes: readonly FleetNode[]
}

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

function layoutWith(sections: readonly FleetSection[], width: number, cell: number): FleetLayout {
  const isNamed = cell >= NAMED_CELL
  const [padding, gap, nameHeight] = isNamed ? [6, 8, 18] : [2, 4, 0]
  const lines: Line[] = []
  const nodes: FleetNode[] = []
  // Sections stand beside each other as long as they fit: the end of the last one, and the lowest end of all of them.
  let [x, y, bottom] = [0, 0, 0]
  for (const [index, section] of sections.entries()) {
    if (section.zone !== sections[index - 1]?.zone) {
      ;[x, y] = [0, bottom]
      const zone = sections.filter(({ zone: name }) => name === section.zone)
      lines.push({ kind: 'zone', x, y, width, height: ZONE_HEIGHT, sections: zone })
      y += ZONE_HEIGHT
    }
    const shape = shapeOf(section, cell, padding, gap, nameHeight)
    const perRow = Math.max(1, Math.floor((width + gap) / shape.pitch))
    const used = Math.max(Math.min(perRow, section.nodes.length) * shape.pitch - gap, MIN_SECTION_WIDTH)
    if (x > 0 && (x + used > width || section.nodes.length > perRow)) [x, y] = [0, bottom]
    // The title of the last section of a row has the rest of it. The next section of the row takes that back.
    const before = lines.findLast(line => line.kind === 'section')
    if (before?.y === y) before.width = x - SECTIONS_APART - before.x
    lines.push({ kind: 'section', x, y, width: Math.max(used, width - x), height: SECTION_HEIGHT, section })
    let rowTop = y + SECTION_HEIGHT
    for (let first = 0; first < section.nodes.length; first += perRow) {
      const row = section.nodes.slice(first, first + perRow)
      const box = { x, y: rowTop, width: row.length * shape.pitch, height: shape.height + gap }
      lines.push({ kind: 'nodes', ...box, nodes: row, shape, first: nodes.length })
      nodes.push(...row)
      rowTop += box.height
    }
    bottom = Math.max(bottom, rowTop + SECTION_GAP)
    x += used + SECTIONS_APART
  }
  return { ...{ cell, padding, nameHeight, lines, nodes }, height: bottom }
}

function shapeOf({ gpus }: FleetSection, cell: number, padding: number, gap: number, nameHeight: number): NodeShape {
  const columns = gpus <= 4 ? gpus : Math.ceil(gpus / 2)
  const width = columns * cell + 2 * padding
  return {
    ...{ columns, width },
    height: Math.ceil(gpus / columns) * cell + 2 * padding + nameHeight,
    pitch: width + gap,
  }
}

/** Returns the node at a place. */
export function findAt({ lines, cell, padding, nameHeight }: FleetLayout, x: number, y: number): Hit | undefined {
  const row = lines.find(
    line => y >= line.y && y < line.y + line.height && x >= line.x && x < line.x + line.width && line.kind === 'nodes',
  )
  if (row?.kind !== 'nodes') return undefined
  const { shape } = row
  const column = Math.floor((x - row.x) / shape.pitch)
  const node = row.nodes[column]
  const inner = x - row.x - column * shape.pitch
  if (node === undefined || inner >= shape.width || y >= row.y + shape.height) return undefined
  const gpuColumn = Math.floor((inner - padding) / cell)
  const gpuRow = Math.floor((y - row.y - nameHeight - padding) / cell)
  const gpu = gpuRow * shape.columns + gpuColumn
  const isGpu = gpuColumn >= 0 && gpuColumn < shape.columns && gpuRow >= 0 && gpu < node.gpus.length
  return { node, gpu: isGpu ? gpu : undefined }
}

export type Direction = 'left' | 'right' | 'up' | 'down'

/** Returns the index of the node that lies in a direction of another one; that one itself at the edge. */
export function neighborOf(layout: FleetLayout, index: number, direction: Direction): number {
  if (direction === 'left') return Math.max(0, index - 1)
  if (direction === 'right') return Math.min(layout.nodes.length - 1, index + 1)
  const from = boxOf(layout, index)
  if (from === undefined) return index
  let best: { readonly index: number; readonly distance: number } | undefined
  for (const row of layout.lines) {
    if (row.kind !== 'nodes' || (direction === 'down' ? row.y <= from.y : row.y >= from.y)) continue
    const column = Math.max(0, Math.min(row.nodes.length - 1, Math.round((from.x - row.x) / row.shape.pitch)))
    // The nearest line of rows first, and in it the nearest node.
    const distance = Math.abs(row.y - from.y) * 10_000 + Math.abs(row.x + column * row.shape.pitch - from.x)
    if (best === undefined || distance < best.distance) best = { index: row.first + column, distance }
  }
  return best?.index ?? index
}

/** Returns where a node is drawn. */
export function boxOf({ lines }: FleetLayout, index: number): Box | undefined {
  for (const line of lines) {
    if (line.kind !== 'nodes' || index < line.first || index >= line.first + line.nodes.length) continue
    const { width, height, pitch } = line.shape
    return { x: line.x + (index - line.first) * pitch, y: line.y, width, height }
  }
  return undefined
}
