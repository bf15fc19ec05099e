/** Logs in words, as an engine and who runs it would write them: a level, and what happened. */
import { formatDuration, MINUTE, type Micros } from '../../kernel/duration.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { formatLogLine } from '../journal-kinds.ts'
import { EMPTY_FLOW, type RequestFlow, toWholeRequests } from '../load/request-flow.ts'
import { requestsInProgress } from '../load/request-totals.ts'
import { CONTROLLER, type LogLine } from '../recording/deployment-logs.ts'
import type { ServingSegment } from '../recording/history-records.ts'
import type { World } from '../world.ts'
import { type ServingFigures, servingFigures } from './time-series.ts'

/** How often a controller counts requests: at whole multiples since the epoch of the world. */
const COUNT_INTERVAL: Micros = 5 * MINUTE

/** A line as it is read. */
export interface LogMessage {
  readonly at: Micros
  /** `<deploy_id>-<nth>`, or `<deploy_id>-controller`. */
  readonly pod: string
  readonly text: string
}

export interface LogWindow {
  readonly from: Micros
  readonly to: Micros
  /** The newest so many. */
  readonly limit: number
  /** The pod whose lines are returned. Default: all pods. */
  readonly pod?: string | undefined
}

/** The newest lines of a deployment between two moments, oldest first. */
export function logMessages(world: World, deployment: number, window: LogWindow): LogMessage[] {
  const { from, to, limit, pod } = window
  const row = world.deployments.read(deployment)
  const messages: LogMessage[] = []
  const lastLines = new Map<number, LogLine>()
  for (const line of world.deploymentLogs.linesOf(deployment)) {
    if (line.at > to) break
    const linePod = podName(row, line.instanceIndex)
    if (line.at >= from && (pod === undefined || pod === linePod)) {
      const text = formatMessage(world, row, line, lastLines.get(line.instanceIndex))
      messages.push({ at: line.at, pod: linePod, text })
    }
    lastLines.set(line.instanceIndex, line)
  }
  const hasCounts = pod === undefined || pod === podName(row, CONTROLLER)
  const countMessages = hasCounts ? requestCountMessages(world, row, window) : []
  // Entries of one time keep their order; a count follows them.
  return [...messages, ...countMessages].sort((a, b) => a.at - b.at).slice(-limit)
}

function podName({ id }: Readonly<DeploymentRow>, instanceIndex: number): string {
  return instanceIndex === CONTROLLER ? `${id}-controller` : `${id}-${instanceIndex}`
}

/** Requests up to a moment: those of the load, and those that clients made. */
type RequestCounters = Readonly<Record<'served' | 'refused' | 'failed' | 'left' | 'waiting', number>>

/** The requests, counted at regular moments while there are any. */
function requestCountMessages(
  world: World,
  row: Readonly<DeploymentRow>,
  { from, to, limit }: LogWindow,
): LogMessage[] {
  const { history } = world
  // Read backwards, chapter by chapter, because only the newest lines are asked for.
  const segments = history.servingSegments(row)
  let segment: ServingSegment | undefined = segments.next().value ?? undefined
  const offeredAt = (at: Micros): RequestFlow => {
    while (segment !== undefined && segment.at > at) segment = segments.next().value ?? undefined
    return segment === undefined ? EMPTY_FLOW : history.totalsWithin(segment, at).served
  }
  const pod = podName(row, CONTROLLER)
  const messages: LogMessage[] = []
  const countersBefore = requestCountersAt(
    world,
    row,
    from - COUNT_INTERVAL,
    history.totalsAt(row, from - COUNT_INTERVAL).served,
  )
  let end = to - (to % COUNT_INTERVAL)
  let offered = offeredAt(end)
  let counters = requestCountersAt(world, row, end, offered)
  while (
    end >= from &&
    end > 0 &&
    messages.length < limit &&
    (counters.waiting > 0 || endedRequests(counters) > endedRequests(countersBefore))
  ) {
    const figures = segment && servingFigures(segment, offered, end)
    const start = end - COUNT_INTERVAL
    offered = offeredAt(start)
    const earlier = requestCountersAt(world, row, start, offered)
    const text = formatCounters(earlier, counters)
    if (text !== undefined) messages.push({ at: end, pod, text: `${text}${figures ? formatServing(figures) : ''}` })
    end = start
    counters = earlier
  }
  return messages.reverse()
}

function requestCountersAt(
  { history }: World,
  row: Readonly<DeploymentRow>,
  at: Micros,
  offered: RequestFlow,
): RequestCounters {
  const loadTotals = toWholeRequests(offered)
  // A count at a moment has what happened at that moment; before the world nothing did.
  const clientTotals = history.requests.totalsAt(row, at <= 0 ? -1 : at)
  return {
    served: loadTotals.served + clientTotals.served,
    refused: loadTotals.refused + clientTotals.refused,
    failed: clientTotals.failed,
    left: clientTotals.left,
    waiting: loadTotals.backlog + requestsInProgress(clientTotals),
  }
}

function endedRequests({ served, refused, failed, left }: RequestCounters): number {
  return served + refused + failed + left
}

/** Undefined for a stretch without requests. */
function formatCounters(before: RequestCounters, after: RequestCounters): string | undefined {
  const served = after.served - before.served
  const refused = after.refused - before.refused
  const failed = after.failed - before.failed
  const left = after.left - before.left
  if (served + refused + failed + left + after.waiting === 0) return undefined
  const level = refused + failed > 0 ? 'WARNING' : 'INFO'
  const failedText = failed > 0 ? `, ${failed} cut off` : ''
  const leftText = left > 0 ? `, ${left} left before their turn` : ''
  return `${level} last ${formatDuration(COUNT_INTERVAL)}: ${served} requests served, ${refused} refused${failedText}${leftText}, ${after.waiting} waiting`
}

function formatServing(figures: ServingFigures): string {
  const { concurrency, time_to_first_token_seconds: first, tokens_per_second } = figures
  const firstToken = first === null ? 'no instance is ready' : `first token after ${first.toFixed(2)} s`
  return `; ${Math.round(concurrency)} in work, ${firstToken}, ${Math.round(tokens_per_second)} tokens/s`
}

function formatMessage(
  world: World,
  row: Readonly<DeploymentRow>,
  line: LogLine,
  previousLine: LogLine | undefined,
): string {
  const { kind, fields = {}, at } = line
  const { plan, weights, numGpus, gpu, maxBatchSize } = row
  return formatLogLine(kind, {
    ...{ fields, numGpus, gpu, maxBatchSize },
    status: kind.slice(kind.indexOf('.') + 1),
    modelName: plan.modelName,
    isOfCatalog: !plan.hasInstances,
    repo: weights.repo || plan.modelName,
    image: plan.containerImage === '' ? "the provider's image" : `image ${plan.containerImage}`,
    gigabytes: `${(weights.bytes / 1e9).toFixed(1)} GB`,
    // A deployment of a fixture is older than the world.
    created: plan.createdAt === at ? 'created' : `created at ${world.clock.iso(plan.createdAt)}`,
    durationAfter: previousKind =>
      previousLine !== undefined && previousLine.at < at && previousKind === previousLine.kind
        ? ` after ${formatDuration(at - previousLine.at)}`
        : '',
  })
}
