import { groupBy } from '../../../lib/lists.ts'
import type { AnswersByRoute } from '../../control/client/index.ts'
import type { ChartMark } from './chart.ts'

type Report = AnswersByRoute['GET /_sim/report']

/** What charts read of a report. `Report` of the package fits, and so does the JSON of `GET /_sim/report`. */
export interface PlottedReport extends Pick<Report, 'from' | 'to' | 'fixture' | 'seed' | 'profile' | 'weather'> {
  readonly commands: Pick<Report['commands'], 'newest'>
  /** By time. A report without a step has none. */
  readonly series?: Iterable<PlottedStep>
}

/** What charts read of a row of a series. */
export type PlottedStep = Pick<
  NonNullable<Report['series']>[number],
  | ('time' | 'deployment' | 'served' | 'refused' | 'backlog' | 'time_to_first_token_seconds')
  | ('cost_microcents' | 'held_gpu_hours' | 'used_gpu_hours')
>

/** The series of a report, by deployment. Times are Unix seconds. */
export type Steps = ReturnType<typeof readSteps>

/**
 * Reads the rows of a report once. Deployments with one name, such as one that was created again, count as one.
 *
 * @param stepSeconds the length of a step; without it, steps in which no deployment existed are left out
 */
export function readSteps({ from, to, commands, series = [] }: PlottedReport, stepSeconds?: number) {
  const [start, end] = [toSeconds(from), toSeconds(to)]
  const times: number[] = []
  const rows: { readonly step: number; readonly row: PlottedStep }[] = []
  const addStepsUpTo = (time: number) => {
    if (stepSeconds === undefined) return times.push(time)
    // A millisecond is less than any step, and more than what seconds are off.
    while ((times.at(-1) ?? start) < time - 0.001) times.push(Math.min(start + (times.length + 1) * stepSeconds, end))
  }
  let time = ''
  for (const row of series) {
    if (row.time !== time) {
      time = row.time
      addStepsUpTo(toSeconds(time))
    }
    rows.push({ step: times.length - 1, row })
  }
  if (stepSeconds !== undefined) addStepsUpTo(end)
  const byName = groupBy(rows, ({ row }) => row.deployment)
  const columns = Array.from(byName, ([name, ofName]) => {
    const of = (read: (row: PlottedStep) => number) => {
      const sums = times.map(() => 0)
      for (const { step, row } of ofName) sums[step]! += read(row)
      return sums
    }
    const newest = new Map(ofName.map(({ step, row }) => [step, row]))
    return {
      name,
      /** Micro-cents of each step; the other figures too have a value for each. */
      cost: of(row => row.cost_microcents),
      held: of(row => row.held_gpu_hours),
      used: of(row => row.used_gpu_hours),
      backlog: of(row => row.backlog),
      served: of(row => row.served),
      refused: of(row => row.refused),
      /** Seconds. */
      firstToken: times.map((_, i) => newest.get(i)?.time_to_first_token_seconds ?? null),
    }
  })
  return {
    from: start,
    to: end,
    /** The ends of the steps, and their lengths in hours, at least a microsecond. */
    times,
    hours: times.map((time, i) => Math.max(time - (times[i - 1] ?? start), 1e-6) / 3600),
    deployments: columns,
    marks: commands.newest.map(
      ({ at, verb, target }): ChartMark => ({ time: toSeconds(at), text: `${verb} ${target}` }),
    ),
  }
}

/** Returns Unix seconds with their fraction: `Date.parse` keeps three digits of it. */
function toSeconds(iso: string): number {
  const [, whole, fraction = '', offset] = /^(.*?)(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(iso) ?? []
  return Date.parse(`${whole}${offset}`) / 1000 + Number(`0${fraction}`)
}
