/** `modelhost-sim report`: prints the report of a running server. */
import type { Argv } from 'yargs'
import type * as z from 'zod'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { tryParseJson } from '../../lib/json-text.ts'
import type { PendingRequestSchema } from '../../server/control/waiting-view.ts'
import type { Report } from '../../simulation/reporting/report-types.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { formatReport } from '../report-text.ts'
import { plotFlag, plotStep, requirePlottable, writePlot } from '../series/plot-files.ts'
import { askServer, requestServer, type ServerArguments, serverFlags } from '../server-client.ts'
import { duration, flag, requireKnownVariables, text, toggle } from '../values.ts'

export const command = 'report'
export const describe = 'Print what the world of a running server did and cost, and its pending requests'

export interface ReportArguments extends ServerArguments {
  from?: string | undefined
  to?: string | undefined
  json?: boolean | undefined
  plot?: string | undefined
  step?: Micros | undefined
}

export function builder(argv: Argv): Argv<ReportArguments> {
  const options = flags()
  return argv
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 report', 'from the start of the world, of a server on this machine')
    .example('$0 report --plot report.svg', 'with a picture of money, GPU-hours, queue, refusals and latency')
    .example('$0 report --from 2026-01-02T00:00:00Z --json', 'since a time, as JSON')
    .epilogue(
      `Each flag has an environment variable: MODELHOST_SIM_FLAG_NAME. A flag takes precedence.\n${EXIT_CODES}`,
    ) as unknown as Argv<ReportArguments>
}

function flags() {
  return {
    ...serverFlags(),
    from: {
      ...flag('from', 'Start: ISO 8601 with offset, or Unix seconds. Default: the start of the world'),
      coerce: text('from'),
    },
    to: {
      ...flag('to', 'End. Default: now'),
      coerce: text('to'),
    },
    json: toggle('json', 'Print one JSON object'),
    plot: plotFlag(),
    step: {
      ...flag('step', 'Length of a step of the picture. Default: so that it has at most 200 steps'),
      coerce: duration('step', '5m'),
    },
  }
}

export async function handler(args: ReportArguments): Promise<void> {
  const { plot, step } = args
  if (step !== undefined && plot === undefined) {
    throw new UsageError('Failed to report: --step needs --plot. Leave it out, or give --plot and a file.')
  }
  if (plot !== undefined) requirePlottable(plot)
  const report = await fetchReport(args)
  if (plot !== undefined) {
    const { from, to, seconds } = report
    const stepMicros = plotStep(Math.round(seconds * SECOND), step)
    // The window is that of the report, also if time moves on meanwhile.
    writePlot(plot, await fetchReport({ ...args, from, to }, stepMicros), stepMicros)
  }
  process.stdout.write(args.json ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report))
  // Pending requests are about now: not part of a window, nor of JSON.
  if (!args.json && args.to === undefined) process.stderr.write(await waiting(args))
}

/** Returns a line for each request that waits for time to move. */
async function waiting(server: ServerArguments): Promise<string> {
  const answer = await requestServer(server, '', 'pending requests')
  const { waiting = [] } = (tryParseJson(await answer.text()) ?? {}) as {
    waiting?: z.output<typeof PendingRequestSchema>[]
  }
  return waiting
    .map(({ request, model, for: what, since, until }) => {
      const who = model === null ? request : `${request} (${model})`
      const when = until === null ? 'which no scheduled event brings' : `which comes at ${until}`
      return `${who} has waited since ${since} for ${what}, ${when}.\n`
    })
    .join('')
}

/** @param step the step of its series; undefined for none */
async function fetchReport({ from, to, ...server }: ReportArguments, step?: Micros): Promise<Report> {
  const window = new URLSearchParams({
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(step !== undefined && { step: `${step}us` }),
  })
  return askServer(server, `report?${window}`, 'a report', 'money')
}
