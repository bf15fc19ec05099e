import { useSignal } from '@preact/signals'
import { formatMicrocents, plural } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import type { MoneyOwner } from './money-chart.ts'

const HOURS = 24
/** The range goes at least so far. */
const LEAST_MAX = 4
const MOST_MAX = 32

/** What a deployment costs a day while it is idle, by its least number of instances. */
export function IdleCost({ owners }: { owners: readonly MoneyOwner[] }) {
  const chosenId = useSignal<string | undefined>(undefined)
  const chosenCount = useSignal<{ id: string; count: number } | undefined>(undefined)
  const deployments = owners.filter(owner => owner.instance !== null)
  const shown = deployments.find(({ id }) => id === chosenId.value) ?? deployments[0]
  if (shown === undefined) return null
  const { id, name } = shown
  const { microcents_per_hour: price, gpus, min_instances: least, max_instances: most } = shown.instance!
  const max = Math.min(MOST_MAX, Math.max(LEAST_MAX, most, least))
  const count = chosenCount.value?.id === id ? chosenCount.value.count : least
  const perHour = formatMicrocents(price)
  return (
    <Panel title="Cost of idle instances">
      <div class="fields">
        <label>
          Deployment
          <select
            value={id}
            onChange={event => {
              chosenId.value = event.currentTarget.value
            }}
          >
            {deployments.map(one => (
              <option key={one.id} value={one.id}>
                {one.name || one.id}
              </option>
            ))}
          </select>
        </label>
        <label>
          min_instances: {count} {count === least && '(as now)'}
          <input
            type="range"
            data-arrow-keys
            min={0}
            max={max}
            value={count}
            onInput={event => {
              chosenCount.value = { id, count: event.currentTarget.valueAsNumber }
            }}
          />
        </label>
      </div>
      <p>
        Idle, {name || id} costs <strong data-figure="idle">{formatMicrocents(count * price * HOURS)}</strong> a day:{' '}
        {plural(count, 'instance')} × {perHour} per hour × {HOURS} hours.
        {count === 0 && ' Its next request waits until an instance has started.'}
      </p>
      <p class="faint">
        An instance has {plural(gpus, 'GPU')}. Instances under load and changes of the price are left out.
      </p>
    </Panel>
  )
}
