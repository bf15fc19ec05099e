import { formatCount, formatMicrocents, plural } from '../../parts/format.ts'
import { WindowedList } from '../../parts/lists/windowed-list.tsx'
import { Panel } from '../../parts/panel.tsx'
import { ThingLink } from '../../parts/thing-link.tsx'
import type { Money, MoneyOwner } from './money-chart.ts'

const ROW = 32
/** How many rows are visible without scrolling. */
const VISIBLE_ROWS = 12

type Usage = NonNullable<Money['usage']>

interface OwnerRowsProps {
  readonly owners: readonly MoneyOwner[]
  readonly usage: Usage | undefined
}

/** What each owner costs, and what of its GPU-hours was not used. */
export function OwnerRows({ owners, usage }: OwnerRowsProps) {
  const byId = new Map(usage?.deployments.map(one => [one.id, one]))
  const most = Math.max(1, ...owners.map(owner => owner.burn_microcents_per_hour))
  return (
    <Panel title="By owner">
      <div class="money-row head" aria-hidden="true">
        <span>Owner</span>
        <span>Kind</span>
        <span class="number">GPUs</span>
        <span class="number">Burn per hour</span>
        <span class="number">Spent</span>
        <span class="number">GPU-hours held</span>
        <span class="number">GPU-hours wasted</span>
      </div>
      {owners.length === 0 && <p class="empty">Nothing has cost anything yet.</p>}
      <div style={{ height: `${Math.min(owners.length, VISIBLE_ROWS) * ROW}px` }}>
        <WindowedList
          items={owners}
          rowHeight={ROW}
          label={`Owners, ${plural(owners.length, 'row')}`}
          row={owner => <OwnerRow key={owner.id} owner={owner} usage={byId.get(owner.id)} most={most} />}
        />
      </div>
      {usage !== undefined && (
        <p class="money-row total">
          <strong>All deployments</strong>
          <span />
          <span />
          <span />
          <span />
          <span class="number" data-figure="held">
            {formatHours(usage.held_gpu_hours)}
          </span>
          <Wasted usage={usage} />
        </p>
      )}
    </Panel>
  )
}

interface OwnerRowProps {
  readonly owner: MoneyOwner
  readonly usage: Usage['deployments'][number] | undefined
  /** The highest burn of all owners, in micro-cents per hour. */
  readonly most: number
}

function OwnerRow({ owner, usage, most }: OwnerRowProps) {
  const { id, kind, name, gpus, burn_microcents_per_hour: burn, spent_microcents: spent } = owner
  return (
    <div class="money-row" data-owner={id}>
      <span>
        <ThingLink id={id} text={name === '' ? id : name} />
      </span>
      <span class="faint">{kind}</span>
      <span class={`number${gpus === 0 ? ' faint' : ''}`}>
        {formatCount(gpus)}
        <span class="hidden"> {gpus === 1 ? 'GPU' : 'GPUs'}</span>
      </span>
      <span class={`number burn${burn === 0 ? ' faint' : ''}`}>
        <span class="burn-bar" style={{ width: `${(burn / most) * 100}%` }} />
        <span class="burn-figure">
          {formatMicrocents(burn)}
          <span class="hidden"> per hour</span>
        </span>
      </span>
      <span class="number">
        {formatMicrocents(spent)}
        <span class="hidden"> spent</span>
      </span>
      <span class="number">
        {usage === undefined ? '' : formatHours(usage.held_gpu_hours)}
        {usage !== undefined && <span class="hidden"> GPU-hours held</span>}
      </span>
      {usage === undefined ? <span /> : <Wasted usage={usage} />}
    </div>
  )
}

function formatHours(hours: number): string {
  return hours.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
}

function Wasted({ usage: { held_gpu_hours: held, wasted_gpu_hours: wasted } }: { usage: Omit<Usage, 'deployments'> }) {
  const share = held === 0 ? 0 : wasted / held
  return (
    <span class={`number${share > 0.5 ? ' warn' : ''}`} data-figure="wasted">
      {formatHours(wasted)}
      <span class="hidden"> wasted</span>
      {held > 0 && <span class="share"> {Math.round(share * 100)} %</span>}
    </span>
  )
}
