import type { Argv } from 'yargs'
import { controlPage } from '../../server/control/describe.ts'
import { controlOperations } from '../../server/control/index.ts'
import { operations } from '../../service/index.ts'
import { readNames } from '../../service/naming/names-profile.ts'
import { VendorMapping } from '../../service/naming/translation.ts'
import { type EndpointRow, endpointTable } from '../../service/openapi/endpoint-table.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { tableRow } from '../markdown.ts'
import { text } from '../values.ts'

interface Arguments {
  json: boolean
  markdown: boolean
  control: boolean
  names?: string | undefined
}

export const command = 'endpoints'
export const describe = 'List every endpoint, its provenance and its assumptions'

export function builder(argv: Argv): Argv<Arguments> {
  return argv
    .options({
      json: { type: 'boolean', default: false, describe: 'Print one JSON document' },
      markdown: { type: 'boolean', default: false, describe: 'Print a Markdown table with the assumptions' },
      control: {
        type: 'boolean',
        default: false,
        describe: 'List the endpoints of the control plane under /_sim instead',
      },
      names: {
        type: 'string',
        requiresArg: true,
        describe: 'File with a names profile: the paths and fields of your provider',
        coerce: text('names'),
      },
    })
    .example('$0 endpoints', 'a table for people')
    .example('$0 endpoints --json', 'every assumption too, for programs')
    .example('$0 endpoints --control --markdown', 'the control plane, with inputs and a command to paste')
    .epilogue(EXIT_CODES) as unknown as Argv<Arguments>
}

export function handler({ json, markdown, control, names }: Arguments): void {
  if (json && markdown)
    throw new UsageError('Failed to print: --json and --markdown exclude each other. Give one of them.')
  if (control && names !== undefined) {
    throw new UsageError(
      'Failed to print: names profiles do not apply to the control plane. Leave out --names or --control.',
    )
  }
  const named = names === undefined ? undefined : new VendorMapping(readNames(names), operations).names
  const rows = endpointTable(control ? controlOperations : operations, named)
  const text = json
    ? JSON.stringify(rows, null, 2)
    : !markdown
      ? plainTable(rows, control)
      : control
        ? controlPage(controlOperations)
        : endpointsTable(rows)
  process.stdout.write(`${text}\n`)
}

function plainTable(rows: readonly EndpointRow[], control: boolean): string {
  // All endpoints of the control plane have the same origin, so their summary is more useful.
  const cells = rows.map(row => [
    row.method,
    row.path,
    control ? row.operation : row.provenance,
    control ? row.summary : row.operation,
  ])
  const widths = [0, 1, 2].map(column => Math.max(...cells.map(line => line[column]!.length)))
  const lines = cells.map(line =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const count = (provenance: string) => rows.filter(row => row.provenance === provenance).length
  const origins = `${count('documented')} documented, ${count('neighbour')} neighbours (not in the document, but needed by clients that follow it)${
    count('assumed') === 0 ? '' : `, ${count('assumed')} assumed (neither in the document nor needed by it)`
  }`
  return [...lines, '', `${rows.length} endpoints${control ? ' of the control plane' : `: ${origins}`}`].join('\n')
}

/** Returns the table of docs/endpoints.md. */
export function endpointsTable(rows: readonly EndpointRow[]): string {
  return [
    '| Endpoint | Operation | Provenance | Summary | Assumptions |',
    '|---|---|---|---|---|',
    ...rows.map(({ method, path, operation, provenance, summary, assumed }) =>
      tableRow([
        `\`${method} ${path}\``,
        `\`${operation}\``,
        provenance,
        summary,
        assumed.flatMap(assumption => assumption.split('; ')).join('<br>'),
      ]),
    ),
  ].join('\n')
}
