/** Formats a report for people: money in dollars, GPU time in hours, aligned columns. */

import { DEPLOYMENT_STATUSES } from '../data/records/enums.ts'
import { formatDuration, HOUR, SECOND } from '../kernel/duration.ts'
import { formatCount, plural } from '../lib/text/numbers.ts'
import { formatEngine } from '../simulation/deployments/instance-speed.ts'
import {
  COLD_START_PHASES,
  type DeploymentReport,
  type GpuHours,
  type Report,
} from '../simulation/reporting/report-types.ts'

const MICROCENTS_PER_DOLLAR = 100_000_000

/** Returns the report as text with a final line feed. Equal reports give equal bytes. */
export function formatReport(unsorted: Report): string {
  const byName = (a: DeploymentReport, b: DeploymentReport) => (a.model_name < b.model_name ? -1 : 1)
  const report = { ...unsorted, deployments: [...unsorted.deployments].sort(byName) }
  const sections = [
    formatHead(report),
    commands(report),
    money(report),
    gpus(report),
    deployments(report),
    statuses(report),
    coldStarts(report),
    failures(report),
    batches(report),
  ]
  return `${sections.filter(section => section !== '').join('\n\n')}\n`
}

function formatHead({ from, to, seconds, seed, profile, weather, fixture }: Report): string {
  const length = seconds === 0 ? 'no time' : formatDuration(Math.round(seconds * SECOND))
  const world = `fixture ${fixture}, seed ${seed}, profile ${profile}, weather ${weather}`
  return `${formatTime(from)} to ${formatTime(to)} (${length}), ${world}`
}

function commands({ commands: { count, newest } }: Report): string {
  if (count === 0) return ''
  const left = count > newest.length ? `, the newest ${newest.length}` : ''
  const rows = newest.map(({ at, verb, target }) => [formatTime(at), verb, target])
  return `${plural(count, 'command')}${left}\n${formatTable(rows, 3)}`
}

function money({ money: totals }: Report): string {
  const declined = totals.topups_declined > 0 ? `, ${totals.topups_declined} declined` : ''
  const rows = [
    ['opening balance', formatDollars(totals.opening_balance_microcents)],
    ['+ funds', formatDollars(totals.funds_microcents)],
    [`+ top-ups (${totals.topups}${declined})`, formatDollars(totals.topups_microcents)],
    ...(totals.adjustments_microcents === 0 ? [] : [['+ set by hand', formatDollars(totals.adjustments_microcents)]]),
    ['- rent', formatDollars(totals.rent_microcents)],
    ...totals.hosted.map(one => [
      `    of it hosted ${one.name}, ${formatHours(one.billed_hours)} h of ${one.plan_id}`,
      formatDollars(one.rent_microcents),
    ]),
    ...totals.containers.map(one => [
      `    of it container ${one.name}, ${formatHours(one.billed_gpu_hours)} h of ${one.gpu}`,
      formatDollars(one.rent_microcents),
    ]),
    ['- tokens of batches and answers', formatDollars(totals.tokens_microcents)],
    ...totals.tokens_by_model.map(one => [`    of it ${one.model}`, formatDollars(one.tokens_microcents)]),
    ...(totals.units_microcents === 0
      ? []
      : [['- images, audio and other units', formatDollars(totals.units_microcents)]]),
    ...totals.units_by_model.map(one => [`    of it ${one.model}`, formatDollars(one.units_microcents)]),
    ['closing balance', formatDollars(totals.closing_balance_microcents)],
  ]
  const suspended = totals.suspensions > 0 ? `, account suspended ${plural(totals.suspensions, 'time')}` : ''
  return `Money, $${suspended}\n${formatTable(rows)}`
}

function gpus(report: Report): string {
  const { totals } = report
  if (report.gpus.length === 0) return ''
  const rented = totals.container_gpu_hours
  const held = totals.held_gpu_hours + rented
  const others = othersGpuHours(report)
  const rows = [
    ['', 'of others', 'capacity', 'held', 'billed', 'used', 'wasted', 'rented', 'held of capacity', 'rent $'],
    ...report.gpus.map(one => [
      one.gpu,
      formatHours(one.others_gpu_hours),
      formatHours(one.capacity_gpu_hours),
      ...gpuHours(one),
      formatHours(one.container_gpu_hours),
      formatPercent(one.utilisation),
      formatDollars(one.rent_microcents),
    ]),
    [
      'all',
      formatHours(others),
      formatHours(totals.capacity_gpu_hours),
      ...gpuHours(totals),
      formatHours(rented),
      formatPercent(totals.capacity_gpu_hours > 0 ? held / totals.capacity_gpu_hours : null),
      formatDollars(report.money.rent_microcents),
    ],
  ]
  const quotas = reachedQuotas(report).map(quota => `\n\nDeployments got no further instance: ${quota}`)
  const shown = others === 0 ? rows.map(row => row.toSpliced(1, 1)) : rows
  const cost = `Cost of the capacity at the prices of the profile: $${formatDollars(capacityCost(report))}`
  return `GPU-hours by type\n${formatTable(shown)}\n\n${cost}${quotas.join('')}`
}

