import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { Address } from '../../parts/address.tsx'
import { Choice } from '../../parts/choice.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { Problem } from '../../parts/panel.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { COLORINGS, type Coloring } from './fleet-drawing.ts'
import { FleetMap } from './fleet-map.tsx'
import { type Fleet, type FleetNode, toFleet } from './fleet-model.ts'
import { FleetSummary } from './fleet-summary.tsx'
import { FleetTable } from './fleet-table.tsx'
import { NodePanel } from './node-panel.tsx'

const COLORING_TITLES: Readonly<Record<Coloring, string>> = { owner: 'Owner', load: 'Load', health: 'Health' }

/** The nodes of the fleet, and who holds each GPU. */
export function FleetView() {
  const session = useSession()
  const { value: answer, error } = useAnswer('GET /_sim/fleet', {})
  const places = useRef(new Map<string, number>())
  const fleet = useMemo(() => answer && toFleet(answer, places.current), [answer])
  const { place } = session
  const { by, as, node: selected, gpu: gpuText } = place.value
  const owner = useSignal<string | undefined>(undefined)
  const coloring = COLORINGS.find(name => name === by) ?? 'owner'
  const node = selected === undefined ? undefined : fleet?.nodes.get(selected)
  const gpu = gpuText === undefined ? undefined : Number(gpuText)
  const choose = (chosen: FleetNode, chosenGpu: number | undefined) => {
    const holder = chosenGpu === undefined ? undefined : chosen.holders[chosen.gpus[chosenGpu]!]
    place.go({
      node: chosen.name,
      gpu: chosenGpu === undefined ? undefined : String(chosenGpu),
      ...(holder !== undefined && { id: holder.id }),
    })
  }
  const table = useMemo(() => fleet && [...fleet.nodes.values()], [fleet])
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
          options={COLORINGS.map(value => ({ value, title: COLORING_TITLES[value] }))}
          value={coloring}
          onChange={value => place.go({ by: value === 'owner' ? undefined : value }, 'replace')}
        />
        <Choice
          label="Show"
          options={[
            { value: 'map', title: 'Map' },
            { value: 'table', title: 'Table' },
          ]}
          value={as === 'table' ? 'table' : 'map'}
          onChange={value => place.go({ as: value === 'table' ? value : undefined }, 'replace')}
        />
        <Address route="GET /_sim/fleet" />
      </div>
      <Problem text={error} />
      {fleet !== undefined && (
        <div class="fleet-body">
          {as === 'table' ? (
            <FleetTable nodes={table!} selected={selected} onChoose={name => place.go({ node: name })} />
          ) : (
            <FleetMap {...{ fleet, coloring, selected }} owner={owner.value} onChoose={choose} />
          )}
          <aside class="fleet-aside" aria-label="Owners and types">
            {node !== undefined && (
              <NodePanel
                {...{ fleet, node, gpu }}
                onChooseGpu={chosen => choose(node, chosen)}
                onClose={() => place.go({ node: undefined, gpu: undefined })}
              />
            )}
            <FleetSummary
              fleet={fleet}
              coloring={coloring}
              onHover={id => {
                owner.value = id
              }}
            />
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
