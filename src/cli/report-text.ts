/** A report for people: money in dollars, GPU time in hours, aligned. */
import { COLD_START_PHASES, type DeploymentReport, type GpuHours, type Report } from '../cluster/report.ts'
import { HOUR, readable, SECOND } from '../kernel/duration.ts'
import { DEPLOYMENT_STATUSES } from '../store/records.ts'

const MICROCENTS_PER_DOLLAR = 100_000_000

/** The report as text, with its final line feed: the same bytes for the same report. */
export function reportText(told: Report): string {
  const byName = (a: DeploymentReport, b: DeploymentReport) => (a.model_name < b.model_name ? -1 : 1)
  const report = { ...told, deployments: [...told.deployments].sort(byName) }
  const sections = [
    head(report),
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

function head({ from, to, seconds, seed, profile }: Report): string {
  const length = seconds === 0 ? 'no time' : readable(Math.round(seconds * SECOND))
  return `${moment(from)} to ${moment(to)} (${length}), seed ${seed}, profile ${profile}`
}

function money({ money: told }: Report): string {
  const declined = told.topups_declined > 0 ? `, ${told.topups_declined} declined` : ''
  const rows = [
    ['opening balance', dollars(told.opening_balance_microcents)],
    ['+ funds', dollars(told.funds_microcents)],
    [`+ top-ups (${told.topups}${declined})`, dollars(told.topups_microcents)],
    ['- rent', dollars(told.rent_microcents)],
    ...told.hosted.map(one => [
      `    of it hosted ${one.name}, ${hours(one.billed_gpu_hours)} h of ${one.gpu}`,
      dollars(one.rent_microcents),
    ]),
    ...told.containers.map(one => [
      `    of it container ${one.name}, ${hours(one.billed_gpu_hours)} h of ${one.gpu}`,
      dollars(one.rent_microcents),
    ]),
    ['- tokens of batches and answers', dollars(told.tokens_microcents)],
    ...told.tokens_by_model.map(one => [`    of it ${one.model}`, dollars(one.tokens_microcents)]),
    ['closing balance', dollars(told.closing_balance_microcents)],
  ]
  const suspended = told.suspensions > 0 ? `, account suspended ${counted(told.suspensions, 'time')}` : ''
  return `Money, $${suspended}\n${table(rows)}`
}

function gpus(report: Report): string {
  const { totals } = report
  if (report.gpus.length === 0) return ''
  const rented = totals.hosted_gpu_hours + totals.container_gpu_hours
  const held = totals.held_gpu_hours + rented
  const rows = [
    ['', 'capacity', 'held', 'billed', 'used', 'wasted', 'rented', 'held of capacity', 'rent $'],
    ...report.gpus.map(one => [
      one.gpu,
      hours(one.capacity_gpu_hours),
      ...gpuHours(one),
      hours(one.hosted_gpu_hours + one.container_gpu_hours),
      percent(one.utilisation),
      dollars(one.rent_microcents),
    ]),
    [
      'all',
      hours(totals.capacity_gpu_hours),
      ...gpuHours(totals),
      hours(rented),
      percent(totals.capacity_gpu_hours > 0 ? held / totals.capacity_gpu_hours : null),
      dollars(report.money.rent_microcents),
    ],
  ]
  return `GPU-hours by type\n${table(rows)}`
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
      percent(one.mean_utilisation),
      dollars(one.rent_microcents),
    ]),
    [
      'all',
      '',
      '',
      ...gpuHours(totals),
      percent(totals.mean_utilisation),
      dollars(report.deployments.reduce((sum, one) => sum + one.rent_microcents, 0)),
    ],
  ]
  const asked = report.deployments.filter(hasRequests)
  const columns = ['waiting_before', 'arrived', 'served', 'refused', 'failed', 'left', 'waiting'] as const
  // Only requests of clients can fail or be left.
  const shown = columns.filter(column => (column !== 'failed' && column !== 'left') || totals.requests[column] > 0)
  const requests = [
    ['', ...shown.map(column => (column === 'waiting_before' ? 'waited before' : column)), 'tokens in', 'tokens out'],
    ...asked.map(one => [one.model_name, ...shown.map(column => count(one.requests[column])), ...tokens(one)]),
    ['all', ...shown.map(column => count(totals.requests[column])), ...tokens(totals)],
  ]
  const load = asked.length === 0 ? '' : `\n\nRequests\n${table(requests)}`
  return `Deployments, GPU-hours\n${table(rows, 3)}${load}`
}

