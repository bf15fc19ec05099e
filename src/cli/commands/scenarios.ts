/** `modelhost-sim scenarios`: lists scenarios and what they teach. */
import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import type { Argv } from 'yargs'
import { LoadError } from '../../workbench/scenario/runner/import-script.ts'
import { isSelected, loadFiles, requireKnownTags, type ScenarioFile } from '../../workbench/scenario/runner/runner.ts'
import { bundledScenariosFolder } from '../../workbench/scenario/runner/shipped.ts'
import type { Scenario } from '../../workbench/scenario/scenario.ts'
import { EXIT_CODES, UsageError } from '../command.ts'
import { tableRow } from '../markdown.ts'
import { text, texts } from '../values.ts'

export const command = 'scenarios [folders..]'
export const describe = 'List the scenarios of the package and your own'

export interface ScenariosArguments {
  folders?: readonly string[] | undefined
  tag?: readonly string[] | undefined
  filter?: string | undefined
  json?: boolean | undefined
  markdown?: boolean | undefined
  schema?: boolean | undefined
}

export function builder(argv: Argv): Argv<ScenariosArguments> {
  return argv
    .positional('folders', {
      type: 'string',
      array: true,
      describe: 'Folders to list beside those of the package. Default: ./scenarios',
    })
    .options({
      tag: { type: 'string', requiresArg: true, coerce: texts, describe: 'Only scenarios with one of these tags: a,b' },
      filter: {
        type: 'string',
        requiresArg: true,
        coerce: text('filter'),
        describe: 'Only scenarios whose title, file name or tag contains this word',
      },
      json: { type: 'boolean', default: false, describe: 'Print JSON' },
      markdown: {
        type: 'boolean',
        default: false,
        describe: 'Print Markdown tables, one for each folder, for a page in a folder beside scenarios',
      },
      schema: {
        type: 'boolean',
        default: false,
        describe: 'Print the JSON Schema of scenarios in YAML and JSON instead, for editors',
      },
    })
    .example('$0 scenarios', 'all scenarios')
    .example('$0 scenarios --tag money', 'scenarios about money')
    .epilogue(EXIT_CODES) as unknown as Argv<ScenariosArguments>
}

export async function handler(args: ScenariosArguments): Promise<void> {
  process.exitCode = await list(args, {
    out: text => process.stdout.write(text),
    error: text => process.stderr.write(text),
  })
}

export interface ListIo {
  out(text: string): void
  error(text: string): void
  readonly folder?: string
}

/** Runs the command and returns its exit code: 2 if a file cannot be read or a folder is missing. */
export async function list(args: ScenariosArguments, { out, error, folder = process.cwd() }: ListIo): Promise<0 | 2> {
  if (args.schema) {
    const { scenarioJsonSchema } = await import('../../workbench/scenario/documents/schema.ts')
    out(`${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`)
    return 0
  }
  if (args.json && args.markdown) {
    throw new UsageError('Failed to print: --json and --markdown exclude each other. Give one of them.')
  }
  const userFolders = args.folders ?? []
  const missing = userFolders.find(one => !existsSync(resolve(folder, one)))
  if (missing !== undefined) {
    error(`Failed to list '${missing}': the folder is missing. Give a folder with scenarios.\n`)
    return 2
  }
  const local = userFolders.length > 0 ? userFolders : ['scenarios']
  const folders = [...local.map(one => resolve(folder, one)), bundledScenariosFolder()].filter(existsSync)
  let hasBrokenFile = false
  const { tag = [], filter } = args
  const onLoadError = (problem: LoadError) => {
    hasBrokenFile = true
    error(`${problem.message}\n`)
  }
  const files = new Map<string, ScenarioFile>()
  for (const one of new Set(folders)) {
    try {
      for (const file of await loadFiles([join(one, '**/*')], { folder, onLoadError })) files.set(file.file, file)
    } catch (problem) {
      // A folder without any scenario.
      if (!(problem instanceof LoadError)) throw problem
    }
  }
  try {
    requireKnownTags(tag, [...files.values()])
  } catch (problem) {
    if (!(problem instanceof LoadError)) throw problem
    error(`${problem.message}\n`)
    return 2
  }
  const filters = { filter, ...(tag.length > 0 && { tags: tag }) }
  const listed = [...files.values()].flatMap(({ file, allScenarios: all }) =>
    all.filter(one => isSelected(one, file, filters)).map(one => toListedScenario(one, relative(folder, file))),
  )
  if (listed.length === 0 && filter !== undefined) {
    error(`Failed to find scenarios: no title, file name or tag contains '${filter}'. Try a shorter word.\n`)
    return 2
  }
  out(args.json ? `${JSON.stringify(listed, null, 2)}\n` : args.markdown ? formatTables(listed) : formatList(listed))
  return hasBrokenFile ? 2 : 0
}

function toListedScenario({ title, options }: Scenario, file: string): ListedScenario {
  const { tags = [], teaches = '', client = '' } = options
  return { file, title, tags, teaches, client }
}

interface ListedScenario {
  readonly file: string
  readonly title: string
  readonly tags: readonly string[]
  readonly teaches: string
  readonly client: string
}

function formatList(listed: readonly ListedScenario[]): string {
  const parts = listed.map(({ file, title, tags, teaches, client }) => {
    const lines = [`${file}${tags.length > 0 ? `  [${tags.join(', ')}]` : ''}`, `  ${title}`]
    if (teaches !== '') lines.push(`  teaches: ${teaches}`)
    if (client !== '') lines.push(`  a good client: ${client}`)
    return `${lines.join('\n')}\n`
  })
  return `${parts.join('\n')}\n${listed.length === 1 ? '1 scenario' : `${listed.length} scenarios`}\n`
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
