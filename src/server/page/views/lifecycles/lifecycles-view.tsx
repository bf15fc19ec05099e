import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { Choice } from '../../parts/buttons.tsx'
import { FilterField } from '../../parts/fields.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { Address, Problem } from '../../parts/panel.tsx'
import { DEFAULT_WORLD, useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { Lanes, type Span } from './lanes.tsx'
import { beginOfAll, KIND_CHOICES, MAX_ROWS, type Mark, styleOfState, timesOf, toRows } from './lifecycle-model.ts'
import { findIdleGaps, TimeScale } from './time-scale.ts'

/** States that stand for the styles, for the legend. */
const LEGEND = [
  ['running', 'works'],
  ['starting', 'changing'],
  ['stopped', 'idle or ended'],
  ['failed', 'failed or lost'],
  ['completed', 'completed'],
] as const

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
  const span = useSignal<Span | undefined>(undefined)
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
  const zoom = (factor: number) => {
    const { from, to } = span.value ?? { from: scale.toTime(0), to: scale.toTime(1) }
    const [begin, end] = [scale.toPlace(from), scale.toPlace(to)]
    const half = ((end - begin) * factor) / 2
    const middle = (begin + end) / 2
    span.value =
      half >= 0.5
        ? undefined
        : { from: scale.toTime(Math.max(0, middle - half)), to: scale.toTime(Math.min(1, middle + half)) }
  }
  return (
    <div class="lifecycles">
      <div class="toolbar">
        <label>
          <span class="hidden">Kind</span>
          <select
            value={choice.value}
            onChange={event => {
              const { value } = event.currentTarget
              place.go({ kind: value === 'all' ? undefined : value }, 'replace')
            }}
          >
            {KIND_CHOICES.map(({ value, title }) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <FilterField of="rows" placeholder="name or id" />
        <span class="faint" role="status">
          {plural(rows.length, 'row')}
        </span>
        <span class="space" />
        {others.length > 0 && (
          <label>
            <span class="faint">Compare with</span>{' '}
            <select
              value={ghostWorld ?? ''}
              onChange={event => place.go({ with: event.currentTarget.value || undefined }, 'replace')}
            >
              <option value="">no world</option>
              {others.map(name => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <Choice
          label="Idle time"
          options={[
            { value: 'compressed', title: 'Compressed' },
            { value: 'true', title: 'True scale' },
          ]}
          value={isTrue ? 'true' : 'compressed'}
          onChange={value => place.go({ scale: value === 'true' ? value : undefined }, 'replace')}
        />
        <div class="choice" role="group" aria-label="Zoom">
          <button type="button" aria-label="Show more time" title="s" onClick={() => zoom(1.5)}>
            −
          </button>
          <button type="button" aria-label="Show less time" title="w" onClick={() => zoom(1 / 1.5)}>
            +
          </button>
          <button
            type="button"
            title="0"
            disabled={span.value === undefined}
            onClick={() => {
              span.value = undefined
            }}
          >
            All
          </button>
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
          onSpan={next => {
            span.value = next
          }}
        />
      )}
      <p class="lanes-legend faint">
        {LEGEND.map(([state, words]) => (
          <span key={state}>
            <span class={`glyph ${styleOfState(state).color}`} aria-hidden="true">
              {styleOfState(state).glyph}
            </span>{' '}
            {words}
          </span>
        ))}
        <span>
          <span class="glyph bad" aria-hidden="true">
            ▼
          </span>{' '}
          failure
        </span>
        <span>
          <span class="glyph ok" aria-hidden="true">
            ▲
          </span>{' '}
          repaired
        </span>
        <span>‖ idle time ‖</span>
        <span class="wide-only">below: ready, +starting instances</span>
        {ghostWorld !== undefined && <span>≠ differs in {ghostWorld}</span>}
      </p>
    </div>
  )
}
