/** Reads the values of flags from the command line, the environment and the configuration file. */

import type { Argv, Options } from 'yargs'
import { type Micros, micros } from '../kernel/duration.ts'
import { nearestWord } from '../lib/did-you-mean.ts'
import { LIMITS } from '../lib/limits.ts'
import { HIDDEN } from '../lib/text/secrets.ts'
import { toSnakeCase } from '../lib/text/snake-case.ts'
import { UsageError, unknownChoice } from './command.ts'
import { type Config, configSchema } from './config.ts'

/** The value of a flag and its source, so that an error names the place to fix. */
interface FlagValue {
  readonly text: string
  /** The flag, the environment variable, or the field of the configuration file. */
  readonly name: string
  /** Returns how to give a value there, as in `--port 4010`. */
  example(value: string | number): string
}

/** The value of a flag from the environment or from the configuration file. Prints as its text, for the help. */
export class OuterValue {
  readonly text: string
  /** The variable, or the field and its file. */
  readonly place: string
  readonly #example: (value: string | number) => string

  constructor(text: string, place: string, example: (value: string | number) => string) {
    this.text = text
    this.place = place
    this.#example = example
  }

  toFlagValue(): FlagValue {
    return { text: this.text, name: this.place, example: this.#example }
  }

  toJSON(): string {
    return this.text
  }

  toString(): string {
    return this.text
  }
}

/** Reads an integer between two bounds. */
export function integer(flag: string, bounds: { min: number; max: number }, example: number) {
  return (given: unknown): number | undefined => {
    const flagValue = readSingle(flag, given)
    if (flagValue === undefined) return undefined
    const { text, name } = flagValue
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= bounds.min && value <= bounds.max) return value
    const reason = Number.isNaN(value) ? 'not an integer' : value < bounds.min ? 'too small' : 'too large'
    throw new UsageError(
      `Failed to read ${name} '${text}': ${reason}. Give an integer from ${bounds.min} to ${bounds.max}, as in ${flagValue.example(example)}.`,
    )
  }
}

/** Reads a number above 0. */
export function positive(flag: string, max: number, example: number) {
  return (given: unknown): number | undefined => {
    const flagValue = readSingle(flag, given)
    if (flagValue === undefined) return undefined
    const { text, name } = flagValue
    const value = text.trim() === '' ? Number.NaN : Number(text)
    if (value > 0 && value <= max) return value
    throw new UsageError(
      `Failed to read ${name} '${text}': give a number above 0 and up to ${max}, as in ${flagValue.example(example)}.`,
    )
  }
}

/** Reads one of some words. */
export function word<Word extends string>(flag: string, words: readonly Word[]) {
  return (given: unknown): Word | undefined => {
    const flagValue = readSingle(flag, given)
    if (flagValue === undefined) return undefined
    const { text, name } = flagValue
    const known = words.find(one => one === text)
    if (known !== undefined) return known
    throw new UsageError(unknownChoice(name, text, words))
  }
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
}

/** Reads seeds: ranges and single seeds, as in `1..200` or `1,7,north`. */
export function seedList(flag: string) {
  return (given: unknown): string[] | undefined => {
    const flagValue = readSingle(flag, given)
    if (flagValue === undefined) return undefined
    const { text, name } = flagValue
    const parts = text.split(',').map(part => part.trim())
    const seeds = parts.flatMap(part => {
      const [, from, to] = /^(\d{1,15})\.\.(\d{1,15})$/.exec(part) ?? []
      if (from === undefined) return [part]
      const count = Number(to) - Number(from) + 1
      return count < 1 || count > LIMITS.seeds
        ? ['']
        : Array.from({ length: count }, (_, i) => String(Number(from) + i))
    })
    if (!seeds.includes('') && seeds.length <= LIMITS.seeds) return [...new Set(seeds)]
    throw new UsageError(
      `Failed to read ${name} '${text}': not a list of up to ${LIMITS.seeds} seeds. Give a range or single seeds, as in ${flagValue.example('1..200')}.`,
    )
  }
}

/** Reads a number of bytes: `1048576`, `512MiB`, `1g`; units are powers of 1,024. */
export function byteCount(flag: string) {
  return (given: unknown): number | undefined => {
    const flagValue = readSingle(flag, given)
    if (flagValue === undefined) return undefined
    const { text, name } = flagValue
    const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?$/i.exec(text.trim()) ?? []
    const value = Math.floor(Number(digits) * (UNITS[unit?.toLowerCase() ?? ''] ?? Number.NaN))
    if (value >= 1 && value <= 2 ** 40) return value
    throw new UsageError(
      `Failed to read ${name} '${text}': invalid size. Give bytes, as in ${flagValue.example('512MiB')}.`,
    )
  }
}

