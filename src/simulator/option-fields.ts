/** The options of a simulator: their check, which all of them pass, and their fields in `POST /_sim/worlds`. */
import { formatSuggestion } from '../lib/did-you-mean.ts'
import { assertKnownKeys } from '../lib/known-keys.ts'
import { quote } from '../lib/quote.ts'
import { toSnakeCase } from '../lib/text/words.ts'
import {
  type ForkOptions,
  OPTION_DECLARATIONS,
  OPTIONS,
  type OptionDeclaration,
  type OptionName,
  type SimulatorOptions,
} from './options.ts'

const OPTION_NAMES = OPTIONS.map(([name]) => name)
const FORK_OPTION_NAMES = ['clock', 'fresh'] as const satisfies readonly (keyof ForkOptions)[]

/**
 * What options may name. Code and the command line may name files of this host. Data from outside, such as a body over
 * HTTP or a recording, may name what the package ships, and nothing else: it could read files that its sender cannot.
 */
export type OptionRights = 'files' | 'shipped'

/**
 * Rejects an unknown option, a value that no part of the simulator would reject, and a file that the options may not
 * name. The words are equal for a file that exists and for one that is missing.
 *
 * @param context start of the error
 * @throws RangeError, or an error of the given type, that names the option
 */
export function assertOptions(
  options: SimulatorOptions,
  rights: OptionRights = 'files',
  context = 'Failed to make a simulator',
  ErrorType: new (message: string) => Error = RangeError,
): void {
  assertKnownKeys(options, OPTION_NAMES, context, { ErrorType })
  for (const [name, { check, shipped = [] }] of OPTIONS) {
    const value = options[name]
    const expected = value === undefined ? undefined : check?.safeParse(value).error?.issues[0]?.message
    if (expected !== undefined) {
      throw new ErrorType(`${context}: ${name} is ${quote(value)}. Give ${expected}.`)
    }
    const file = rights === 'files' ? undefined : findNamedFile(options, name)
    if (file === undefined) continue
    const known = shipped.length === 0 ? '' : `${shipped.join(', ')}, or `
    const problem = `${quote(file)} is not a name of the package, and only code and flags may name a file`
    const advice = formatSuggestion(file, shipped, `Give ${known}the content as an object.`)
    throw new ErrorType(`${context}: ${name}: ${problem}. ${advice}`)
  }
}

/** Returns the path that an option names, itself or in `extends`; undefined if it names none. */
export function findNamedFile(options: SimulatorOptions, name: OptionName): string | undefined {
  const { shipped }: OptionDeclaration = OPTION_DECLARATIONS[name]
  const value = options[name] as string | { readonly extends?: unknown } | null | undefined
  const source = typeof value === 'object' ? value?.extends : value
  return shipped === undefined || typeof source !== 'string' || shipped.includes(source) ? undefined : source
}

/** @throws RangeError for an unknown option of a fork */
export function assertForkOptions(options: ForkOptions): void {
  assertKnownKeys(options, FORK_OPTION_NAMES, 'Failed to fork')
}

/** Options as JSON, by the names of their HTTP fields. */
export type OptionFields = Readonly<Record<string, unknown>>

/** Returns the options that fields over HTTP set. `null` sets an option to undefined, which is the default of createSimulator. */
export function fromHttpFields(fields: OptionFields): Partial<SimulatorOptions> {
  return Object.fromEntries(
    OPTIONS.flatMap(([name, { http }]) => {
      const value = fields[toSnakeCase(name)]
      return http === undefined || value === undefined ? [] : [[name, value ?? undefined]]
    }),
  )
}

/** Returns the HTTP fields of the options that a snapshot does not bring, or brings as a default. */
export function httpFieldsBesideSnapshot(): string[] {
  return OPTIONS.flatMap(([name, { http, inSnapshot }]) =>
    http === undefined || inSnapshot === 'always' ? [] : [toSnakeCase(name)],
  )
}

/** Returns the options that no snapshot brings, without those that are undefined. */
export function optionsOutsideSnapshot(options: SimulatorOptions): Partial<SimulatorOptions> {
  return Object.fromEntries(
    Object.entries(options).filter(
      ([name, value]) => value !== undefined && OPTION_DECLARATIONS[name as OptionName].inSnapshot === 'never',
    ),
  )
}
