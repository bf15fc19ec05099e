/** The requests and tokens of a deployment in a window. */

import type { Micros } from '../../kernel/duration.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { type RequestFlow, toWholeRequests } from '../load/request-flow.ts'
import { requestsInProgress } from '../load/request-totals.ts'
import type { World } from '../world.ts'
import { sumBy } from './figures.ts'
import type { RequestCounts, TokenCounts } from './report-types.ts'
import { exclusiveStart } from './report-window.ts'

/** Returns the requests of the offered load between two states of its flow. */
export function loadRequestsBetween(from: RequestFlow, to: RequestFlow): RequestCounts {
  const [before, after] = [toWholeRequests(from), toWholeRequests(to)]
  return {
    waiting_before: before.backlog,
    arrived: after.arrived - before.arrived,
    served: after.served - before.served,
    refused: after.refused - before.refused,
    failed: 0,
    left: 0,
    waiting: after.backlog,
  }
}

/** Returns the requests of clients after `from`, up to and including `to`. */
export function clientRequestsBetween(
  { history }: World,
  row: Readonly<DeploymentRow>,
  from: Micros,
  to: Micros,
): RequestCounts {
  const [before, after] = [history.requests.totalsAt(row, exclusiveStart(from)), history.requests.totalsAt(row, to)]
  return {
    waiting_before: requestsInProgress(before),
    arrived: after.arrived - before.arrived,
    served: after.served - before.served,
    refused: after.refused - before.refused,
    failed: after.failed - before.failed,
    left: after.left - before.left,
    waiting: requestsInProgress(after),
  }
}

/** Sums request counts field by field. */
export function sumRequests(all: readonly RequestCounts[]): RequestCounts {
  return {
    waiting_before: sumBy(all, counts => counts.waiting_before),
    arrived: sumBy(all, counts => counts.arrived),
    served: sumBy(all, counts => counts.served),
    refused: sumBy(all, counts => counts.refused),
    failed: sumBy(all, counts => counts.failed),
    left: sumBy(all, counts => counts.left),
    waiting: sumBy(all, counts => counts.waiting),
  }
}

/** Returns the tokens of a deployment after `from`, up to and including `to`. */
export function tokensBetween(world: World, row: Readonly<DeploymentRow>, from: Micros, to: Micros): TokenCounts {
  const [before, after] = [tokensAt(world, row, from), tokensAt(world, row, to)]
  return { input: after.input - before.input, output: after.output - before.output }
}

/** Returns the tokens that a deployment had served by a time. */
function tokensAt({ history }: World, row: Readonly<DeploymentRow>, at: Micros): TokenCounts {
  const clientTotals = history.requests.totalsAt(row, exclusiveStart(at))
  let input = 0
  let output = 0
  let end = at
  for (const segment of history.servingSegments(row)) {
    if (segment.at > at) continue
    const { load, served } = segment
    if (load) {
      const requests = history.totalsWithin(segment, end).served.served - served.served
      input += requests * load.speed.promptTokens
      output += requests * load.speed.outputTokens
    }
    end = segment.at
  }
  return {
    input: Math.floor(input) + clientTotals.promptTokens,
    output: Math.floor(output) + clientTotals.answerTokens,
  }
}
