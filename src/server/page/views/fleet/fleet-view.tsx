import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { Choice } from '../../parts/buttons.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { set } from '../../parts/hooks.ts'
import { Address, Problem } from '../../parts/panel.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { COLORINGS, FleetMap } from './fleet-map.tsx'
import { type Fleet, type FleetNode, toFleet } from './fleet-model.ts'
import { FleetSummary } from './fleet-summary.tsx'

const COLORING_TITLES = { owner: 'Owner', load: 'Load', health: 'Health' } as const

/** The nodes of the fleet, and who holds each GPU. */
export function FleetView() {
  const session = useSession()
  const { value: answer, error } = useAnswer('GET /_sim/fleet', {})
  const places = useRef(new Map<string, number>())
  const fleet = useMemo(() => answer && toFleet(answer, places.current), [answer])
  const { place } = session
  const { by, id: selected } = place.value
  const owner = useSignal<string | undefined>(undefined)
  const coloring = COLORINGS.find(name => name === by) ?? 'owner'
  const inspect = ({ name, gpus, holders }: FleetNode, gpu: number | undefined) =>
    place.go({ id: (gpu === undefined ? undefined : holders[gpus[gpu]!])?.id ?? name })
  return (
    <div class="fleet">
      <div class="toolbar">
        {fleet !== undefined && <Totals fleet={fleet} />}
        {fleet !== undefined && fleet.waiting_count > 0 && (
          <p class="warn">‖ {plural(fleet.waiting_count, 'deployment')} waiting for GPUs</p>
        )}
        <span class="space" />
        <Choice
          label="Colour"
          options={COLORING_TITLES}
          value={coloring}
          onChange={value => place.go({ by: value === 'owner' ? undefined : value }, 'replace')}
        />
        <Address route="GET /_sim/fleet" />
      </div>
      <Problem text={error} />
      {fleet === undefined && error === undefined && <p class="empty">Reading the fleet …</p>}
      {fleet !== undefined && (
        <div class="fleet-body">
          <FleetMap {...{ fleet, coloring, selected }} owner={owner.value} onChoose={inspect} />
          <aside class="fleet-aside" aria-label="Owners and types">
            <FleetSummary fleet={fleet} coloring={coloring} onHover={id => set(owner, id)} />
          </aside>
        </div>
      )}
    </div>
  )
}

function Totals({ fleet: { totals } }: { fleet: Fleet }) {
  const { nodes, gpus, held, free, others, unusable } = totals
  return (
    <p class="totals">
      <b>{formatCount(nodes)}</b> {nodes === 1 ? 'node' : 'nodes'} · <b>{formatCount(gpus)}</b>{' '}
      {gpus === 1 ? 'GPU' : 'GPUs'}: <b>{formatCount(held)}</b> held, <b>{formatCount(free)}</b> free,{' '}
      <b>{formatCount(others)}</b> of other customers,{' '}
      <span class={unusable > 0 ? 'bad' : ''}>
        <b>{formatCount(unusable)}</b> unusable
      </span>
    </p>
  )
}
