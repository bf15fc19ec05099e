import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks'
import { Canvas, type Drawing } from '../../parts/drawing/canvas.tsx'
import { plural } from '../../parts/format.ts'
import { Tip } from '../../parts/tip.tsx'
import { useSize } from '../../parts/use-size.ts'
import { type Coloring, drawFleet } from './fleet-drawing.ts'
import { boxOf, type Direction, findAt, type Hit, layoutFleet, neighborOf } from './fleet-layout.ts'
import { type Fleet, type FleetNode, toSections } from './fleet-model.ts'
import { describeGpu, describeNode } from './fleet-words.ts'

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
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
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
  const index = layout.nodes.findIndex(({ name }) => name === (cursor.value ?? selected))
  const [shownTop, shownCursor] = [top.value, cursor.value]
  const draw = useCallback(
    (drawing: Drawing) =>
      drawFleet(drawing, { fleet, layout, coloring, top: shownTop, cursor: shownCursor, selected, owner }),
    [fleet, layout, coloring, shownTop, shownCursor, selected, owner],
  )
  useEffect(() => {
    const place = boxOf(layout, index)
    const element = box.current
    if (shownCursor === undefined || place === undefined || element === null) return
    if (place.y < element.scrollTop) element.scrollTop = place.y - 8
    const bottom = place.y + place.height
    if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight + 8
  }, [shownCursor])

  const onKeyDown = (event: KeyboardEvent) => {
    const direction = DIRECTIONS[event.key]
    if (direction !== undefined) {
      const next = layout.nodes[index < 0 ? 0 : neighborOf(layout, index, direction)]
      cursor.value = next?.name
    } else if (event.key === 'Home') cursor.value = layout.nodes[0]?.name
    else if (event.key === 'End') cursor.value = layout.nodes.at(-1)?.name
    else if (event.key === 'Enter' || event.key === ' ') {
      const node = layout.nodes[index]
      if (node !== undefined) onChoose(node, undefined)
    } else return
    event.preventDefault()
    // The page has meanings of its own for these keys.
    event.stopPropagation()
  }
  const hitOf = (x: number, y: number) => findAt(layout, x, y + top.peek())
  const shown = pointer.value
  const atCursor = layout.nodes[index]
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
          <Canvas draw={draw} height={height} label={`GPUs of ${plural(layout.nodes.length, 'node')}`} />
          <div
            class={`fleet-pointer${shown === undefined ? '' : ' over'}`}
            role="listbox"
            data-arrow-keys
            tabIndex={0}
            aria-label="Nodes of the fleet"
            aria-activedescendant={atCursor === undefined ? undefined : 'fleet-cursor'}
            onKeyDown={onKeyDown}
            onFocus={() => {
              if (index < 0) cursor.value = layout.nodes[0]?.name
            }}
            onBlur={() => {
              cursor.value = undefined
            }}
            onPointerMove={({ offsetX: x, offsetY: y }) => {
              const hit = hitOf(x, y)
              pointer.value = hit && { x, y, hit }
            }}
            onPointerLeave={() => {
              pointer.value = undefined
            }}
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
                aria-setsize={layout.nodes.length}
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
