import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Brush, Canvas, roundBox } from '../../parts/canvas.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { clear, reveal, set, useSize } from '../../parts/hooks.ts'
import { Tip } from '../../parts/words.tsx'
import {
  colorOf,
  countGpus,
  type Direction,
  describeGpu,
  describeNode,
  type Fleet,
  type FleetLayout,
  type FleetNode,
  findAt,
  GPU_CODES,
  type Hit,
  layoutFleet,
  lettersOf,
  neighborOf,
  type Title,
  toSections,
  UNAVAILABLE_WORDS,
} from './fleet-model.ts'

interface FleetMapProps {
  readonly fleet: Fleet
  readonly coloring: Coloring
  /** Name of the selected node. */
  readonly selected: string | undefined
  /** The owner whose GPUs stand out. */
  readonly owner: string | undefined
  /** A node was chosen, by a click on it or on one of its GPUs. */
  readonly onChoose: (node: FleetNode, gpu: number | undefined) => void
}

const DIRECTIONS: Readonly<Record<string, Direction>> = {
  ...{ ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' },
}

/** The GPUs of all nodes on one canvas, of which the visible part is drawn. Arrow keys move a cursor over the nodes. */
export function FleetMap({ fleet, coloring, selected, owner, onChoose }: FleetMapProps) {
  const box = useRef<HTMLDivElement>(null)
  const { width, height } = useSize(box)
  const top = useSignal(0)
  const cursor = useSignal<string | undefined>(undefined)
  const pointer = useSignal<{ x: number; y: number; hit: Hit } | undefined>(undefined)
  const sections = useMemo(() => toSections(fleet), [fleet])
  const inner = width - 2
  const layout = useMemo(() => layoutFleet(sections, inner, height), [sections, inner, height])
  const { boxes } = layout
  const index = boxes.findIndex(({ node: { name } }) => name === (cursor.value ?? selected))
  const scene = { fleet, layout, coloring, top: top.value, cursor: cursor.value, selected, owner }
  useEffect(() => {
    const place = boxes[index]
    if (scene.cursor !== undefined && place !== undefined) reveal(box.current!, place.y - 8, place.y + place.height + 8)
  }, [scene.cursor])

  const atCursor = boxes[index]?.node
  const moveTo = (next: number) => set(cursor, boxes.at(next)?.node.name)
  const onKeyDown = (event: KeyboardEvent) => {
    const direction = DIRECTIONS[event.key]
    if (direction !== undefined) moveTo(index < 0 ? 0 : neighborOf(layout, index, direction))
    else if (event.key === 'Home') moveTo(0)
    else if (event.key === 'End') moveTo(-1)
    else if (event.key === 'Enter' || event.key === ' ') {
      if (atCursor !== undefined) onChoose(atCursor, undefined)
    } else return
    event.preventDefault()
    // The page has meanings of its own for these keys.
    event.stopPropagation()
  }
  const hitOf = (x: number, y: number) => findAt(layout, x, y + top.peek())
  const shown = pointer.value
  return (
    <div
      class="fleet-map"
      ref={box}
      onScroll={() => {
        top.value = box.current!.scrollTop
        pointer.value = undefined
      }}
    >
      <div style={{ height: `${Math.max(layout.height, height)}px` }}>
        <div class="fleet-window tip-place" style={{ height: `${height}px` }}>
          <Canvas brush={FleetBrush} scene={scene} height={height} label={`GPUs of ${plural(boxes.length, 'node')}`} />
          <div
            class={`fleet-pointer${shown === undefined ? '' : ' over'}`}
            role="listbox"
            data-arrow-keys
            tabIndex={0}
            aria-label="Nodes of the fleet"
            aria-activedescendant={atCursor === undefined ? undefined : 'fleet-cursor'}
            onKeyDown={onKeyDown}
            onFocus={() => index < 0 && moveTo(0)}
            onBlur={clear(cursor)}
            onPointerMove={({ offsetX: x, offsetY: y }) => {
              const hit = hitOf(x, y)
              pointer.value = hit && { x, y, hit }
            }}
            onPointerLeave={clear(pointer)}
            onClick={({ offsetX, offsetY }) => {
              const hit = hitOf(offsetX, offsetY)
              if (hit !== undefined) onChoose(hit.node, hit.gpu)
            }}
          >
            {atCursor !== undefined && (
              <span
                id="fleet-cursor"
                tabIndex={-1}
                class="hidden"
                role="option"
                aria-selected={atCursor.name === selected}
                aria-setsize={boxes.length}
                aria-posinset={index + 1}
              >
                {describeNode(atCursor)}
              </span>
            )}
          </div>
          {shown !== undefined && (
            <Tip x={shown.x} y={shown.y} width={inner}>
              <strong>{shown.hit.node.name}</strong>
              <div>{describeNode(shown.hit.node).slice(shown.hit.node.name.length + 2)}</div>
              {shown.hit.gpu !== undefined && <div>{describeGpu(fleet, shown.hit.node, shown.hit.gpu)}</div>}
            </Tip>
          )}
        </div>
      </div>
    </div>
  )
}

/** By what the GPUs are coloured. */
export const COLORINGS = ['owner', 'load', 'health'] as const
export type Coloring = (typeof COLORINGS)[number]

/** From this size on, a GPU has a letter or a figure in it. */
const LETTERED_CELL = 11
const FIGURED_CELL = 26

interface FleetScene extends Omit<FleetMapProps, 'onChoose'> {
  readonly layout: FleetLayout
  /** First visible pixel of the layout. */
  readonly top: number
  /** Name of the node under the cursor. */
  readonly cursor: string | undefined
}

class FleetBrush extends Brush<FleetScene> {
  /** Draws what is visible of the fleet. */
  draw(): void {
    const { top, layout } = this.scene
    const { titles, boxes, cell, padding, nameHeight } = layout
    this.context.translate(0, -top)
    for (const title of titles) this.#drawTitle(title)
    for (const { node, x, y, width, height, columns } of boxes) {
      if (y + height < top || y > top + this.height) continue
      this.#drawFrame(node, x, y, width, height)
      for (const [gpu, code] of node.gpus.entries()) {
        const [column, row] = [gpu % columns, Math.floor(gpu / columns)]
        this.#drawGpu(node, code, x + padding + column * cell, y + padding + nameHeight + row * cell)
      }
      if (node.state === 'down') this.cross(x + 3, y + nameHeight + 3, width - 6, height - nameHeight - 6)
    }
  }

  #drawTitle({ kind, x, y, width, sections }: Title): void {
    const { zone, gpu, gpus: ofNode, pool, market, nodes, unavailable } = sections[0]!
    if (kind === 'zone') {
      const all = sections.flatMap(section => section.nodes)
      const { gpus, held, free } = countGpus(all)
      this.setFont('600 14px', 'left', 'alphabetic')
      this.write(zone, 'text', 0, y + 18)
      const begin = this.widthOf(zone) + 12
      this.setFont('12px', 'left', 'alphabetic')
      const text = `${plural(all.length, 'node')} · ${formatCount(held)} of ${plural(gpus, 'GPU')} held · ${formatCount(free)} free`
      this.write(text, 'faint', begin, y + 18, Math.max(0, this.width - begin))
      this.fill('line', 0, y + 25, this.width, 1)
      return
    }
    this.setFont('12px', 'left', 'alphabetic')
    const warning = unavailable === null ? '' : ` · ✗ ${UNAVAILABLE_WORDS[unavailable.cause]}`
    const room = width - this.widthOf(warning)
    const spot = market === 'spot' ? ' · ⚡ spot' : ''
    // Without room, whole facts are left out rather than the middle of a word.
    const texts = [
      `${gpu} · ${plural(nodes.length, 'node')} of ${ofNode} · ${pool}${spot}`,
      `${gpu} · ${pool}${spot}`,
      gpu,
    ]
    const text = texts.find(one => this.widthOf(one) <= room) ?? this.shorten(gpu, room)
    this.write(text, 'faint', x, y + 15)
    this.write(warning, 'bad', x + this.widthOf(text), y + 15)
  }

  #drawFrame(node: FleetNode, x: number, y: number, width: number, height: number): void {
    const { cursor, selected, layout } = this.scene
    const { state, name, slowdown, disk_full } = node
    const isClosed = state === 'cordoned' || state === 'draining'
    const frame = roundBox(x + 0.5, y + 0.5, width - 1, height - 1, layout.nameHeight > 0 ? 5 : 2)
    this.fillShape('panel', frame)
    if (isClosed) this.fillShape(this.hatch('warn'), frame)
    const dash = state === 'provisioning' ? [3, 3] : []
    this.stroke(state === 'down' ? 'bad' : isClosed ? 'warn' : 'line', frame, 1, dash)
    if (name === selected || name === cursor) {
      this.stroke('accent', roundBox(x - 1, y - 1, width + 2, height + 2, 6), 2, name === selected ? [] : [4, 3])
    }
    if (layout.nameHeight === 0) return
    const marks = [
      state === 'down' ? '✗' : isClosed ? '⊘' : state === 'provisioning' ? '+' : '',
      slowdown === 1 ? '' : `÷${slowdown}`,
      disk_full ? '▤' : '',
    ]
    this.setFont('600 11px', 'right')
    const mark = marks.join('')
    this.write(mark, state === 'down' ? 'bad' : 'warn', x + width - 6, y + 13)
    const room = width - 12 - (mark === '' ? 0 : this.widthOf(mark) + 4)
    this.setFont('11px', 'left', 'middle', this.mono)
    this.write(this.shorten(name, room), state === 'ready' ? 'text' : 'faint', x + 6, y + 13)
  }

  #drawGpu(node: FleetNode, code: number, left: number, top: number): void {
    const context = this.context
    const { layout, coloring, fleet, owner } = this.scene
    const size = layout.cell - (layout.cell >= LETTERED_CELL ? 2 : 1)
    const holder = code >= 0 ? node.holders[code]! : undefined
    const held = holder === undefined ? undefined : fleet.owners.get(holder.owner)
    const square = (style: string | CanvasPattern) => this.fill(style, left, top, size, size)
    if (owner !== undefined && owner !== held?.id) context.globalAlpha = 0.3
    if (code === GPU_CODES.broken) {
      square('free')
      this.cross(left + size * 0.22, top + size * 0.22, size * 0.56, size * 0.56)
    } else if (code === GPU_CODES.others) {
      square('free')
      const dot = Math.max(2, Math.round(size / 7))
      this.fill('faint', left + (size - dot) / 2, top + (size - dot) / 2, dot, dot)
    } else if (holder === undefined || held === undefined) {
      square('free')
      if (coloring === 'health' && node.state === 'ready') this.fill('ok', left, top + size - 2, size, 2)
    } else if (coloring === 'owner') {
      square(colorOf(held.index))
      if (holder.state !== 'ready' && holder.state !== 'running') square(this.hatch('panel', 0.65))
      if (layout.cell >= LETTERED_CELL) this.#writeIn(lettersOf(held.index), 'on-owner', left, top, size)
    } else if (coloring === 'load') {
      square('free')
      const load = held.utilisation
      if (load !== null) {
        const filled = Math.round(size * Math.min(1, load))
        this.fill(load > 0.9 ? 'warn' : 'accent', left, top + size - filled, size, filled)
      }
      this.stroke('accent', roundBox(left + 0.5, top + 0.5, size - 1, size - 1, 0))
      if (layout.cell >= FIGURED_CELL) {
        const isDark = load !== null && load > 0.55
        this.#writeIn(load === null ? '–' : `${Math.round(load * 100)}`, isDark ? 'on-accent' : 'text', left, top, size)
      }
    } else {
      const isReady = holder.state === 'ready' || holder.state === 'running'
      square(isReady ? 'ok' : 'warn')
      if (layout.cell >= LETTERED_CELL) this.#writeIn(isReady ? '✓' : '…', 'on-accent', left, top, size)
    }
    context.globalAlpha = 1
  }

  #writeIn(text: string, color: string, left: number, top: number, size: number): void {
    this.setFont(`600 ${Math.min(13, Math.round(size * (text.length > 1 ? 0.44 : 0.58)))}px`, 'center')
    this.write(text, color, left + size / 2, top + size / 2 + 0.5, size)
  }
}
