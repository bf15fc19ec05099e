import { plural } from '../../parts/format.ts'
import { WindowedList } from '../../parts/lists/windowed-list.tsx'
import { countGpus, type FleetNode } from './fleet-model.ts'
import { describeState } from './fleet-words.ts'

interface FleetTableProps {
  readonly nodes: readonly FleetNode[]
  readonly selected: string | undefined
  readonly onChoose: (name: string) => void
}

/** The nodes as rows of words and figures. */
export function FleetTable({ nodes, selected, onChoose }: FleetTableProps) {
  return (
    <div class="fleet-table">
      <div class="fleet-row head" aria-hidden="true">
        <span>Node</span>
        <span>State</span>
        <span>Zone</span>
        <span>GPU</span>
        <span class="number">Held</span>
        <span class="number">Free</span>
        <span class="number">Others</span>
        <span class="number">Unusable</span>
      </div>
      <WindowedList
        items={nodes}
        rowHeight={30}
        label={`Nodes, ${plural(nodes.length, 'row')}`}
        shown={selected === undefined ? undefined : nodes.findIndex(({ name }) => name === selected)}
        row={node => <Row key={node.name} node={node} isSelected={node.name === selected} onChoose={onChoose} />}
      />
    </div>
  )
}

interface RowProps {
  readonly node: FleetNode
  readonly isSelected: boolean
  readonly onChoose: (name: string) => void
}

function Row({ node, isSelected, onChoose }: RowProps) {
  const { held, free, others, unusable } = countGpus([node])
  const { zone, gpu, gpus } = node.group
  return (
    <div class={`fleet-row${isSelected ? ' selected' : ''}`}>
      <button type="button" class="link-button mono" onClick={() => onChoose(node.name)}>
        {node.name}
      </button>
      <span class={node.state === 'ready' ? '' : 'warn'}>{describeState(node)}</span>
      <span>{zone}</span>
      <span>
        {gpus} × {gpu}
      </span>
      <Figure count={held} what="held" />
      <Figure count={free} what="free" />
      <Figure count={others} what="others" />
      <Figure count={unusable} what="unusable" />
    </div>
  )
}

function Figure({ count, what }: { count: number; what: string }) {
  return (
    <span class={`number${count === 0 ? ' faint' : ''}`}>
      {count}
      <span class="hidden"> {what}</span>
    </span>
  )
}
