/** Reads the configuration file of the current folder, and shows where the value of each flag comes from. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { escapeControls } from '../lib/text/control-characters.ts'
import { problemsOf, WITHOUT_JIT } from '../lib/zod-problems.ts'
import { importScript } from '../workbench/scenario/runner/import-script.ts'
import { type Command, flagsOf, UsageError } from './command.ts'
import { configSchema } from './config.ts'
import { readDataFile } from './conform/file.ts'
import { argument, fromOutside, OuterValue, setConfig, text } from './values.ts'

const FILES = ['ts', 'js', 'json', 'yaml'].map(ending => `modelhost-sim.config.${ending}`)

export const CONFIG_FLAGS = {
  config: argument(`File with values of flags. Default: ${FILES.join(', ')}`, text('config')),
  'print-config': { type: 'boolean', describe: 'Print the value of each flag and its source, and end' },
} as const

/**
 * Reads the file of `--config`, or that of the current folder if there is one. Its values become defaults of flags.
 *
 * @param args the command line
 * @throws UsageError that names the file and the field
 */
export async function readConfig(args: readonly string[]): Promise<void> {
  // Of a flag without a value, yargs says what is missing.
  const [given] = valuesOf('config', args).filter(value => value !== 'true')
  const file = given ?? FILES.find(name => existsSync(name))
  setConfig({}, '')
  if (file === undefined) return
  const { $schema: _, ...config } = await readFields(file)
  const result = configSchema().safeParse(config, WITHOUT_JIT)
  if (!result.success) {
    const [first] = problemsOf(configSchema(), config, result.error)
    throw new UsageError(`Failed to read ${file}: ${first!.path.join('.')}: ${first!.text}`)
  }
  setConfig(result.data, file)
}

/** Returns the fields of a file, as they are. */
async function readFields(file: string): Promise<Readonly<Record<string, unknown>>> {
  const isScript = /\.[mc]?[jt]s$/.test(file)
  const value = isScript ? (await importScript(resolve(file), process.cwd())).default : (readDataFile(file, file) ?? {})
  if (value === undefined) {
    throw new UsageError(`Failed to read ${file}: its default export is missing. Write export default { … } there.`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new UsageError(`Failed to read ${file}: it holds no object. Give flags, as in { "fixtures": "empty" }.`)
}

/** Prints a line for each flag of the command: its name, its value, and the source of the value. */
export function printConfig(module: Command, args: readonly string[]): void {
  const { help: _, version: __, ...flags } = flagsOf(module)
  const rows = Object.entries(flags).map(([name, fallback]) => {
    const given = valuesOf(name, args)
    const outer = fallback instanceof OuterValue ? fallback : fallback === true ? fromOutside(name) : undefined
    const value = given.length > 0 ? given.join(',') : String(outer ?? fallback ?? '(not set)')
    const source = given.length > 0 ? 'command line' : (outer?.place ?? 'default')
    return [name, name === 'control-token' && source !== 'default' ? '(hidden)' : value, source] as const
  })
  const [nameWidth, valueWidth] = [0, 1].map(column => Math.max(...rows.map(row => row[column]!.length)))
  const lines = rows.map(
    ([name, value, source]) => `${name.padEnd(nameWidth!)}  ${value.padEnd(valueWidth!)}  ${source}\n`,
  )
  process.stdout.write(escapeControls(lines.join('')))
}

/** Returns the values that a command line gives to a flag, as texts; `true` for one without a value. */
function valuesOf(flag: string, args: readonly string[]): string[] {
  return args.flatMap((arg, i) => {
    if (arg.startsWith(`--${flag}=`)) return [arg.slice(flag.length + 3)]
    if (arg !== `--${flag}`) return []
    const next = args[i + 1]
    return [next === undefined || next.startsWith('--') ? 'true' : next]
  })
}
