/** The pages of docs that are written from declarations. */
import { readFileSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import * as z from 'zod'
import { tableRow } from '../../src/cli/commands/replay.ts'
import { figure, percent, setUpOf, signed } from '../../src/cli/commands/validate.ts'
import { type ListedScenario, list } from '../../src/cli/run/list.ts'
import { compareRows, errorsByClass, publishedRows } from '../../src/cli/validate/rows.ts'
import {
  BATCH_LIFECYCLE,
  CONTAINER_LIFECYCLE,
  DEPLOYMENT_LIFECYCLE,
  HOSTED_LIFECYCLE,
} from '../../src/data/records/enums.ts'
import type { Lifecycle } from '../../src/data/records/lifecycle.ts'
import { LIMIT_SECTIONS } from '../../src/lib/limits.ts'
import { groupBy } from '../../src/lib/lists.ts'
import { controlOperations } from '../../src/server/control/index.ts'
import { operations } from '../../src/service/index.ts'
import { COMMON_ASSUMPTIONS } from '../../src/service/openapi/openapi.ts'
import { JOURNAL_SECTIONS } from '../../src/simulation/journal-kinds.ts'
import { FAULT_KINDS } from '../../src/simulator/faults/kinds/index.ts'
import type { FaultKind } from '../../src/simulator/faults/kinds/kind.ts'
import type { ConductRule } from '../../src/simulator/judge/rule.ts'
import { CONDUCT_RULES, OPTIONAL_RULES } from '../../src/simulator/judge/rules/conduct/index.ts'
import { RULES } from '../../src/simulator/judge/rules/index.ts'
import { controlPage } from './control-page.ts'
import { type GeneratedFile, ROOT } from './declarations.ts'
import { bulletList, endpointsTable, endpointTable } from './endpoint-table.ts'
import { pythonClient } from './python-client.ts'
import { settingRows } from './setting-rows.ts'

/** Returns the pages as the declarations are now. Text before the first generated line stays. */
export async function generatedPages(): Promise<GeneratedFile[]> {
  return [
    replacePart(
      page('docs/endpoints.md', '- Success is', bulletList(COMMON_ASSUMPTIONS), '\n\n'),
      '| Endpoint',
      `${endpointsTable(endpointTable(operations))}\n`,
    ),
    page('docs/control.md', '## ', `${controlPage(controlOperations)}\n`),
    page('docs/profile.md', '## timings', profileTables()),
    page('docs/validation.md', '## Errors by class', validationTables()),
    page('docs/incidents.md', '## ', await scenarioTables()),
    page('docs/journal.md', '### Requests', journalTables()),
    page('docs/fixtures.md', '- **deployment status:**', `${statusLists()}\n`),
    page('docs/model-reference.md', '### Deployment status', lifecycleTables()),
    page('docs/limits.md', '## ', limitTables()),
    page('docs/judge.md', '### ', conductRules()),
    page('docs/faults.md', '| Kind', faultKindTable(), '\n\n'),
    pythonClient(),
  ]
}

/** Returns a page with a replaced part. */
function page(path: string, start: string, text: string, end?: string): GeneratedFile {
  return replacePart({ path, text: readFileSync(join(ROOT, path), 'utf8') }, start, text, end)
}

/** Replaces the lines from the first that begins with `start` up to `end`, or to the end of the page. */
function replacePart({ path, text: old }: GeneratedFile, start: string, text: string, end?: string): GeneratedFile {
  const from = old.indexOf(`\n${start}`) + 1
  if (from === 0) throw new Error(`Failed to write ${path}: no line begins with '${start}'.`)
  const to = end === undefined ? old.length : old.indexOf(end, from)
  return { path, text: old.slice(0, from) + text + old.slice(to) }
}

async function scenarioTables(): Promise<string> {
  const written: string[] = []
  const errors: string[] = []
  const io = { out: (text: string) => written.push(text), error: (text: string) => errors.push(text), folder: ROOT }
  if ((await list({ json: true }, io)) !== 0) throw new Error(errors.join(''))
  return formatTables(JSON.parse(written.join('')))
}

/** Returns a table for each folder with scenarios, sorted by name. */
function formatTables(listed: readonly ListedScenario[]): string {
  const folders = [...new Set(listed.map(({ file }) => dirname(file)))].sort()
  const parts = folders.map(folder => {
    const rows = listed
      .filter(({ file }) => dirname(file) === folder)
      .map(({ file, title, teaches, client }) =>
        tableRow([`[${title}](../${file.replaceAll(sep, '/')})`, teaches, client]),
      )
    return [
      `## ${basename(folder)}`,
      '',
      '| Scenario | What it teaches | What a good client does |',
      '|---|---|---|',
      ...rows,
    ]
      .join('\n')
      .concat('\n')
  })
  return parts.join('\n')
}

function faultKindTable(): string {
  const rows = Object.entries(FAULT_KINDS as unknown as Record<string, FaultKind>).map(
    ([name, { summary, schema, example, lineError }]) =>
      `| \`${name}\` | ${summary} | ${fieldsOf(schema)} |${cell(quoted(lineError?.fields ?? []))} | \`${formatExample(example)}\` |`,
  )
  return ['| Kind | The client gets | Fields | Fields for lines | Example |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  )
}

/** Returns a table of the kinds of journal entries for each subject. */
function journalTables(): string {
  const sections = JOURNAL_SECTIONS.map(({ title, subject, kinds, note }) => {
    const rows = Object.entries(kinds).map(([kind, { meaning, fields }]) => {
      return `| \`${kind}\` |${cell(quoted(fields?.split(' ') ?? []))} | ${meaning} |`
    })
    const table = ['| Kind | Fields | Meaning |', '|---|---|---|', ...rows].join('\n')
    return [`### ${title}`, subject, table, note].filter(text => text !== undefined).join('\n\n')
  })
  return `${sections.join('\n\n')}\n`
}

/** Returns a table of the bounds on inputs for each section. */
function limitTables(): string {
  const sections = Object.entries(LIMIT_SECTIONS).map(([title, limits]) => {
    const rows = Object.entries(limits).map(([name, { max, unit, of, beyond }]) => {
      return `| \`${name}\` | ${of} | ${formatLimit(max, unit)} | ${beyond} |`
    })
    return [`## ${title}\n`, '| Name | Of | At most | Beyond it |', '|---|---|---|---|', ...rows].join('\n')
  })
  return `${sections.join('\n\n')}\n`
}

/** Returns a section for each rule of conduct. */
function conductRules(): string {
  const sections = Object.entries<ConductRule>(CONDUCT_RULES).map(([name, { summary, detail, advice, source }]) => {
    const inExplore = Object.hasOwn(RULES, name)
      ? 'on'
      : Object.hasOwn(OPTIONAL_RULES, name)
        ? `off; \`invariants: { ${name}: true }\` turns it on`
        : 'not there, because it has one client'
    const lines = [`- **What to do:** ${advice}`, `- **Why:** ${source}`, `- **In explore:** ${inExplore}.`]
    const text = detail === undefined ? summary : `${summary} ${detail}`
    return [`### ${name}`, fill(text, ''), lines.map(line => fill(line, '  ')).join('\n')].join('\n\n')
  })
  return `${sections.join('\n\n')}\n`
}

/** Breaks a text into lines of at most 118 characters. Each but the first begins with the indentation. */
function fill(text: string, indentation: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!
    if (last === '') lines[lines.length - 1] = word
    else if (last.length + word.length < 118) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`${indentation}${word}`)
  }
  return lines.join('\n')
}