/** Returns what the nodes cost the provider, in micro-cents. */
export function capacityCost(report: Report): number {
  return report.gpus.reduce((sum, one) => sum + one.capacity_cost_microcents, 0)
}

/** Returns the GPU-hours that other customers held. */
export function othersGpuHours(report: Report): number {
  return report.gpus.reduce((sum, one) => sum + one.others_gpu_hours, 0)
}

/** Returns which quotas of the account were reached, as in `the quota of 16 H100-80GB was reached`. */
export function reachedQuotas(report: Report): string[] {
  return report.gpus.flatMap(({ gpu, quota, quota_refusals: refusals }) =>
    refusals === 0 ? [] : [`the quota of ${quota === null ? '' : `${quota} `}${gpu} was reached`],
  )
}

function deployments(report: Report): string {
  if (report.deployments.length === 0) return 'No deployments'
  const { totals } = report
  const rows = [
    ['', 'status', 'GPUs', 'held', 'billed', 'used', 'wasted', 'busy', 'rent $'],
    ...report.deployments.map(one => [
      one.model_name,
      one.status,
      one.gpu === null ? one.type : `${one.num_gpus} x ${one.gpu}`,
      ...gpuHours(one),
      formatPercent(one.mean_utilisation),
      formatDollars(one.rent_microcents),
    ]),
    [
      'all',
      '',
      '',
      ...gpuHours(totals),
      formatPercent(totals.mean_utilisation),
      formatDollars(report.deployments.reduce((sum, one) => sum + one.rent_microcents, 0)),
    ],
  ]
  const withRequests = report.deployments.filter(({ requests }) => Object.values(requests).some(one => one > 0))
  const columns = ['waiting_before', 'arrived', 'served', 'refused', 'failed', 'left', 'waiting'] as const
  // Only requests of clients can fail or be abandoned.
  const shownColumns = columns.filter(
    column => (column !== 'failed' && column !== 'left') || totals.requests[column] > 0,
  )
  const requests = [
    [
      '',
      ...shownColumns.map(column => (column === 'waiting_before' ? 'waited before' : column)),
      'tokens in',
      'tokens out',
    ],
    ...withRequests.map(one => [
      one.model_name,
      ...shownColumns.map(column => formatCount(one.requests[column])),
      ...tokens(one),
    ]),
    ['all', ...shownColumns.map(column => formatCount(totals.requests[column])), ...tokens(totals)],
  ]
  const load = withRequests.length === 0 ? '' : `\n\nRequests\n${formatTable(requests)}`
  const engines = report.deployments.flatMap(({ model_name, engine }) =>
    engine === null ? [] : [`  ${model_name}: ${formatEngine(engine)}`],
  )
  const band = "±: 90 % of the fitted rows err by less; other rows of the class 'default' erred more"
  const speed = engines.length === 0 ? '' : `\n\nEach instance at most (${band})\n${engines.join('\n')}`
  return `Deployments, GPU-hours\n${formatTable(rows, 3)}${load}${speed}`
}

/** Formats hours in each status, of deployments that changed status, started an instance or lost one. */
function statuses({ deployments: all }: Report): string {
  const listedStatuses = DEPLOYMENT_STATUSES.filter(status => status !== 'deleted')
  const changedDeployments = all.filter(
    one =>
      listedStatuses.filter(status => one.seconds_in_status[status] > 0).length > 1 ||
      one.cold_starts > 0 ||
      one.instances_lost > 0,
  )
  const shownStatuses = listedStatuses.filter(status =>
    changedDeployments.some(one => one.seconds_in_status[status] > 0),
  )
  const rows = [
    ['', ...shownStatuses, 'starts', 'median', 'lost'],
    ...changedDeployments.map(one => [
      one.model_name,
      ...shownStatuses.map(status => formatHours((one.seconds_in_status[status] * SECOND) / HOUR)),
      formatCount(one.cold_starts),
      one.median_cold_start_seconds === null ? '-' : `${seconds(one.median_cold_start_seconds)} s`,
      formatCount(one.instances_lost),
    ]),
  ]
  return changedDeployments.length === 0
    ? ''
    : `Hours in each status, cold starts, instances lost\n${formatTable(rows)}`
}

