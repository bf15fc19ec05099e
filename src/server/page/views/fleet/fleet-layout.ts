/** Where each node and each GPU of the fleet is drawn. Pixels are those of the whole drawing, from its top left. */
import type { FleetNode, FleetSection } from './fleet-model.ts'

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