/** Returns a limit with its unit; bytes as KiB or MiB. */
function formatLimit(max: number, unit: string): string {
  if (unit === 'bytes') return max >= 1_048_576 ? `${max / 1_048_576} MiB` : `${max / 1_024} KiB`
  const amount = new Intl.NumberFormat('en-US').format(max)
  return unit === 'count' ? amount : `${amount} ${unit}`
}

const LIFECYCLES = {
  'deployment status': DEPLOYMENT_LIFECYCLE,
  'batch status': BATCH_LIFECYCLE,
  'hosted state': HOSTED_LIFECYCLE,
  'container state': CONTAINER_LIFECYCLE,
} as const satisfies Readonly<Record<string, unknown>>

/** Returns the statuses that fixtures can have, as a list. */
function statusLists(): string {
  const { 'batch status': _, ...ofFixtures } = LIFECYCLES
  return Object.entries(ofFixtures)
    .map(([name, { statuses }]) => `- **${name}:** ${quoted(statuses)}`)
    .join('\n')
}

/** Returns a table of the statuses of each lifecycle. */
function lifecycleTables(): string {
  const phases = {
    inProgress: 'moves on by itself',
    settled: 'stays until something changes it',
    terminal: 'has ended',
  }
  const sections = Object.entries(LIFECYCLES).map(([name, lifecycle]: [string, Lifecycle<string>]) => {
    const rows = lifecycle.statuses.map(
      status => `| \`${status}\` | ${phases[lifecycle.phase(status)]} |${cell(quoted(lifecycle.next(status)))} |`,
    )
    const title = `### ${name[0]!.toUpperCase()}${name.slice(1)}`
    return [`${title}\n`, '| Value | Phase | Can be followed by |', '|---|---|---|', ...rows].join('\n')
  })
  return `${sections.join('\n\n')}\n`
}