/** Reads a duration of at least one microsecond, as microseconds. */
export function duration(flag: string, example: string) {
  return (given: unknown): Micros | undefined => {
    const flagValue = readSingle(flag, given)
    if (flagValue === undefined) return undefined
    const { text, name } = flagValue
    let value = 0
    try {
      value = micros(text)
    } catch (error) {
      const reason = (error as Error).message.replace(/^.*?": /, '')
      throw new UsageError(`Failed to read ${name} '${text}': ${reason}`)
    }
    if (value > 0) return value
    throw new UsageError(
      `Failed to read ${name} '${text}': it must be longer than 0. Give a duration, as in ${flagValue.example(example)}.`,
    )
  }
}

/** Reads any text. */
export function text(flag: string) {
  return (given: unknown): string | undefined => readSingle(flag, given)?.text
}

/**
 * Reads any text except an empty one, which is what a shell makes of an unset variable.
 *
 * @param reason of the error, and what to do
 */
export function nonEmpty(flag: string, reason: string) {
  return (given: unknown): string | undefined => {
    const found = readSingle(flag, given)
    if (found === undefined || found.text.trim() !== '') return found?.text
    throw new UsageError(`Failed to read ${found.name} '${found.text}': ${reason}`)
  }
}

/** Reads a seed. */
export function seed(flag: string) {
  return nonEmpty(flag, 'the seed is empty. Give one, as in 7, or leave it out.')
}

/** Reads texts: the flag may be repeated, and each value may hold several texts with commas. */
export function texts(given: unknown): string[] {
  const all = Array.isArray(given) ? given : given === undefined ? [] : [given]
  return all
    .flatMap(one => String(one).split(','))
    .map(one => one.trim())
    .filter(one => one !== '')
}

function readSingle(flag: string, given: unknown): FlagValue | undefined {
  if (given === undefined) return undefined
  if (given instanceof OuterValue) return given.toFlagValue()
  if (Array.isArray(given)) {
    throw new UsageError(`Failed to read --${flag}: it is given ${given.length} times. Give it once.`)
  }
  return { text: String(given), name: `--${flag}`, example: value => `--${flag} ${value}` }
}

const PREFIX = 'MODELHOST_SIM_'
/** Variables of commands beside `serve`, and those that `env` prints: one environment serves all commands. */
const OTHER_VARIABLES = [
  ...['URL', 'TOKEN', 'DEBUG', 'CONFIG', 'FOR', 'JSON', 'SERIES', 'STEP', 'COMMANDS', 'PLOT', 'TRACE', 'HTML'],
  ...['COMPARE', 'WAIT', 'RULES', 'OFF', 'KEEP', 'CLIENT', 'JUNIT', 'SET', 'WITHOUT', 'EXPORT', 'PARTIAL'],
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

/** Returns the variable of a flag: MODELHOST_SIM_MAX_STORAGE for --max-storage. */
function variableOf(flag: string): string {
  return `${PREFIX}${toUpperSnake(flag)}`
}

function toUpperSnake(flag: string): string {
  return flag.toUpperCase().replaceAll('-', '_')
}

/**
 * Returns the value of a flag from the environment, else that from the configuration file. Only flags of the command
 * are looked up, so MODELHOST_SIM_URL and MODELHOST_SIM_TOKEN, which `env` prints, have no effect.
 *
 * @param shared a variable of another name, which takes precedence over the file
 */
export function fromOutside(flag: string, shared?: OuterValue): OuterValue | undefined {
  const variable = variableOf(flag)
  const text = process.env[variable]
  if (text !== undefined && text !== '') return new OuterValue(text, variable, value => `${variable}=${value}`)
  if (shared !== undefined) return shared
  const field = configField(flag)
  const value = config.values[field]
  if (value === undefined) return undefined
  return new OuterValue(String(value), `${field} in ${config.file}`, value => `${field}: ${value}`)
}

/** Returns a flag with a value, from the command line, the environment or the configuration file. */
export function flag(name: string, describe: string, fallback?: string | OuterValue) {
  const value = fromOutside(name, fallback instanceof OuterValue ? fallback : undefined) ?? fallback
  const shown = name === 'control-token' && value !== undefined && { defaultDescription: HIDDEN }
  return {
    describe,
    requiresArg: true,
    type: 'string' as const,
    ...(value !== undefined && { default: value }),
    ...shown,
  }
}

/** Returns a flag with any text, from the same places. */
export function textFlag(name: string, describe: string, fallback?: string) {
  return { ...flag(name, describe, fallback), coerce: text(name) }
}

/** Returns a flag with a value, only from the command line. */
export function argument<Value>(describe: string, coerce: (given: unknown) => Value) {
  return { describe, requiresArg: true, type: 'string' as const, coerce }
}

/** Returns the variable of this very name, which hosts of processes set, as in PORT; undefined if it is empty or missing. */
export function sharedVariable(name: string): OuterValue | undefined {
  const text = process.env[name]
  return text === undefined || text === '' ? undefined : new OuterValue(text, name, value => `${name}=${value}`)
}

/** Reads an origin of pages: `*`, or scheme and host as in `http://localhost:5173`. The flag alone means `*`. */
export function origin(flag: string) {
  return (given: unknown): string | undefined => {
    const flagValue = readSingle(flag, given)
    if (flagValue === undefined) return undefined
    const { text, name, example } = flagValue
    if (text === '' || text === '*') return '*'
    if (/^https?:\/\/[^\s/?#@]+$/i.test(text)) return text
    throw new UsageError(
      `Failed to read ${name} '${text}': it is not an origin. Give scheme and host, as in ${example('http://localhost:5173')}, or '*'.`,
    )
  }
}

/** Returns a switch, from the same places. */
export function toggle(name: string, describe: string) {
  return { describe, type: 'boolean' as const, default: switchFromOutside(name) }
}

/**
 * Adds flags that can be given in the environment, too, and of a command with `takesConfig` in the configuration file.
 * Refuses a variable that resembles one of theirs; other unknown variables are ignored.
 */
export function outerFlags<Arguments>(argv: Argv, flags: Readonly<Record<string, Options>>): Argv<Arguments> {
  return argv.options(flags).middleware(() => requireKnownVariables(Object.keys(flags))) as unknown as Argv<Arguments>
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
export function switchFromOutside(flag: string): boolean {
  const outer = fromOutside(flag)
  const value = outer?.text.toLowerCase()
  if (value === undefined || value === '0' || value === 'false' || value === 'no') return false
  if (value === '1' || value === 'true' || value === 'yes') return true
  throw new UsageError(`Failed to read ${outer!.place} '${value}': give 1 or 0.`)
}
