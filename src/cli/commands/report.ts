/** `modelhost-sim report`: asks a running server what its world did and cost. */
import type { Argv } from 'yargs'
import type * as z from 'zod'
import type { PendingRequestSchema } from '../../control/waiting-view.ts'
import { tryParseJson } from '../../lib/json-text.ts'
import type { Report } from '../../simulation/reporting/report.ts'
import { EXIT_CODES } from '../command.ts'
import { formatReport } from '../report-text.ts'
import { notSimulatorError, requestServer, type ServerArguments, serverFlags } from '../server-client.ts'
import { flag, requireKnownVariables, text, toggle } from '../values.ts'

export const command = 'report'
export const describe = 'Ask a running server what its world did and cost, and who waits in it for time'

export interface ReportArguments extends ServerArguments {
  from?: string | undefined
  to?: string | undefined
  json?: boolean | undefined
}

export function builder(argv: Argv): Argv<ReportArguments> {
  const options = flags()
  return argv
    .options(options)
    .middleware(() => requireKnownVariables(Object.keys(options)))
    .example('$0 report', 'of the whole life of the world of a server on this machine')
    .example('$0 report --from 2026-01-02T00:00:00Z --json', 'since a moment, as JSON')
    .epilogue(
      `Every flag can be given as MODELHOST_SIM_FLAG_NAME too; a flag wins.\n${EXIT_CODES}`,
    ) as unknown as Argv<ReportArguments>
}

function flags() {
  return {
    ...serverFlags(),
    from: {
      ...flag('from', 'Since when: ISO 8601 with offset, or Unix seconds; the start of the world unless given'),
      coerce: text('from'),
    },
    to: {
      ...flag('to', 'Until when; now unless given'),
      coerce: text('to'),
    },
    json: toggle('json', 'The report as one JSON object'),
  }
}

export async function handler(args: ReportArguments): Promise<void> {
  const report = await fetchReport(args)
  process.stdout.write(args.json ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report))
  // What is so now is nothing of a window, nor of a report that somebody reads by machine.
  if (!args.json && args.to === undefined) process.stderr.write(await waiting(args))
}

/** Who waits in the world for its time to be moved, a line each. */
async function waiting(server: ServerArguments): Promise<string> {
  const answer = await requestServer(server, '', 'who waits')
  const { waiting = [] } = (tryParseJson(await answer.text()) ?? {}) as {
    waiting?: z.output<typeof PendingRequestSchema>[]
  }
  return waiting
    .map(({ request, model, for: what, since, until }) => {
      const who = model === null ? request : `${request} (${model})`
      const when = until === null ? 'and nothing that is planned brings it' : `which comes at ${until}`
      return `${who} waits since ${since} for ${what}, ${when}.\n`
    })
    .join('')
}

async function fetchReport({ from, to, ...server }: ReportArguments): Promise<Report> {
  const window = new URLSearchParams({ ...(from !== undefined && { from }), ...(to !== undefined && { to }) })
  const answer = await requestServer(server, `report?${window}`, 'a report')
  const body = tryParseJson(await answer.text())
  if (isReport(body)) return body
  throw notSimulatorError(server.url, 'a report', answer.status)
}

function isReport(body: unknown): body is Report {
  return typeof body === 'object' && body !== null && 'money' in body && 'deployments' in body
}