function coldStarts({ cold_starts: { count: total, phases } }: Report): string {
  if (phases === null) return ''
  const rows = [
    ['', 'min', 'median', 'p95', 'max'],
    ...COLD_START_PHASES.map(phase => {
      const { min_seconds, median_seconds, p95_seconds, max_seconds } = phases[phase]
      return [phase.replaceAll('_', ' '), ...[min_seconds, median_seconds, p95_seconds, max_seconds].map(seconds)]
    }),
  ]
  return `${plural(total, 'cold start')}, seconds\n${formatTable(rows)}`
}

function failures({ failures: summary, incidents: { count, first } }: Report): string {
  const things = [
    summary.node_crashes > 0 && formatCounted(summary.node_crashes, 'node crash', 'node crashes'),
    summary.node_preemptions > 0 && formatCounted(summary.node_preemptions, 'node preempted', 'nodes preempted'),
    summary.gpu_failures > 0 && plural(summary.gpu_failures, 'GPU error'),
    summary.zone_outages > 0 && plural(summary.zone_outages, 'zone outage'),
    summary.deployments_failed > 0 &&
      formatCounted(summary.deployments_failed, 'deployment failed', 'deployments failed'),
  ].filter(thing => thing !== false)
  const lost = Object.entries(summary.instances_lost_to)
    .filter(([, times]) => times > 0)
    .map(([what, times]) => `${formatCount(times)} to ${what.replaceAll('_', ' ')}`)
  const by = lost.length === 0 ? '' : `: ${lost.join(', ')}`
  const instances = `${plural(summary.instances_lost, 'instance')} lost${by}`
  const text =
    things.length === 0 && summary.instances_lost === 0
      ? 'No failures'
      : `Failures: ${[...things, instances].join('; ')}`
  if (count === 0) return text
  const more = count > first.length ? `, the first ${first.length}` : ''
  const rows = first.map(({ at, kind, times }) => [`${at.slice(0, 19)}Z`, kind, `x ${times}`])
  return `${text}\n\n${plural(count, 'incident')}${more}\n${formatTable(rows, 2)}`
}

function batches({ batches: summary }: Report): string {
  const { created, completed, failed, expired, cancelled, lines_done, lines_failed } = summary
  const ended = [completed, failed, expired, cancelled]
  if (created === 0 && lines_done === 0 && ended.every(one => one === 0)) return ''
  return (
    `Batches: ${formatCount(created)} created, ${formatCount(completed)} completed, ${formatCount(failed)} failed, ${formatCount(expired)} expired, ` +
    `${formatCount(cancelled)} cancelled; ${plural(lines_done, 'line')} done, ${formatCount(lines_failed)} of them failed`
  )
}

function tokens({ tokens: { input, output } }: Pick<DeploymentReport, 'tokens'>): string[] {
  return [input, output].map(formatCount)
}

function gpuHours({ held_gpu_hours, billed_gpu_hours, used_gpu_hours, wasted_gpu_hours }: GpuHours): string[] {
  return [held_gpu_hours, billed_gpu_hours, used_gpu_hours, wasted_gpu_hours].map(formatHours)
}

/** Formats columns two spaces apart, indented by two: the first `textColumns` to the left, the others to the right. */
export function formatTable(rows: readonly (readonly string[])[], textColumns = 1): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows
    .map(row => {
      const cells = row.map((cell, i) => (i < textColumns ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      return `  ${cells.join('  ')}`.trimEnd()
    })
    .join('\n')
}

export function formatDollars(microcents: number): string {
  return formatFixed(microcents / MICROCENTS_PER_DOLLAR, 2)
}

export function formatHours(value: number): string {
  return formatFixed(value, 1)
}

function seconds(value: number): string {
  return formatFixed(value, 1)
}

export function formatPercent(share: number | null): string {
  return share === null ? '-' : `${formatFixed(share * 100, 1)} %`
}

function formatCounted(value: number, one: string, many: string): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`
}

function formatFixed(value: number, digits: number): string {
  const text = value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return /[1-9]/.test(text) ? text : text.replace('-', '')
}

/** Formats a time without microseconds if they are zero. */
function formatTime(iso: string): string {
  return iso.replace('.000000+00:00', 'Z')
}
