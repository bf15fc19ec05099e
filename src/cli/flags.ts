/** Declares the flags of commands, with values from the command line, the environment and the configuration file. */

import { realpathSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import type { Argv, Options, PositionalOptions } from 'yargs'
import { nearestWord } from '../lib/did-you-mean.ts'
import { attempt } from '../lib/errors.ts'
import { HIDDEN } from '../lib/text/secrets.ts'
import { toSnakeCase } from '../lib/text/words.ts'
import { EXIT_CODES, UsageError } from './command.ts'
import { CONFIG_FILES, type Config, configSchema, KNOWN_FILE } from './config.ts'
import { filledText, OuterValue, type Read } from './values.ts'

/** A flag, declared as a property with its name. */
export interface Flag<Value = unknown> extends Pick<Options, 'describe'> {
  /** A switch has no value. */
  readonly read: Read<Value> | 'switch'
  readonly fallback?: string
  /** Its value on a command line that gives none. Default: a value is required. */
  readonly alone?: string
  /** Whether it names a file that the command writes. */
  readonly isOutput?: boolean
  /** A variable of another name, which hosts of processes set, as in PORT. It takes precedence over the file. */
  readonly variable?: string
}

export type Flags = Readonly<Record<string, Flag>>

/** The module of a command, loaded on demand. */
export interface Command {
  /** In the syntax of yargs: `run [files..]`. */
  readonly command: string | readonly string[]
  readonly describe: string
  /** A whole command line, for the error of a missing argument: `fixture check my-world`. */
  readonly example?: string
  /** Whether the words after `--` are those of another command. The handler gets them as `otherCommand`. */
  readonly takesOtherCommand?: boolean
  /** Flags and arguments in place of a server. With one of them, a variable for --url does not count. */
  readonly insteadOfServer?: readonly string[]
  /** Whether the configuration file gives defaults of its flags. */
  readonly takesConfig?: boolean
  /** The values of an argument `<action>`, each with an example of the argument after it. */
  readonly actions?: Readonly<Record<string, string>>
  readonly flags?: Flags
  readonly positional?: Readonly<Record<string, PositionalOptions>>
  /** The first line of the help. Default: that of all commands. */
  readonly usage?: string
  /** Command lines, each with what it does. `$0` is the program. */
  readonly examples?: readonly (readonly string[])[]
  /** The end of the help, after the variables. Default: the exit codes. */
  readonly epilogue?: string
  /** Refuses flags that exclude one another, before the handler and before `--print-config`. */
  readonly check?: (argv: never) => void
  /** Resolves when the command has ended. A command that leaves a server open is ended by a signal. */
  handler(argv: never): void | Promise<void>
}

/** The name of a flag in the arguments of a handler. */
type CamelCase<Name> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name

/** The arguments that flags give to the handler of a command. */
export type ArgumentsOf<Declared> = {
  [Name in keyof Declared as CamelCase<Name>]: Declared[Name] extends Flag<infer Value> ? Value : never
}

/** Returns a flag with a value. */
export function flag(describe: string): Flag<string | undefined>
export function flag<Value>(describe: string, read: Read<Value>): Flag<Value | undefined>
export function flag<Value>(describe: string, read: Read<Value>, fallback: string): Flag<Value>
export function flag(describe: string, read: Read<unknown> = filledText, fallback?: string): Flag {
  return { describe, read, ...(fallback !== undefined && { fallback }) }
}

/** Returns a flag that names a file to write. No other flag or argument may name it. */
export function output(describe: string): Flag<string | undefined> {
  return { ...flag(describe), isOutput: true }
}

/** Returns an argument that takes several words. */
export function words(describe: string, fallback?: readonly string[]): PositionalOptions {
  return { type: 'string', array: true, describe, ...(fallback && { default: fallback }) }
}

/** Returns a switch. */
export function toggle(describe: string): Flag<boolean> {
  return { describe, read: 'switch' }
}

/**
 * The flags that a command also takes from the environment and, with `takesConfig`, from the configuration file. Its help
 * says so. Other commands take none: a flag such as `--seed` of `replay` has another meaning than that of `serve`.
 */
const FROM_OUTSIDE: Readonly<Record<string, (flag: string) => boolean>> = {
  ...Object.fromEntries(['serve', 'simulate', 'explain', 'fixture', 'env'].map(command => [command, () => true])),
  // These variables have other users: a server beside, and the recordings of a test runner.
  exec: flag => !['port', 'record'].includes(flag),
  judge: flag => flag !== 'config',
  // The others are for a world of its own. Beside a server at --url, they are refused.
  mcp: flag => ['url', 'control-token'].includes(flag),
}

/** Returns the names of these flags. */
function outerFlags({ command, flags = {} }: Command): string[] {
  return Object.keys(flags).filter(FROM_OUTSIDE[String(command).split(/[ ,]/, 1)[0]!] ?? (() => false))
}

/** Returns the end of the help of a command: which flags have variables, and what the command says there. */
export function epilogueOf(module: Command): string {
  const { flags = {}, epilogue = EXIT_CODES } = module
  const outer = outerFlags(module)
  if (outer.length === 0) return epilogue
  const others = Object.keys(flags).filter(name => !outer.includes(name))
  const but = others.length === 0 ? '' : ` but ${others.map(name => `--${name}`).join(', ')}`
  return `Each flag${but} has an environment variable: MODELHOST_SIM_FLAG_NAME for --flag-name. A flag takes precedence over it.\n${epilogue}`
}

/** Returns flags in the form that yargs takes. `outer` names those that can be given outside of the command line. */
export function toOptions(flags: Flags, outer: readonly string[] = []): Readonly<Record<string, Options>> {
  return Object.fromEntries(
    Object.entries(flags).map(([name, one]) => [name, toOption(name, one, outer.includes(name))]),
  )
}

function toOption(name: string, { describe, read, fallback, variable }: Flag, isOuter: boolean): Options {
  if (read === 'switch') return { ...{ describe, type: 'boolean' }, default: isOuter && switchFromOutside(name) }
  const value = (isOuter ? fromOutside(name, variable) : undefined) ?? fallback
  return {
    ...{ describe, requiresArg: true, type: 'string' },
    coerce: given => (given === undefined ? undefined : read(given, name)),
    ...(value !== undefined && { default: value }),
    ...(name === 'control-token' && value !== undefined && { defaultDescription: HIDDEN }),
  }
}

/**
 * Declares the flags and the arguments of a command. Refuses a variable that resembles one of a flag; other unknown
 * variables are ignored.
 */
export function buildCommand(argv: Argv, module: Command): Argv {
  const { flags = {}, positional = {}, usage, examples = [], insteadOfServer = [] } = module
  const outer = outerFlags(module)
  argv.options(toOptions(flags, outer))
  argv.middleware(given => {
    const { defaulted } = argv.parsed as unknown as { defaulted: Readonly<Record<string, true>> }
    const isGiven = (name: string) => given[name] !== undefined && !defaulted[name]
    if (insteadOfServer.some(isGiven) && !isGiven('url')) given.url = undefined
  })
  if (outer.length > 0) argv.middleware(() => requireKnownVariables(Object.keys(flags)))
  for (const [name, options] of Object.entries(positional)) argv.positional(name, options)
  if (usage !== undefined) argv.usage(usage)
  for (const [line, meaning] of examples) argv.example(line!, meaning!)
  return argv.epilogue(epilogueOf(module))
}

/**
 * Refuses arguments in which a file to write is also the one of another flag, argument or word after `--`, a file in the
 * folder of the fixture, or a file that commands read without a flag.
 */
export function requireDistinctFiles(module: Command, argv: Readonly<Record<string, unknown>>): void {
  const { command, flags = {}, positional = {} } = module
  const sources = ['usual', ...Object.keys(positional), 'otherCommand', ...Object.keys(flags)]
  const all = { ...argv, usual: [...CONFIG_FILES, KNOWN_FILE, configFile()] } as typeof argv
  const named = sources.flatMap(source =>
    [all[source]].flat().flatMap(text => (typeof text === 'string' && text !== '' ? [{ source, text }] : [])),
  )
  // A value such as NAME=FILE names a file too.
  const isWrittenBy = ({ source, text }: (typeof named)[number], other: (typeof named)[number]) =>
    flags[source]?.isOutput === true &&
    ([other.text, other.text.slice(other.text.indexOf('=') + 1)].some(path => realPath(path) === realPath(text)) ||
      (other.source === 'fixtures' && realPath(text).startsWith(realPath(other.text) + sep)))
  const nameOf = (source: string) =>
    source === 'usual' ? 'a file of the project' : flags[source] === undefined ? 'an argument' : `--${source}`
  for (const [i, one] of named.entries()) {
    const other = named.slice(0, i).find(before => isWrittenBy(one, before) || isWrittenBy(before, one))
    if (other === undefined) continue
    const both = `${nameOf(other.source)} and ${nameOf(one.source)}`
    const advice = `name the same file '${other.source === 'fixtures' ? one.text : other.text}'. Give each its own.`
    throw new UsageError(`Failed to ${String(command).split(' ', 1)[0]}: ${both} ${advice}`)
  }
}

function realPath(path: string): string {
  return attempt(() => realpathSync(path)) ?? resolve(path)
}

/** Returns the flags of a command with their defaults. */
export function defaultsOf(module: Command): Readonly<Record<string, unknown>> {
  const options = toOptions(module.flags ?? {}, outerFlags(module))
  return Object.fromEntries(Object.entries(options).map(([name, option]) => [name, option.default]))
}

const PREFIX = 'MODELHOST_SIM_'
/** Variables of other commands, and those that `env` prints and `exec` sets: one environment serves all commands. */
const OTHER_VARIABLES = [
  ...['URL', 'TOKEN', 'CONTROL', 'DEBUG', 'CONFIG', 'FOR', 'JSON', 'SERIES', 'STEP', 'COMMANDS', 'PLOT', 'HTML'],
  ...['TRACE', 'TRACE_SKIP', 'TRACE_LENGTH', 'TRACE_SCALE', 'TRACE_REPEAT', 'COMPARE', 'WAIT', 'RULES', 'OFF', 'KEEP'],
  ...['CLIENT', 'JUNIT', 'PARTIAL', 'FAIL_ON', 'POLLS_AT_MOST'],
]

/** The values of the configuration file, and the name of the file. */
let config: { readonly values: Readonly<Record<string, unknown>>; readonly file: string } = { values: {}, file: '' }

/** Makes the values of a configuration file the defaults of flags. */
export function setConfig(values: Config, file: string): void {
  config = { values, file }
}

/** Returns the own endpoints of the configuration file, as an option of a simulator. */
export function configEndpoints(): Pick<Config, 'endpoints'> {
  const { endpoints } = config.values as Config
  return endpoints === undefined ? {} : { endpoints }
}

/** Returns the name of the configuration file; empty if no file was read. */
export function configFile(): string {
  return config.file
}

/** Returns the field of a flag in the configuration file: maxStorage for --max-storage. */
export function configField(flag: string): string {
  return flag.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

function toUpperSnake(flag: string): string {
  return flag.toUpperCase().replaceAll('-', '_')
}

/**
 * Returns the value of a flag from the environment, as in MODELHOST_SIM_MAX_STORAGE for --max-storage, else that from the
 * configuration file.
 *
 * @param shared a variable of another name, which takes precedence over the file
 */
export function fromOutside(flag: string, shared?: string): OuterValue | undefined {
  for (const variable of [`${PREFIX}${toUpperSnake(flag)}`, ...(shared === undefined ? [] : [shared])]) {
    const text = process.env[variable]
    if (text !== undefined && text !== '') return new OuterValue(text, variable, value => `${variable}=${value}`)
  }
  const field = configField(flag)
  const value = config.values[field]
  if (value === undefined) return undefined
  return new OuterValue(String(value), `${field} in ${config.file}`, value => `${field}: ${value}`)
}

/** Returns what gave a flag its value: the flag itself, the variable, or the field of the configuration file. */
export function sourceOf(name: string, value: unknown, { read }: Pick<Flag, 'read'> = { read: filledText }): string {
  const outer = fromOutside(name)
  return outer !== undefined && read !== 'switch' && read(outer, name) === value ? outer.name : `--${name}`
}

function requireKnownVariables(flags: readonly string[]): void {
  const variables = Object.keys(process.env).filter(name => name.startsWith(PREFIX))
  if (variables.length === 0) return
  const configFlags = Object.keys(configSchema().shape).map(field => toSnakeCase(field).toUpperCase())
  const known = [...flags.map(toUpperSnake), ...configFlags, ...OTHER_VARIABLES]
  for (const variable of variables) {
    const name = variable.slice(PREFIX.length)
    if (known.includes(name)) continue
    const meant = nearestWord(name, known)
    if (meant === undefined) continue
    throw new UsageError(`Failed to read ${variable}: unknown variable. Did you mean ${PREFIX}${meant}?`)
  }
}

/** Returns the value of a switch from outside of the command line: 1, 0, true, false, yes or no. */
function switchFromOutside(flag: string): boolean {
  const outer = fromOutside(flag)
  const value = outer?.text.toLowerCase()
  if (value === undefined || value === '0' || value === 'false' || value === 'no') return false
  if (value === '1' || value === 'true' || value === 'yes') return true
  throw new UsageError(`Failed to read ${outer!.name} '${value}': give 1 or 0.`)
}
