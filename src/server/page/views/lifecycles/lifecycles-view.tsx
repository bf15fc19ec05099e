import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { Button, Choice } from '../../parts/buttons.tsx'
import { FilterField, Select } from '../../parts/fields.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { clear, set } from '../../parts/hooks.ts'
import { Address, Problem } from '../../parts/panel.tsx'
import { type TimeRange, zoomed } from '../../parts/time-range.ts'
import { Glyph } from '../../parts/words.tsx'
import { DEFAULT_WORLD, useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { findIdleGaps, spanOf, TimeScale, windowOf } from './lane-places.ts'
import { Lanes } from './lanes.tsx'
import { beginOfAll, KIND_CHOICES, MAX_ROWS, type Mark, styleOfState, timesOf, toRows } from './lifecycle-model.ts'

/** States that stand for the styles, for the legend. */
const LEGEND = {
  ...{ running: 'works', starting: 'changing', stopped: 'idle or ended', failed: 'failed or lost' },
  completed: 'completed',
}

/** Microseconds that the scale has at least. */
const LEAST_SPAN = 60_000_000
const NO_MARKS: readonly Mark[] = []

/** The states of deployments, batches, containers and other things over time. */
export function LifecyclesView() {
  const session = useSession()
  const { place } = session
  const { kind, filter = '', scale: scaleName, with: ghostWorld } = place.value
  const world = session.world.value
  const choice = KIND_CHOICES.find(({ value }) => value === kind) ?? KIND_CHOICES[0]
  const fields = { kind: choice.kinds.join(','), limit: MAX_ROWS }
  const { value: own, error } = useAnswer('GET /_sim/lifecycles', fields)
  const { value: ghost, error: ghostError } = useAnswer(
    'GET /_sim/lifecycles',
    ghostWorld === undefined ? undefined : fields,
    { world: ghostWorld ?? world },
  )
  const { value: worlds } = useAnswer('GET /_sim/worlds', {}, { world: DEFAULT_WORLD })
  const span = useSignal<TimeRange | undefined>(undefined)
  const clock = session.clock.value
  const epochMs = clock === undefined ? 0 : Math.round(Date.parse(clock.now) - clock.elapsed_seconds * 1000)
  const rows = useMemo(
    () => toRows(own, ghostWorld === undefined ? undefined : ghost, { kinds: choice.kinds, text: filter }),
    [own, ghost, ghostWorld, choice, filter],
  )
  const now = own?.now_time ?? 0
  const ghostNow = ghostWorld === undefined ? undefined : ghost?.now_time
  const worldMarks = own?.world_marks ?? NO_MARKS
  const isTrue = scaleName === 'true'
  const scale = useMemo(() => {
    const from = Math.min(beginOfAll(own), ghostWorld === undefined ? Number.POSITIVE_INFINITY : beginOfAll(ghost))
    const end = Math.max(now, ghostNow ?? 0, from + LEAST_SPAN)
    return new TimeScale(from, end, isTrue ? [] : findIdleGaps(timesOf(rows, worldMarks), from, end))
  }, [rows, worldMarks, now, ghostNow, isTrue, own, ghost, ghostWorld])
  const others = (worlds ?? []).map(({ world: name }) => name).filter(name => name !== world)
  const window = windowOf(span.value, scale)
  const zoom = (factor: number) => set(span, spanOf(zoomed(window, factor), scale))
  return (
    <div class="lifecycles">
      <div class="toolbar">
        <Select
          label={<span class="hidden">Kind</span>}
          value={choice.value}
          options={KIND_CHOICES.map(({ value, title }) => [value, title])}
          onChange={value => place.go({ kind: value === 'all' ? undefined : value }, 'replace')}
        />
        <FilterField of="rows" placeholder="name or id" />
        <span class="faint" role="status">
          {plural(rows.length, 'row')}
        </span>
        <span class="space" />
        {others.length > 0 && (
          <Select
            label={<span class="faint">Compare with</span>}
            value={ghostWorld ?? ''}
            options={[['', 'no world'], ...others]}
            onChange={name => place.go({ with: name || undefined }, 'replace')}
          />
        )}
        <Choice
          label="Idle time"
          options={{ compressed: 'Compressed', true: 'True scale' }}
          value={isTrue ? 'true' : 'compressed'}
          onChange={value => place.go({ scale: value === 'true' ? value : undefined }, 'replace')}
        />
        <div class="choice" role="group" aria-label="Zoom">
          <Button words="−" aria-label="Show more time" title="s" onClick={() => zoom(1.5)} />
          <Button words="+" aria-label="Show less time" title="w" onClick={() => zoom(1 / 1.5)} />
          <Button words="All" title="0" disabled={span.value === undefined} onClick={clear(span)} />
        </div>
        <Address route="GET /_sim/lifecycles" fields={{ kind: fields.kind }} />
      </div>
      <Problem text={error} />
      <Problem text={ghostError} />
      {own !== undefined && own.dropped > 0 && (
        <p class="warn">
          ! The journal has dropped its oldest entries ({formatCount(own.dropped)}), so early states are missing.
        </p>
      )}
      {own !== undefined && own.matched > MAX_ROWS && (
        <p class="warn">
          ! These are the oldest {formatCount(MAX_ROWS)} of {formatCount(own.matched)} rows.
        </p>
      )}
      {own !== undefined && rows.length === 0 && <p class="empty">Nothing of this kind has happened yet.</p>}
      {rows.length > 0 && (
        <Lanes
          {...{ rows, scale, worldMarks, now, ghostNow, ghostWorld, epochMs }}
          span={span.value}
          onSpan={next => set(span, next)}
        />
      )}
      <p class="lanes-legend faint">
        {Object.entries(LEGEND).map(([state, words]) => (
          <span key={state}>
            <Glyph of={styleOfState(state).glyph} tone={styleOfState(state).color} /> {words}
          </span>
        ))}
        <span>
          <Glyph of="▼" tone="bad" /> failure
        </span>
        <span>
          <Glyph of="▲" tone="ok" /> repaired
        </span>
        <span>‖ idle time ‖</span>
        <span class="wide-only">below: ready, +starting instances</span>
        {ghostWorld !== undefined && <span>≠ differs in {ghostWorld}</span>}
      </p>
    </div>
  )
}