/** Hours in each status, of those that were not always in one, started an instance or lost one. */
function statuses({ deployments: all }: Report): string {
  const told = DEPLOYMENT_STATUSES.filter(status => status !== 'deleted')
  const turned = all.filter(
    one =>
      told.filter(status => one.seconds_in_status[status] > 0).length > 1 ||
      one.cold_starts > 0 ||
      one.instances_lost > 0,
  )
  const shown = told.filter(status => turned.some(one => one.seconds_in_status[status] > 0))
  const rows = [
    ['', ...shown, 'starts', 'median', 'lost'],
    ...turned.map(one => [
      one.model_name,
      ...shown.map(status => hours((one.seconds_in_status[status] * SECOND) / HOUR)),
      count(one.cold_starts),
      one.median_cold_start_seconds === null ? '-' : `${seconds(one.median_cold_start_seconds)} s`,
      count(one.instances_lost),
    ]),
  ]
  return turned.length === 0 ? '' : `Hours in each status, cold starts, instances lost\n${table(rows)}`
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
  return `${counted(total, 'cold start')}, seconds\n${table(rows)}`
}

function failures({ failures: told }: Report): string {
  const things = [
    told.node_crashes > 0 && counted(told.node_crashes, 'node crash', 'node crashes'),
    told.node_preemptions > 0 && counted(told.node_preemptions, 'node preempted', 'nodes preempted'),
    told.gpu_failures > 0 && counted(told.gpu_failures, 'GPU error'),
    told.zone_outages > 0 && counted(told.zone_outages, 'zone outage'),
    told.deployments_failed > 0 && counted(told.deployments_failed, 'deployment failed', 'deployments failed'),
  ].filter(thing => thing !== false)
  const lost = Object.entries(told.instances_lost_to)
    .filter(([, times]) => times > 0)
    .map(([what, times]) => `${count(times)} to ${what.replaceAll('_', ' ')}`)
  const by = lost.length === 0 ? '' : `: ${lost.join(', ')}`
  const instances = `${counted(told.instances_lost, 'instance')} lost${by}`
  return things.length === 0 && told.instances_lost === 0
    ? 'No failures'
    : `Failures: ${[...things, instances].join('; ')}`
}

function batches({ batches: told }: Report): string {
  const { created, completed, failed, expired, cancelled, lines_done, lines_failed } = told
  const ended = [completed, failed, expired, cancelled]
  if (created === 0 && lines_done === 0 && ended.every(one => one === 0)) return ''
  return (
    `Batches: ${count(created)} created, ${count(completed)} completed, ${count(failed)} failed, ${count(expired)} expired, ` +
    `${count(cancelled)} cancelled; ${counted(lines_done, 'line')} done, ${count(lines_failed)} of them failed`
  )
}

function tokens({ tokens: { input, output } }: Pick<DeploymentReport, 'tokens'>): string[] {
  return [input, output].map(count)
}

function hasRequests({ requests }: DeploymentReport): boolean {
  return Object.values(requests).some(one => one > 0)
}

function gpuHours({ held_gpu_hours, billed_gpu_hours, used_gpu_hours, wasted_gpu_hours }: GpuHours): string[] {
  return [held_gpu_hours, billed_gpu_hours, used_gpu_hours, wasted_gpu_hours].map(hours)
}

/** Columns two spaces apart, indented by two: the first `texts` to the left, the others to the right. */
function table(rows: readonly (readonly string[])[], texts = 1): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows
    .map(row => {
      const cells = row.map((cell, i) => (i < texts ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      return `  ${cells.join('  ')}`.trimEnd()
    })
    .join('\n')
}

function dollars(microcents: number): string {
  return fixed(microcents / MICROCENTS_PER_DOLLAR, 2)
}

function hours(value: number): string {
  return fixed(value, 1)
}

function seconds(value: number): string {
  return fixed(value, 1)
}

function percent(share: number | null): string {
  return share === null ? '-' : `${fixed(share * 100, 1)} %`
}

function count(value: number): string {
  return value.toLocaleString('en')
}

function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

function fixed(value: number, digits: number): string {
  const text = value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return /[1-9]/.test(text) ? text : text.replace('-', '')
}

/** Without the microseconds, where there are none. */
function moment(iso: string): string {
  return iso.replace('.000000+00:00', 'Z')
}
