import type { Argv } from 'yargs'
import { operations } from '../api/index.ts'
import { type EndpointRow, endpointTable } from '../api/table.ts'
import { EXIT_CODES, UsageError } from './command.ts'

interface Arguments {
  json: boolean
  markdown: boolean
}

export const command = 'endpoints'
export const describe = 'List every endpoint, and what of it is documented, a neighbour or assumed'

export function builder(argv: Argv): Argv<Arguments> {
  return argv
    .options({
      json: { type: 'boolean', default: false, describe: 'As one JSON document' },
      markdown: { type: 'boolean', default: false, describe: 'As a Markdown table, with what is assumed' },
    })
    .example('$0 endpoints', 'a table for people')
    .example('$0 endpoints --json', 'the same with every assumption, for programs')
    .epilogue(EXIT_CODES) as unknown as Argv<Arguments>
}

export function handler({ json, markdown }: Arguments): void {
  if (json && markdown) throw new UsageError('Failed to print: --json and --markdown are two forms. Give one.')
  const rows = endpointTable(operations)
  process.stdout.write(`${json ? JSON.stringify(rows, null, 2) : markdown ? markdownTable(rows) : plainTable(rows)}\n`)
}

function plainTable(rows: readonly EndpointRow[]): string {
  const cells = rows.map(row => [row.method, row.path, row.provenance, row.operation])
  const widths = [0, 1, 2].map(column => Math.max(...cells.map(line => line[column]!.length)))
  const lines = cells.map(line =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const count = (provenance: string) => rows.filter(row => row.provenance === provenance).length
  return [
    ...lines,
    '',
    `${rows.length} endpoints: ${count('documented')} documented, ${count('neighbour')} neighbours (not in the document, needed to follow it)`,
  ].join('\n')
}

function markdownTable(rows: readonly EndpointRow[]): string {
  return [
    '| Endpoint | Operation | Provenance | Summary | Assumed |',
    '|---|---|---|---|---|',
    ...rows.map(({ method, path, operation, provenance, summary, assumed }) => {
      const cells = [`\`${method} ${path}\``, `\`${operation}\``, provenance, summary, assumed.join('; ')]
      return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
    }),
  ].join('\n')
}
