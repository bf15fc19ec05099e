/** `run --list`: lists scenarios and what they teach. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { LoadError } from '../../workbench/scenario/runner/import-script.ts'
import { shippedFolder } from '../../workbench/scenario/runner/paths.ts'
import { isSelected, loadFiles, requireKnownTags, type ScenarioFile } from '../../workbench/scenario/runner/runner.ts'
import type { Scenario } from '../../workbench/scenario/scenario.ts'
import type { CommandIo } from '../command.ts'

interface ListArguments {
  folders?: readonly string[] | undefined
  tag?: readonly string[] | undefined
  filter?: string | undefined
  json?: boolean | undefined
}

/** Lists the scenarios of folders and of the package. Returns the exit code: 2 if a file cannot be read or a folder is missing. */
export async function list(
  args: ListArguments,
  { out, error, folder = process.cwd() }: CommandIo & { readonly folder?: string },
): Promise<0 | 2> {
  const userFolders = args.folders ?? []
  const missing = userFolders.find(one => !existsSync(resolve(folder, one)))
  if (missing !== undefined) {
    error(`Failed to list '${missing}': the folder is missing. Give a folder with scenarios.\n`)
    return 2
  }
  const local = userFolders.length > 0 ? userFolders : ['scenarios']
  const folders = [...local.map(one => resolve(folder, one)), shippedFolder('scenarios')].filter(existsSync)
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
  out(args.json ? `${JSON.stringify(listed, null, 2)}\n` : formatList(listed))
  return hasBrokenFile ? 2 : 0
}

function toListedScenario({ title, options }: Scenario, file: string): ListedScenario {
  const { tags = [], teaches = '', client = '' } = options
  return { file, title, tags, teaches, client }
}

export interface ListedScenario {
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
