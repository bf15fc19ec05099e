/** `modelhost-sim report`: asks a running server what its world did and cost. */
import type { Argv } from 'yargs'
import type { Report } from '../cluster/report.ts'
import { CONTROL_TOKEN_HEADER } from '../control/guards.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../serve.ts'
import { jsonValue } from '../store/json-text.ts'
import { EXIT_CODES, UsageError } from './command.ts'
import { reportText } from './report-text.ts'
import { demandKnownVariables, flag, text, toggle } from './values.ts'

export const command = 'report'
export const describe = 'Ask a running server what its world did and cost'

export interface ReportArguments {
  url: string
  from?: string | undefined
  to?: string | undefined
  json?: boolean | undefined
  controlToken?: string | undefined
}

export function builder(argv: Argv): Argv<ReportArguments> {
  const options = flags()
  return argv
    .options(options)
    .middleware(() => demandKnownVariables(Object.keys(options)))
    .example('$0 report', 'of the whole life of the world of a server on this machine')
    .example('$0 report --from 2026-01-02T00:00:00Z --json', 'since a moment, as JSON')
    .epilogue(
      `Every flag can be given as MODELHOST_SIM_FLAG_NAME too; a flag wins.\n${EXIT_CODES}`,
    ) as unknown as Argv<ReportArguments>
}

function flags() {
  return {
    url: {
      ...flag('url', 'Address of the server', `http://${DEFAULT_HOST}:${DEFAULT_PORT}`),
      coerce: text('url'),
    },
    from: {
      ...flag('from', 'Since when: ISO 8601 with offset, or Unix seconds; the start of the world unless given'),
      coerce: text('from'),
    },
    to: {
      ...flag('to', 'Until when; now unless given'),
      coerce: text('to'),
    },
    json: toggle('json', 'The report as one JSON object'),
    'control-token': {
      ...flag('control-token', 'Token of the control plane, which a server beyond loopback asks for'),
      coerce: text('control-token'),
    },
  }
}

export async function handler(args: ReportArguments): Promise<void> {
  const report = await ask(args)
  process.stdout.write(args.json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report))
}

async function ask({ url, from, to, controlToken }: ReportArguments): Promise<Report> {
  const target = addressOf(url)
  if (from !== undefined) target.searchParams.set('from', from)
  if (to !== undefined) target.searchParams.set('to', to)
  let answer: Response
  try {
    answer = await fetch(target, {
      headers: controlToken === undefined ? {} : { [CONTROL_TOKEN_HEADER]: controlToken },
    })
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } }
    throw new UsageError(
      `Failed to ask ${url} for a report: no server answers there${cause?.code ? ` (${cause.code})` : ''}. ` +
        'Start one with modelhost-sim serve, or name where it is with --url.',
    )
  }
  const body = jsonValue(await answer.text())
  if (answer.ok && isReport(body)) return body
  const { error } = (body ?? {}) as { error?: unknown }
  throw new UsageError(
    typeof error === 'string' && error.startsWith('Failed to ')
      ? error
      : `Failed to ask ${url} for a report: what answers there (${answer.status}) is no modelhost-sim that tells any. ` +
          'Name where one is with --url.',
  )
}

function addressOf(url: string): URL {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(
      `Failed to read --url '${url}': no address of a server. Give one, as in --url http://${DEFAULT_HOST}:${DEFAULT_PORT}.`,
    )
  }
  return new URL(`${url.replace(/\/+$/, '')}/_sim/report`)
}

function isReport(body: unknown): body is Report {
  return typeof body === 'object' && body !== null && 'money' in body && 'deployments' in body
}
