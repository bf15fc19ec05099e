import { useMemo, useRef } from 'preact/hooks'
import { Address } from '../../parts/address.tsx'
import { TimeChart, type TimeRange, withinExtent } from '../../parts/drawing/time-chart.tsx'
import { formatDay, formatMicrocents, formatMoney, formatTime } from '../../parts/format.ts'
import { Problem } from '../../parts/panel.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { IdleCost } from './idle-cost.tsx'
import { LedgerLines } from './ledger-lines.tsx'
import { type BurnChart, burnChart, type Money, stepFor } from './money-chart.ts'
import { OwnerRows } from './owner-rows.tsx'

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
      <LedgerLines
        subject={place.value.subject}
        isOpen={place.value.ledger === 'open'}
        onOpen={open => place.go({ ledger: open ? 'open' : undefined, subject: undefined }, 'replace')}
      />
    </div>
  )
}

/** Reads the chosen part of the time from the address of the page. A part that the world does not have is ignored. */
function readZoom({ from, to }: { readonly [name: string]: string | undefined }, extent: TimeRange) {
  const wanted = { from: Number(from), to: Number(to) }
  return wanted.to > wanted.from ? withinExtent(wanted, extent) : undefined
}

/** Returns the newest picture of a world, so that the drawing stays while the next one is asked for. */
function useKept(burn: BurnChart | undefined, world: string): BurnChart | undefined {
  const kept = useRef<{ world: string; burn: BurnChart } | undefined>(undefined)
  if (burn !== undefined) kept.current = { world, burn }
  return kept.current?.world === world ? kept.current.burn : undefined
}

function Tiles({ money }: { money: Money }) {
  const {
    balance_microcents: balance,
    opening_microcents: opening,
    added_microcents: added,
    spent_microcents: spent,
    burn_microcents_per_hour: burn,
    runs_out_at: end,
    runs_out_in: left,
    tops_up: topsUp,
    top_up: topUp,
  } = money
  return (
    <dl class="tiles">
      <div class="panel">
        <dt>Burn now</dt>
        <dd data-figure="burn">
          {formatMicrocents(burn)}
          <small>/h</small>
        </dd>
        <dd class="faint">rent of all that is billed now</dd>
      </div>
      <div class="panel">
        <dt>Spent</dt>
        <dd data-figure="spent">{formatMicrocents(spent)}</dd>
        <dd class="faint">since the world began</dd>
      </div>
      <div class="panel">
        <dt>Balance</dt>
        <dd data-figure="balance" class={balance < 0 ? 'bad' : ''}>
          {formatMicrocents(balance)}
        </dd>
        <dd class="faint">
          {formatMicrocents(opening)} at first {added < 0 ? '−' : '+'} {formatMicrocents(Math.abs(added))} added −{' '}
          {formatMicrocents(spent)} spent
        </dd>
      </div>
      <div class="panel">
        <dt>{topUp === null ? 'Runs out' : 'Next top-up'}</dt>
        <dd data-figure="runs-out">{topUp !== null ? `in ${topUp.in}` : left === null ? 'never' : `in ${left}`}</dd>
        <dd class="faint">
          {topUp !== null && `at this burn, by ${formatMicrocents(topUp.microcents)}. Without top-ups: `}
          {end === null
            ? 'at this burn'
            : `${topUp === null ? 'at this burn: ' : ''}${formatDay(end)} ${formatTime(end).slice(0, 5)}`}
          {topsUp && topUp === null && ', without a top-up'}
        </dd>
      </div>
    </dl>
  )
}
