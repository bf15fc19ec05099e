/** Where each node and each GPU of the fleet is drawn. Pixels are those of the whole drawing, from its top left. */
import type { FleetNode, FleetSection } from './fleet-model.ts'

/** Sizes of a GPU in pixels, from the most comfortable to the smallest. */
const CELLS = [30, 26, 22, 18, 14, 11, 9] as const
/** From this size on, a node has its name above its GPUs. */
const NAMED_CELL = 18
const ZONE_HEIGHT = 30
const SECTION_HEIGHT = 22
const SECTION_GAP = 12

/** A line of the drawing: the title of a zone, the title of a section, or a row of nodes. */
export type Line = { readonly y: number; readonly height: number } & (
  | { readonly kind: 'zone'; readonly sections: readonly FleetSection[] }
  | { readonly kind: 'section'; readonly section: FleetSection }
  | { readonly kind: 'nodes'; readonly nodes: readonly FleetNode[]; readonly shape: NodeShape; readonly first: number }
)

/** The form of the nodes of a section. */
export interface NodeShape {
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
    if (layout.height <= height || cell === CELLS.at(-1)) return layout
  }
  throw new Error('unreachable')
}

function layoutWith(sections: readonly FleetSection[], width: number, cell: number): FleetLayout {
  const isNamed = cell >= NAMED_CELL
  const [padding, gap, nameHeight] = isNamed ? [6, 10, 18] : [2, 4, 0]
  const lines: Line[] = []
  const nodes: FleetNode[] = []
  let y = 0
  const add = (line: Line) => {
    lines.push(line)
    y += line.height
  }
  for (const [index, section] of sections.entries()) {
    if (section.zone !== sections[index - 1]?.zone) {
      add({ kind: 'zone', y, height: ZONE_HEIGHT, sections: sections.filter(({ zone }) => zone === section.zone) })
    }
    add({ kind: 'section', y, height: SECTION_HEIGHT, section })
    const columns = section.gpus <= 4 ? section.gpus : Math.ceil(section.gpus / 2)
    const shape = {
      columns,
      width: columns * cell + 2 * padding,
      height: Math.ceil(section.gpus / columns) * cell + 2 * padding + nameHeight,
      pitch: columns * cell + 2 * padding + gap,
    }
    const perRow = Math.max(1, Math.floor((width + gap) / shape.pitch))
    for (let first = 0; first < section.nodes.length; first += perRow) {
      const row = section.nodes.slice(first, first + perRow)
      add({ kind: 'nodes', y, height: shape.height + gap, nodes: row, shape, first: nodes.length })
      nodes.push(...row)
    }
    y += SECTION_GAP
  }
  return { ...{ cell, padding, nameHeight, lines, nodes }, height: y }
}

/** Returns the node at a place. */
export function findAt({ lines, cell, padding, nameHeight }: FleetLayout, x: number, y: number): Hit | undefined {
  const line = lines.find(({ y: top, height }) => y >= top && y < top + height)
  if (line?.kind !== 'nodes') return undefined
  const { shape } = line
  const column = Math.floor(x / shape.pitch)
  const node = line.nodes[column]
  const inner = x - column * shape.pitch
  if (node === undefined || inner >= shape.width || y >= line.y + shape.height) return undefined
  const gpuColumn = Math.floor((inner - padding) / cell)
  const gpuRow = Math.floor((y - line.y - nameHeight - padding) / cell)
  const gpu = gpuRow * shape.columns + gpuColumn
  const isGpu = gpuColumn >= 0 && gpuColumn < shape.columns && gpuRow >= 0 && gpu < node.gpus.length
  return { node, gpu: isGpu ? gpu : undefined }
}

export type Direction = 'left' | 'right' | 'up' | 'down'

/** Returns the index of the node that lies in a direction of another one; that one itself at the edge. */
export function neighborOf({ lines, nodes }: FleetLayout, index: number, direction: Direction): number {
  if (direction === 'left') return Math.max(0, index - 1)
  if (direction === 'right') return Math.min(nodes.length - 1, index + 1)
  const rows = lines.filter(line => line.kind === 'nodes')
  const at = rows.findIndex(({ first, nodes: { length } }) => index >= first && index < first + length)
  const from = rows[at]
  const to = rows[at + (direction === 'up' ? -1 : 1)]
  if (from === undefined || to === undefined) return index
  const column = Math.round(((index - from.first) * from.shape.pitch) / to.shape.pitch)
  return to.first + Math.min(column, to.nodes.length - 1)
}

/** Returns where a node is drawn. */
export function boxOf({ lines }: FleetLayout, index: number) {
  for (const line of lines) {
    if (line.kind !== 'nodes' || index < line.first || index >= line.first + line.nodes.length) continue
    const { width, height, pitch } = line.shape
    return { x: (index - line.first) * pitch, y: line.y, width, height }
  }
  return undefined
}
