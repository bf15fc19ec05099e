/** Reads the configuration file of the current folder, and shows where the value of each flag comes from. */
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type * as z from 'zod'
import { isRecord } from '../lib/json-text.ts'
import { HIDDEN } from '../lib/text/secrets.ts'
import { escapeControls } from '../lib/text/words.ts'
import { jsonPath, type Problem, problemsOf, WITHOUT_JIT } from '../lib/zod-problems.ts'
import type { OwnEndpoints } from '../service/own-endpoints.ts'
import { SNAPSHOT_ENDING } from '../simulator/checkpoint/file-ending.ts'
import { PlainObject } from '../simulator/option-checks.ts'
import type { SimulatorOptions } from '../simulator/options.ts'
import { UsageError } from './command.ts'
import { CONFIG_FILES, type Config, configSchema } from './config.ts'
import {
  type Command,
  configEndpoints,
  configField,
  configFile,
  defaultsOf,
  flag,
  fromOutside,
  setConfig,
  toggle,
  toOptions,
} from './flags.ts'
import { OuterValue } from './values.ts'

export const CONFIG_OPTIONS = toOptions({
  config: flag(
    `File with values of flags. Default: ${CONFIG_FILES.join(', ').replaceAll(' modelhost-sim.config', ' ')}`,
  ),
  'print-config': toggle('Print the value of each flag and its source, then exit'),
})

/** Fields that have no meaning beside another value of a flag, by the name of that flag. */
const DEPENDENT: Readonly<Record<string, readonly (keyof Config)[]>> = {
  clock: ['speed', 'pollStep', 'idleAfter', 'latency'],
  // A snapshot has its own.
  fixtures: ['seed', 'profile', 'epoch', 'models', 'deployments'],
}

/**
 * Reads the file of `--config`, or that of the current folder if there is one. Its values become defaults of flags.
 *
 * @param args the command line
 * @throws UsageError that names the file and the field
 */
export async function readConfig(args: readonly string[]): Promise<void> {
  const given = valuesOf('config', args)[0] ?? fromOutside('config')?.text
  const file = given ?? CONFIG_FILES.find(path => existsSync(path))
  setConfig({}, '')
  if (file === undefined) return
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    const reason = existsSync(file) ? 'it is not a file' : 'the file is missing'
    const name = given === undefined ? file : `--config '${file}'`
    throw new UsageError(`Failed to read ${name}: ${reason}. Give one in TypeScript, JavaScript, JSON or YAML.`)
  }
  const { $schema: _, ...config } = await readFields(file)
  const schema = configSchema().extend({ endpoints: (PlainObject as z.ZodType<OwnEndpoints>).optional() })
  const result = schema.safeParse(config, WITHOUT_JIT)
  if (!result.success) {
    const [{ path, text }] = problemsOf(schema, config, result.error) as [Problem]
    const expected = { controlToken: 'a text', cors: "an origin, as in http://localhost:5173, or '*'" }[String(path[0])]
    const reason = expected === undefined ? text : `expected ${expected}. Fix that value.`
    throw new UsageError(`Failed to read ${file}: ${jsonPath(path)}: ${reason}`)
  }
  const flags = result.data as Config
  if (flags.endpoints !== undefined) await checkEndpoints(flags, file)
  // A stronger source that sets a flag leaves no meaning to what the file adds to its own value.
  for (const [flag, fields] of Object.entries(DEPENDENT)) {
    const outside = valuesOf(flag, args)[0] ?? fromOutside(flag)?.text
    if (outside === undefined || outside === String(flags[flag as keyof Config])) continue
    if (flag === 'fixtures' && !outside.endsWith(SNAPSHOT_ENDING)) continue
    for (const field of fields) delete (flags as { -readonly [Name in keyof Config]: Config[Name] })[field]
  }
  setConfig(flags, file)
}

/** @throws UsageError that names the file and the endpoint */
async function checkEndpoints({ endpoints, documentedOnly }: Config, file: string): Promise<void> {
  const { servedBy } = await import('../service/http/service.ts')
  try {
    servedBy({ endpoints, neighbours: !documentedOnly })
  } catch (error) {
    throw new UsageError((error as Error).message.replace('Failed to make a simulator: ', `Failed to read ${file}: $.`))
  }
}

/** Returns the own endpoints of the given or usual configuration file, for a command that reads nothing else of it. */
export async function readEndpoints(file?: string): Promise<Pick<SimulatorOptions, 'endpoints'>> {
  await readConfig(file === undefined ? [] : [`--config=${file}`])
  return configEndpoints()
}

/** Returns the fields of a file, as they are. */
async function readFields(file: string): Promise<Readonly<Record<string, unknown>>> {
  // Both are loaded on demand: most projects have no such file.
  const value = /\.[mc]?[jt]s$/.test(file)
    ? await (
        await (await import('../workbench/scenario/runner/import-script.ts')).importScript(resolve(file), process.cwd())
      ).default
    : ((await import('./files/data-file.ts')).readDataFile(file, file) ?? {})
  if (value === undefined) {
    throw new UsageError(`Failed to read ${file}: its default export is missing. Write export default { … } there.`)
  }
  if (isRecord(value)) return value
  throw new UsageError(`Failed to read ${file}: it holds no object. Give flags, as in { "fixtures": "empty" }.`)
}

/** Prints a line for each flag of the command: its name, its value, and the source of the value. */
export function printConfig(module: Command, args: readonly string[]): void {
  const rows = Object.entries(defaultsOf(module)).map(([name, fallback]) => {
    const given = valuesOf(name, args)
    const outer =
      typeof fallback === 'boolean' ? fromOutside(name) : fallback instanceof OuterValue ? fallback : undefined
    const value = given.length > 0 ? given.join(',') : String(outer ?? fallback ?? '(not set)')
    const source = given.length > 0 ? 'command line' : (outer?.name ?? 'default')
    const shown = name === 'control-token' && source !== 'default' ? HIDDEN : value
    return [name, escapeControls(shown).replaceAll('\n', '\\n'), source] as const
  })
  const all = [['config', configFile() || '(none)', 'the configuration file'] as const, ...rows]
  const [nameWidth, valueWidth] = [0, 1].map(column => Math.max(...all.map(row => row[column]!.length)))
  const lines = all.map(
    ([name, value, source]) => `${name.padEnd(nameWidth!)}  ${value.padEnd(valueWidth!)}  ${source}\n`,
  )
  process.stdout.write(lines.join(''))
}

/** Returns the values that a command line gives to a flag, as texts; `true` for a switch. */
function valuesOf(flag: string, args: readonly string[]): string[] {
  const names = [`--${flag}`, `--${configField(flag)}`]
  return args.flatMap((arg, i) => {
    const [name, ...value] = arg.split('=')
    if (!names.includes(name!)) return []
    const next = value.length > 0 ? value.join('=') : (args[i + 1] ?? '--')
    return [value.length === 0 && next.startsWith('--') ? 'true' : next]
  })
}
