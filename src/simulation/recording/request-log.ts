import type { Archive } from '../../kernel/archive.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import {
  addArrival,
  addRequest,
  NO_REQUESTS,
  type RequestOutcome,
  type RequestTotals,
  type RequestWorkDone,
} from '../load/request-totals.ts'
import { type RecordedDeployment, TIMES, TOTALS } from './history-records.ts'

/** The resolution of request totals. One line per interval keeps memory proportional to time, not to requests. */
const INTERVAL: Micros = 10 * SECOND

type RecordedRequests = Pick<RecordedDeployment, 'requests' | 'lastRequestsLine'>

/** The totals of the single requests of deployments, and how long the requests took. */
export class RequestLog {
  readonly #totals = new NumberLog(TOTALS.width)
  /** How many requests of an interval took how long. */
  readonly #times = new NumberLog(TIMES.width)

  archive(archive: Archive): void {
    this.#totals.archive(archive)
    this.#times.archive(archive)
  }

  /** Counts the arrival of a request. */
  onArrived(row: RecordedRequests, now: Micros): void {
    this.#save(row, now)
    row.requests = addArrival(row.requests, now)
  }

  /** Counts the end of a request. */
  onEnded(row: RecordedRequests, now: Micros, end: RequestOutcome, work: RequestWorkDone): void {
    this.#save(row, now)
    row.requests = addRequest(row.requests, now, end, work)
  }

  /** Returns the totals of a deployment at a time, with a resolution of ten seconds. */
  totalsAt(row: Readonly<RecordedRequests>, at: Micros): RequestTotals {
    if (row.requests.at <= at) return row.requests
    const log = this.#totals
    for (let line = row.lastRequestsLine; line >= 0; line = log.at(line, TOTALS.previous)) {
      if (log.at(line, TOTALS.at) > at) continue
      return {
        at: log.at(line, TOTALS.at),
        arrived: log.at(line, TOTALS.arrived),
        served: log.at(line, TOTALS.served),
        refused: log.at(line, TOTALS.refused),
        failed: log.at(line, TOTALS.failed),
        left: log.at(line, TOTALS.left),
        promptTokens: log.at(line, TOTALS.promptTokens),
        answerTokens: log.at(line, TOTALS.answerTokens),
        workTime: log.at(line, TOTALS.workTime),
        recentTimes: NO_REQUESTS.recentTimes,
        timesLine: log.at(line, TOTALS.timesLine),
      }
    }
    return NO_REQUESTS
  }

  /** Yields how many requests between two totals took how long, as pairs of a key of times and a count. */
  *timesBetween(from: RequestTotals, to: RequestTotals): Generator<readonly [key: number, count: number]> {
    if (from === to) return
    yield* to.recentTimes
    const log = this.#times
    for (let line = to.timesLine; line > from.timesLine; line = log.at(line, TIMES.previous)) {
      yield [log.at(line, TIMES.key), log.at(line, TIMES.count)]
    }
  }

  /** Appends the totals if their interval is over. */
  #save(row: RecordedRequests, now: Micros): void {
    const { at, arrived, served, refused, failed, left, promptTokens, answerTokens, workTime } = row.requests
    if (at < 0 || Math.floor(at / INTERVAL) === Math.floor(now / INTERVAL)) return
    let { timesLine } = row.requests
    for (const [key, count] of row.requests.recentTimes) timesLine = this.#times.push([timesLine, key, count])
    row.requests = { ...row.requests, recentTimes: NO_REQUESTS.recentTimes, timesLine }
    const counts = [arrived, served, refused, failed, left, promptTokens, answerTokens]
    row.lastRequestsLine = this.#totals.push([row.lastRequestsLine, at, ...counts, workTime, timesLine])
  }
}
