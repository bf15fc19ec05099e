import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { countWhile } from '../../../lib/lists.ts'
import type { ControlEntry } from '../../control/client/index.ts'
import { Button } from '../parts/buttons.tsx'
import { Select } from '../parts/fields.tsx'
import {
  formatCount,
  formatDay,
  formatMicrocents,
  formatMoney,
  formatTime,
  MICROCENTS,
  plural,
} from '../parts/format.ts'
import { set } from '../parts/hooks.ts'
import { type Column, ColumnList, Figure } from '../parts/lists.tsx'
import { Address, Panel, Problem } from '../parts/panel.tsx'
import { type StepChart, TimeChart, withinExtent } from '../parts/time-chart.tsx'
import type { TimeRange } from '../parts/time-range.ts'
import { ThingLink } from '../parts/words.tsx'
import type { Chart } from '../plots/chart.ts'
import { formatFigure } from '../plots/ticks.ts'
import type { AnswersByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { useAnswer, useKept } from '../store/use-answer.ts'

/** The series and the GPU-hours take the simulator longer, so that they are asked for less often. */
const SERIES_PAUSE_MS = 1_000
const USAGE_PAUSE_MS = 4_000

/** What is spent now, what was spent, by whom, and how long it lasts. */
export function MoneyView() {
  const session = useSession()
  const { place } = session
  const clock = session.clock.value
  const nowSeconds = clock === undefined ? 0 : Math.floor(Date.parse(clock.now) / 1000)
  const startSeconds = clock === undefined ? 0 : Math.round(Date.parse(clock.now) / 1000 - clock.elapsed_seconds)
  const extent = { from: startSeconds, to: nowSeconds }
  const zoom = readZoom(place.value, extent)
  const { from, to } = zoom ?? extent
  const step = stepFor(to - from)
  const window = step === undefined ? undefined : { step, ...(zoom && { from: String(from), to: String(to) }) }
  const { value: money, error } = useAnswer('GET /_sim/money', {})
  const { value: stepped, error: steppedError } = useAnswer('GET /_sim/money', window, { pauseMs: SERIES_PAUSE_MS })
  const { value: used } = useAnswer('GET /_sim/money', { usage: 'true' }, { pauseMs: USAGE_PAUSE_MS })
  const burn = useKept(
    useMemo(() => stepped && burnChart(stepped), [stepped]),
    session.world.value,
  )
  return (
    <div class="money">
      <div class="toolbar">
        <span class="faint">Where the money of the account goes</span>
        <span class="space" />
        <Address route="GET /_sim/money" fields={{ ...window, usage: 'true' }} />
      </div>
      <Problem text={error} />
      {money !== undefined && <Tiles money={money} />}
      <Problem text={steppedError} />
      {burn !== undefined && burn.chart.series.length > 0 && (
        <section class="panel" aria-label="Burn over time">
          <h2>
            Burn over time <small class="faint">{burn.chart.unit}, mean of each step; drag to zoom</small>
          </h2>
          <TimeChart
            {...burn}
            height={220}
            format={value => `${formatMoney(value)}/h`}
            extent={extent}
            shown={{ from, to }}
            onZoom={range => place.go({ from: range && String(range.from), to: range && String(range.to) }, 'replace')}
          />
        </section>
      )}
      {money !== undefined && <OwnerRows owners={money.owners} usage={used?.usage} />}
      {money !== undefined && <IdleCost owners={money.owners} />}
      <LedgerLines />
    </div>
  )
}

/** Reads the chosen part of the time from the address of the page. A part that the world does not have is ignored. */
function readZoom({ from, to }: { readonly [name: string]: string | undefined }, extent: TimeRange) {
  const wanted = { from: Number(from), to: Number(to) }
  return wanted.to > wanted.from ? withinExtent(wanted, extent) : undefined
}

function Tiles({ money }: { money: Money }) {
  const { balance_microcents: balance, added_microcents: added, runs_out_at: end, top_up: topUp } = money
  const spent = formatMicrocents(money.spent_microcents)
  return (
    <dl class="tiles">
      <Tile title="Burn now" name="burn" figure={formatMicrocents(money.burn_microcents_per_hour)} unit="/h">
        rent of all that is billed now
      </Tile>
      <Tile title="Spent" name="spent" figure={spent}>
        since the world began
      </Tile>
      <Tile title="Balance" name="balance" figure={formatMicrocents(balance)} tone={balance < 0 ? 'bad' : ''}>
        {formatMicrocents(money.opening_microcents)} at first {added < 0 ? '−' : '+'}{' '}
        {formatMicrocents(Math.abs(added))} added − {spent} spent
      </Tile>
      <Tile
        title={topUp === null ? 'Runs out' : 'Next top-up'}
        name="runs-out"
        figure={topUp === null && money.runs_out_in === null ? 'never' : `in ${topUp?.in ?? money.runs_out_in}`}
      >
        {topUp !== null && `at this burn, by ${formatMicrocents(topUp.microcents)}. Without top-ups: `}
        {end === null
          ? 'at this burn'
          : `${topUp === null ? 'at this burn: ' : ''}${formatDay(end)} ${formatTime(end).slice(0, 5)}`}
        {money.tops_up && topUp === null && ', without a top-up'}
      </Tile>
    </dl>
  )
}

interface TileProps {
  readonly title: string
  /** What the figure is, for tests. */
  readonly name: string
  readonly figure: string
  readonly unit?: string
  readonly tone?: string
  readonly children: ComponentChildren
}

function Tile({ title, name, figure, unit, tone = '', children }: TileProps) {
  return (
    <div class="panel">
      <dt>{title}</dt>
      <dd data-figure={name} class={tone}>
        {figure}
        {unit && <small>{unit}</small>}
      </dd>
      <dd class="faint">{children}</dd>
    </div>
  )
}

type Money = AnswersByRoute['GET /_sim/money']
type MoneyOwner = Money['owners'][number]

/** Steps of the picture, with their seconds. The answer takes each of them. */
const STEPS = {
  ...{ '10s': 10, '1m': 60, '5m': 300, '15m': 900, '1h': 3_600, '4h': 14_400, '1d': 86_400, '7d': 604_800 },
}
/** Owners that have an area of their own. */
const MAX_AREAS = 8
/** Most steps of a picture. */
const MAX_STEPS = 120

/** Returns the step for a world of so many seconds; undefined if it is too young for a picture. */
function stepFor(seconds: number): string | undefined {
  if (seconds < 10) return undefined
  const [step] = Object.entries(STEPS).find(([, length]) => seconds / length <= MAX_STEPS) ?? ['7d']
  return step
}

/**
 * Returns the picture of the burn: dollars per hour of each owner in each step. The owners that spent the most have an
 * area of their own, the most expensive one at the bottom. The others are one area together. Owners that cost nothing in
 * these steps have none.
 */
function burnChart(money: Money): StepChart | undefined {
  const { series } = money
  if (series === undefined || series.times.length === 0) return undefined
  const owners = new Map(money.owners.map(owner => [owner.id, owner]))
  const from = Date.parse(series.from) / 1000
  const times = series.times.map(time => Date.parse(time) / 1000)
  const hours = times.map((time, index) => (time - (times[index - 1] ?? from)) / 3_600)
  const isUpToNow = Date.parse(series.times.at(-1)!) >= Date.parse(money.now)
  // What began to cost at this moment has cost nothing in the steps.
  const started = isUpToNow
    ? money.owners.filter(owner => owner.burn_microcents_per_hour > 0 && !series.owners.includes(owner.id))
    : []
  const burns = [...series.owners, ...started.map(({ id }) => id)]
    .map((id, column) => ({
      name: owners.get(id)?.name || id,
      now: (owners.get(id)?.burn_microcents_per_hour ?? 0) / MICROCENTS,
      total: series.spent_microcents.reduce((sum, row) => sum + (row[column] ?? 0), 0),
      values: series.spent_microcents.map((row, step) => (row[column] ?? 0) / MICROCENTS / hours[step]!),
    }))
    .sort((a, b) => b.total - a.total)
  const own = burns.length > MAX_AREAS ? burns.slice(0, MAX_AREAS - 1) : burns
  const rest = burns.slice(own.length)
  const others = {
    name: plural(rest.length, 'other'),
    now: rest.reduce((sum, { now }) => sum + now, 0),
    total: rest.reduce((sum, { total }) => sum + total, 0),
    values: times.map((_, step) => rest.reduce((sum, { values }) => sum + values[step]!, 0)),
  }
  const shown = rest.length === 0 ? own : [...own, others]
  const chart: Chart = {
    name: 'burn',
    title: 'Burn over time',
    description: `Dollars per hour, stacked by owner: ${shown.map(({ name }) => name).join(', ')}.`,
    ...{ unit: '$ per hour', kind: 'areas', scale: 'linear' },
    ...{ from, times, marks: [] },
    series: shown.map(({ name, total, values }) => ({ name, values, figure: formatMicrocents(total) })),
    figureLabel: 'total',
    emptyText: 'Nothing has cost anything yet.',
  }
  return { chart, now: isUpToNow ? shown.map(({ now }) => now) : undefined }
}

const ROW = 32
/** How many rows are visible without scrolling. */
const VISIBLE_ROWS = 12

type Usage = NonNullable<Money['usage']>

/** What each owner costs, and what of its GPU-hours was not used. */
function OwnerRows({ owners, usage }: { owners: readonly MoneyOwner[]; usage: Usage | undefined }) {
  const byId = new Map(usage?.deployments.map(one => [one.id, one]))
  const most = Math.max(1, ...owners.map(owner => owner.burn_microcents_per_hour))
  const ofUsage = (id: string, cell: (usage: Omit<Usage, 'deployments'>) => ComponentChildren) => {
    const one = byId.get(id)
    return one && cell(one)
  }
  const columns: readonly Column<MoneyOwner>[] = [
    ['Owner', ({ id, name }) => <ThingLink id={id} text={name === '' ? id : name} />],
    ['Kind', ({ kind }) => kind, 'faint'],
    [
      'GPUs',
      ({ gpus }) => <Figure text={formatCount(gpus)} what={gpus === 1 ? 'GPU' : 'GPUs'} isFaint={gpus === 0} />,
      'number',
    ],
    [
      'Burn per hour',
      ({ burn_microcents_per_hour: burn }) => (
        <>
          <span class="burn-bar" style={{ width: `${(burn / most) * 100}%` }} />
          <span class="burn-figure">
            <Figure text={formatMicrocents(burn)} what="per hour" isFaint={burn === 0} />
          </span>
        </>
      ),
      'number burn',
    ],
    ['Spent', ({ spent_microcents: spent }) => <Figure text={formatMicrocents(spent)} what="spent" />, 'number'],
    [
      'GPU-hours held',
      ({ id }) =>
        ofUsage(id, ({ held_gpu_hours: held }) => <Figure text={formatFigure(held, 2)} what="GPU-hours held" />),
      'number',
    ],
    ['GPU-hours wasted', ({ id }) => ofUsage(id, one => <Wasted usage={one} />), 'number'],
  ]
  return (
    <Panel title="By owner">
      {owners.length === 0 && <p class="empty">Nothing has cost anything yet.</p>}
      <ColumnList
        columns={columns}
        rowClass="money-row"
        items={owners}
        rowHeight={ROW}
        visibleRows={VISIBLE_ROWS}
        label={`Owners, ${plural(owners.length, 'row')}`}
        keyOf={({ id }) => id}
      />
      {usage !== undefined && (
        <p class="row money-row total">
          <strong>All deployments</strong>
          <span class="number" data-figure="held">
            {formatFigure(usage.held_gpu_hours, 2)}
          </span>
          <span class="number">
            <Wasted usage={usage} />
          </span>
        </p>
      )}
    </Panel>
  )
}

function Wasted({ usage: { held_gpu_hours: held, wasted_gpu_hours: wasted } }: { usage: Omit<Usage, 'deployments'> }) {
  const share = held === 0 ? 0 : wasted / held
  return (
    <span class={share > 0.5 ? 'warn' : ''} data-figure="wasted">
      {formatFigure(wasted, 2)}
      <span class="hidden"> wasted</span>
      {held > 0 && <span class="share"> {Math.round(share * 100)} %</span>}
    </span>
  )
}

const HOURS = 24
/** The range goes at least so far. */
const LEAST_MAX = 4
const MOST_MAX = 32

/** What a deployment costs a day while it is idle, by its least number of instances. */
function IdleCost({ owners }: { owners: readonly MoneyOwner[] }) {
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
        <Select
          label="Deployment"
          value={id}
          options={deployments.map(one => [one.id, one.name || one.id])}
          onChange={chosen => set(chosenId, chosen)}
        />
        <label>
          min_instances: {count} {count === least && '(as now)'}
          <input
            type="range"
            data-arrow-keys
            min={0}
            max={max}
            value={count}
            onInput={event => set(chosenCount, { id, count: event.currentTarget.valueAsNumber })}
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

const LINE_HEIGHT = 28
/** The ledger is long, and is asked for as a whole. */
const PAUSE_MS = 3_000

type LedgerEntry = AnswersByRoute['GET /_sim/ledger']['entries'][number]

/** The lines of the ledger, the newest first, each with the journal entry of its time. */
function LedgerLines() {
  const { place } = useSession()
  const { subject, ledger: shown } = place.value
  const isOpen = shown === 'open'
  const toggle = () => place.go({ ledger: isOpen ? undefined : 'open', subject: undefined }, 'replace')
  const fields = subject === undefined ? {} : { subject }
  const { value: ledger, error } = useAnswer('GET /_sim/ledger', isOpen ? fields : undefined, { pauseMs: PAUSE_MS })
  const lines = ledger?.entries.toReversed() ?? []
  const columns: readonly Column<LedgerEntry>[] = [
    [
      'Time',
      ({ time }) => (
        <time dateTime={time} class="faint">
          {formatDay(time).slice(5)} {formatTime(time)}
        </time>
      ),
    ],
    ['Kind', ({ kind, open }) => (open ? `${kind}, open` : kind)],
    ['Owner', ({ subject }) => <ThingLink id={subject} />],
    [
      'Amount',
      ({ tokens, units }) =>
        tokens === undefined ? units !== undefined && plural(units, 'unit') : plural(tokens, 'token'),
      'faint',
    ],
    [
      'Money',
      ({ microcents }) => (
        <span class={microcents > 0 ? 'ok' : ''}>
          {microcents > 0 && '+'}
          {formatMicrocents(microcents)}
        </span>
      ),
      'number',
    ],
    ['Cause', entry => <Cause entry={entry} />],
  ]
  return (
    <section class="panel" aria-label="Ledger">
      <div class="toolbar ledger-head">
        <h2>
          <Button words={`${isOpen ? '▾' : '▸'} Ledger`} class="link-button" aria-expanded={isOpen} onClick={toggle} />
        </h2>
        {ledger !== undefined && <span class="faint">{plural(lines.length, 'line')}, the newest first</span>}
        <span class="space" />
        {isOpen && <Address route="GET /_sim/ledger" fields={fields} name="Ledger" />}
      </div>
      <Problem text={error} />
      {isOpen && ledger !== undefined && lines.length === 0 && <p class="empty">Nothing was charged yet.</p>}
      {lines.length > 0 && (
        <ColumnList
          columns={columns}
          isHeadless
          rowClass="ledger-row"
          items={lines}
          rowHeight={LINE_HEIGHT}
          visibleRows={VISIBLE_ROWS}
          label={`Ledger, ${plural(lines.length, 'line')}`}
          keyOf={(_, index) => lines.length - index}
        />
      )}
    </section>
  )
}

/** The journal entry of the time of a line. */
function Cause({ entry }: { entry: LedgerEntry }) {
  const { place, feed } = useSession()
  const cause = findEntry(feed.entries, entry)
  if (cause === undefined) return null
  return (
    <a href={place.link({ ...place.value, id: String(cause.seq) })}>
      {cause.kind}
      <span class="hidden"> at {entry.time}</span>
    </a>
  )
}

type JournalEntry = Pick<ControlEntry, 'seq' | 'at' | 'kind' | 'subject'>

/** Returns the journal entry of the time of a ledger line, that of its owner first. Entries are in the order of time. */
function findEntry(entries: readonly JournalEntry[], { time, subject }: LedgerEntry): JournalEntry | undefined {
  const first = countWhile(entries.length, index => entries[index]!.at < time)
  let found: JournalEntry | undefined
  for (let index = first; entries[index]?.at === time; index++) {
    const entry = entries[index]!
    if (entry.subject === subject || entry.subject.startsWith(`${subject}-`)) return entry
    found ??= entry
  }
  return found
}