/** Returns the text of a cell with the space before it; '' if it is empty. */
function cell(text: string): string {
  return text === '' ? '' : ` ${text}`
}

function quoted(words: readonly string[]): string {
  return words.map(word => `\`${word}\``).join(', ')
}

/** Returns the fields but `kind`: `` `name` `` if required, `` `name?` `` if optional, `` `name: default` `` otherwise. */
function fieldsOf({ shape }: z.ZodObject): string {
  return Object.entries(shape as Record<string, z.ZodType>)
    .filter(([name]) => name !== 'kind')
    .map(([name, field]) => {
      if (field instanceof z.ZodDefault) return `\`${name}: ${formatValue(field.def.defaultValue)}\``
      return field instanceof z.ZodOptional ? `\`${name}?\`` : `\`${name}\``
    })
    .join(', ')
}

function formatExample(fault: object): string {
  const fields = Object.entries(fault).map(([name, value]) => `${name}: ${formatValue(value)}`)
  return `{ ${fields.join(', ')} }`
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

/** Returns a table for each section of the profile `realistic`. */
function profileTables(): string {
  const rows = settingRows('realistic')
  const sections = [...new Set(rows.map(({ place }) => place.split('.')[0]!))]
  const tables = sections.map(section => {
    const lines = rows
      .filter(({ place }) => place.startsWith(`${section}.`))
      .map(({ place, value, meaning, source }) =>
        tableRow([`\`${place.slice(section.length + 1)}\``, value, meaning, source]),
      )
    return `## ${section}\n\n| Setting | Value | Meaning | Source |\n|---|---|---|---|\n${lines.join('\n')}\n`
  })
  return `${tables.join('\n')}\n`
}

/** Returns the errors by class, and every row. */
function validationTables(): string {
  const { compared } = compareRows(publishedRows())
  const classes = errorsByClass(compared).map(one =>
    tableRow([one.name, String(one.rows), percent(one.median), percent(one.p90), percent(one.within25)]),
  )
  const sources = [...groupBy(compared, ({ source }) => source ?? '')]
  const list = sources.map(([source], i) => tableRow([`${i + 1}`, source]))
  const tables = sources.map(([, rows], i) => {
    const lines = rows.map(row =>
      tableRow([row.id, setUpOf(row), row.metric, figure(row.published), figure(row.model), signed(row)]),
    )
    const head = '| Row | Set-up | Metric | Published | Model | Error |\n|---|---|---|--:|--:|--:|'
    return `### Source ${i + 1}\n\n${head}\n${lines.join('\n')}\n`
  })
  const head = '| Class | Rows | Median | p90 | Within 25 % |\n|---|--:|--:|--:|--:|'
  return [
    ...['## Errors by class', '', head, ...classes, '', '## Sources of the rows', ''],
    ...['| Source | Where |', '|--:|---|', ...list, '', ...tables],
  ].join('\n')
}
