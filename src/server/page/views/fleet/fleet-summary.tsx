import { useMemo } from 'preact/hooks'
import { groupBy } from '../../../../lib/lists.ts'
import { formatCount, formatDay, formatDuration, formatTime, plural, secondsBetween } from '../../parts/format.ts'
import { Table, WindowedList } from '../../parts/lists.tsx'
import { Panel } from '../../parts/panel.tsx'
import { ThingLink } from '../../parts/words.tsx'
import { useSession } from '../../store/session.ts'
import type { Coloring } from './fleet-map.tsx'
import { colorOf, countGpus, type Fleet, type FleetGroup, keyOf, lettersOf, UNAVAILABLE_WORDS } from './fleet-model.ts'

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
  const { place } = useSession()
  const types = useMemo(() => byType(fleet), [fleet])
  const owners = useMemo(() => countByOwner(fleet), [fleet])
  return (
    <>
      <Panel title="Owners">
        {owners.length === 0 ? (
          <p class="faint">You hold no GPU.</p>
        ) : (
          <WindowedList
            items={owners}
            rowHeight={OWNER_ROW}
            visibleRows={VISIBLE_OWNERS}
            label={`Owners, ${plural(owners.length, 'row')}`}
            row={({ owner: { id, name, index, status, utilisation }, gpus }) => (
              <button
                key={id}
                type="button"
                class="owner"
                style={{ height: `${OWNER_ROW}px` }}
                onClick={() => place.go({ id })}
                onPointerEnter={() => onHover(id)}
                onPointerLeave={() => onHover(undefined)}
                onFocus={() => onHover(id)}
                onBlur={() => onHover(undefined)}
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
            )}
          />
        )}
      </Panel>
      <Waiting fleet={fleet} />
      <Panel title="By GPU type">
        <Table
          class="tight"
          titles={['Type', 'Held', 'Free', 'Others', 'Unusable']}
          hints={{ Others: 'Of other customers' }}
          rows={types.map(([type, { held, free, others, unusable }]) => {
            const figures = [held, free, others, unusable].map((count, column) => (
              <span key={column} class={count === 0 ? 'faint' : column === 3 ? 'bad' : ''}>
                {formatCount(count)}
              </span>
            ))
            return { key: type, cells: [type, ...figures] }
          })}
        />
      </Panel>
      <Pools groups={fleet.groups} />
      <Legend coloring={coloring} />
    </>
  )
}

/** What the marks on the map mean, for each colouring. */
const LEGENDS: Readonly<Record<Coloring, Readonly<Record<string, string>>>> = {
  owner: { A: 'held: the letter is that of its owner', '▨': 'held, not ready yet' },
  load: { '▄': 'load of its owner, in percent if there is room', '▢': 'held without a load' },
  health: { '✓': 'held and ready', '…': 'held, not ready yet', '▁': 'free, usable' },
}

function Legend({ coloring }: { coloring: Coloring }) {
  const marks = {
    ...LEGENDS[coloring],
    ...{ '·': 'of another customer', '✗': 'unusable: a broken GPU, or a node that is down' },
    ...{ '⊘': 'hatched: cordoned or draining', '÷2': 'two times slower', '▤': 'its disk is full' },
    '+': 'dashed: being provisioned',
  }
  return (
    <Panel title="Marks on the map">
      <dl class="marks">
        {Object.entries(marks).map(([mark, words]) => (
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
  const types = groupBy(nodes.values(), node => node.group.gpu)
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

/** The most pools that are listed. Those that give no GPU come first. */
const MAX_POOLS = 30

/** The deployments that wait for GPUs, the longest wait first. */
function Waiting({ fleet: { waiting, waiting_count } }: { fleet: Fleet }) {
  if (waiting_count === 0) return null
  return (
    <Panel title="Waiting for GPUs">
      <ul class="plain">
        {waiting.map(({ id, name, gpu, gpus, instances, since, sentence }) => (
          <li key={id} class="rule" data-waiting={id}>
            <ThingLink id={id} text={name} />
            <div>{sentence}</div>
            <div class="faint">
              {plural(instances, 'instance')} of {gpus} × {gpu}
              {since !== null && ', '}
              <Since time={since} />
            </div>
          </li>
        ))}
      </ul>
      {waiting_count > waiting.length && (
        <p class="faint">{formatCount(waiting_count - waiting.length)} more are not listed.</p>
      )}
    </Panel>
  )
}

/** The pools with what keeps them from giving GPUs. */
function Pools({ groups }: { groups: readonly FleetGroup[] }) {
  // Groups of a pool can differ in what they have, and say the same here.
  const byKey = new Map(groups.map(group => [keyOf(group), { key: keyOf(group), ...group }]))
  const order = [...byKey.values()].sort((a, b) => Number(a.unavailable === null) - Number(b.unavailable === null))
  return (
    <Panel title="Pools">
      <ul class="plain">
        {order.slice(0, MAX_POOLS).map(({ key, pool, zone, market, gpu, unavailable }) => (
          <li class="rule" key={key}>
            <span class="line">
              <span>{gpu}</span>
              {unavailable === null ? (
                <span class="faint">✓ in stock</span>
              ) : (
                <span class="bad">✗ {UNAVAILABLE_WORDS[unavailable.cause]}</span>
              )}
            </span>
            <div class="faint">
              {pool} · {zone}
              {market === 'spot' && ' · spot'}
              {unavailable?.since && ' · '}
              <Since time={unavailable?.since} />
              {unavailable?.until && `, until ${formatDay(unavailable.until)} ${formatTime(unavailable.until)}`}
            </div>
          </li>
        ))}
      </ul>
      {order.length > MAX_POOLS && <p class="faint">{formatCount(order.length - MAX_POOLS)} more are not listed.</p>}
    </Panel>
  )
}

/** A time, and how long ago it was: `since 00:30:00 (5 min)`. Nothing if it is unknown. */
function Since({ time }: { time: string | null | undefined }) {
  const now = useSession().clock.value?.now
  if (time == null) return null
  return (
    <>
      since <time dateTime={time}>{formatTime(time)}</time> (
      {formatDuration(Math.max(0, secondsBetween(time, now ?? time)))})
    </>
  )
}

/** The colour of an owner with its letters. */
function OwnerMark({ index }: { index: number }) {
  return (
    <span class="owner-mark" aria-hidden="true" style={{ background: `var(--${colorOf(index)})` }}>
      {lettersOf(index)}
    </span>
  )
}
