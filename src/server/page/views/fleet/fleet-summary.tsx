import { useMemo } from 'preact/hooks'
import { formatCount, plural } from '../../parts/format.ts'
import { WindowedList } from '../../parts/lists/windowed-list.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useSession } from '../../store/session.ts'
import type { Coloring } from './fleet-drawing.ts'
import { countGpus, type Fleet, type FleetNode, type FleetOwner } from './fleet-model.ts'
import { Pools, Waiting } from './fleet-waits.tsx'
import { OwnerMark } from './node-panel.tsx'

const OWNER_ROW = 44
/** How many owners are visible without scrolling. */
const VISIBLE_OWNERS = 7

interface FleetSummaryProps {
  readonly fleet: Fleet
  readonly coloring: Coloring
  /** The pointer or the focus is on an owner, or on none. */
  readonly onHover: (owner: string | undefined) => void
}

/** The owners with their letters on the map, who waits, the GPUs by type, and what the marks mean. */
export function FleetSummary({ fleet, coloring, onHover }: FleetSummaryProps) {
  const types = useMemo(() => byType(fleet), [fleet])
  const owners = useMemo(() => countByOwner(fleet), [fleet])
  return (
    <>
      <Panel title="Owners">
        {owners.length === 0 ? (
          <p class="faint">You hold no GPU.</p>
        ) : (
          <div style={{ height: `${Math.min(owners.length, VISIBLE_OWNERS) * OWNER_ROW}px` }}>
            <WindowedList
              items={owners}
              rowHeight={OWNER_ROW}
              label={`Owners, ${plural(owners.length, 'row')}`}
              row={({ owner, gpus }) => <OwnerRow key={owner.id} {...{ owner, gpus, onHover }} />}
            />
          </div>
        )}
      </Panel>
      <Waiting fleet={fleet} />
      <Panel title="By GPU type">
        <table class="tight">
          <thead>
            <tr>
              <th scope="col">Type</th>
              {['Held', 'Free', 'Others', 'Unusable'].map(title => (
                <th
                  key={title}
                  scope="col"
                  class="number"
                  title={title === 'Others' ? 'Of other customers' : undefined}
                >
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {types.map(([type, { held, free, others, unusable }]) => (
              <tr key={type}>
                <th scope="row">{type}</th>
                {[held, free, others, unusable].map((count, column) => (
                  <td key={column} class={`number${count === 0 ? ' faint' : column === 3 ? ' bad' : ''}`}>
                    {formatCount(count)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
      <Pools groups={fleet.groups} />
      <Legend coloring={coloring} />
    </>
  )
}

interface OwnerRowProps {
  readonly owner: FleetOwner
  readonly gpus: number
  readonly onHover: (owner: string | undefined) => void
}

function OwnerRow({ owner: { id, name, index, status, utilisation }, gpus, onHover }: OwnerRowProps) {
  const session = useSession()
  const enter = () => onHover(id)
  const leave = () => onHover(undefined)
  return (
    <button
      type="button"
      class="owner"
      style={{ height: `${OWNER_ROW}px` }}
      onClick={() => session.place.go({ id })}
      onPointerEnter={enter}
      onPointerLeave={leave}
      onFocus={enter}
      onBlur={leave}
    >
      <OwnerMark index={index} />
      <span class="owner-text">
        <span class="owner-name">{name === '' ? id : name}</span>
        <span class="faint">
          {plural(gpus, 'GPU')} · {status}
          {utilisation !== null && ` · load ${Math.round(utilisation * 100)} %`}
        </span>
      </span>
    </button>
  )
}

/** What the marks on the map mean, for each colouring. */
const LEGENDS: Readonly<Record<Coloring, readonly (readonly [mark: string, words: string])[]>> = {
  owner: [
    ['A', 'held: the letter is that of its owner'],
    ['▨', 'held, not ready yet'],
  ],
  load: [
    ['▄', 'load of its owner, in percent if there is room'],
    ['▢', 'held without a load'],
  ],
  health: [
    ['✓', 'held and ready'],
    ['…', 'held, not ready yet'],
    ['▁', 'free, usable'],
  ],
}

function Legend({ coloring }: { coloring: Coloring }) {
  const marks = [
    ...LEGENDS[coloring],
    ['·', 'of another customer'],
    ['✗', 'unusable: a broken GPU, or a node that is down'],
    ['⊘', 'hatched: cordoned or draining'],
    ['÷2', 'two times slower'],
    ['▤', 'its disk is full'],
    ['+', 'dashed: being provisioned'],
  ] as const
  return (
    <Panel title="Marks on the map">
      <dl class="marks">
        {marks.map(([mark, words]) => (
          <div key={words}>
            <dt aria-hidden="true">{mark}</dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

function byType({ nodes }: Fleet) {
  const types = new Map<string, FleetNode[]>()
  for (const node of nodes.values()) {
    const list = types.get(node.group.gpu)
    if (list === undefined) types.set(node.group.gpu, [node])
    else list.push(node)
  }
  return [...types].sort(([a], [b]) => (a < b ? -1 : 1)).map(([type, list]) => [type, countGpus(list)] as const)
}

/** Returns the owners that hold GPUs, those of the most GPUs first. */
function countByOwner({ nodes, owners }: Fleet) {
  const counts = new Map<string, number>()
  for (const { gpus, holders } of nodes.values()) {
    for (const code of gpus) {
      const owner = holders[code]?.owner
      if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1)
    }
  }
  return [...counts]
    .map(([id, gpus]) => ({ owner: owners.get(id)!, gpus }))
    .sort((a, b) => b.gpus - a.gpus || a.owner.index - b.owner.index)
}
