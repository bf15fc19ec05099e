/**
 * Names profiles: the vendor names for the neutral words of the interface document.
 */

import { openNames } from '#fixture-files'
import { VARIANT_KEYS } from '../../data/records/enums.ts'
import type { OpenName } from '../../lib/fields.ts'
import { parseJsonText } from '../../lib/json-text.ts'
import { globOf } from '../../lib/patterns.ts'
import { problemsOf } from '../../lib/zod-problems.ts'
import type { ErrorShape } from '../endpoint.ts'
import { operations } from '../index.ts'
import {
  type Alias,
  findProblems,
  type HEADER_WORDS,
  NamesSchema,
  PATH_WORDS,
  parseAlias,
  type VARIANT_WORDS,
} from './sections.ts'
import { fullPlace } from './vocabulary.ts'

/**
 * The user's words by neutral ones; every section and every word may be left out.
 *
 * @example { paths: { hosted: 'machines' }, fields: { hub: 'repository' }, variants: { 'compat-': 'standard-' } }
 */
export interface NamesProfile {
  /** Words of paths. */
  readonly paths?: Readonly<Partial<Record<keyof typeof PATH_WORDS, string>>>
  /** Fields of bodies, queries and paths: by name (`hub`), or in one place (`Deployment.config.gpu`). */
  readonly fields?: Readonly<
    Partial<Record<OpenName<'hub' | 'hub_id' | 'account_balance' | 'modelhub_url' | 'aggregator'>, string>>
  >
  /** Values of fields that are one of some words: by word (`modelhub`), or in one place (`Deployment.status.running`). */
  readonly values?: Readonly<Partial<Record<OpenName<'modelhub' | 'hub'>, string>>>
  /** Headers that take a token. With several names, the first one with a token counts. */
  readonly headers?: Readonly<Partial<Record<(typeof HEADER_WORDS)[number], string | readonly string[]>>>
  /** Tags of catalog models. */
  readonly tags?: Readonly<Record<string, string>>
  /** Further routes of operations, as in `'GET /catalog/{model_name}': 'getModel'`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** The error shapes of operations, as in `'createLlmDeployment': 'compat'` or `'GET /deploy/*': 'detail'`. */
  readonly errors?: Readonly<Record<string, ErrorShape>>
  /** What the keys of model schemas begin with. */
  readonly variants?: Readonly<Partial<Record<(typeof VARIANT_WORDS)[number], string>>>
}

type WordMap = ReadonlyMap<string, string>

/** A valid names profile. `VendorMapping` checks it against the endpoints. */
export class Names {
  /** The name of the profile in errors: a path, or `of the world`. */
  readonly label: string
  readonly profile: NamesProfile
  readonly paths: WordMap
  readonly fields: WordMap
  /** The words of fields, and whole keys of model schemas. */
  readonly values: WordMap
  /** Every name of a header, the first one first. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly tags: WordMap
  readonly aliases: readonly Alias[]

  constructor(profile: NamesProfile, label: string) {
    this.label = label
    this.profile = profile
    const { paths = {}, fields = {}, values = {}, headers = {}, tags = {}, aliases = {}, variants = {} } = profile
    this.paths = new Map(Object.entries(paths))
    this.fields = new Map(Object.entries(fields) as [string, string][])
    const variantKeys = Object.entries(variants).flatMap(([prefix, named]) =>
      VARIANT_KEYS.filter(key => key.startsWith(prefix)).map(key => [key, named + key.slice(prefix.length)] as const),
    )
    this.values = new Map([...variantKeys, ...(Object.entries(values) as [string, string][])])
    this.headers = new Map(Object.entries(headers).map(([word, names]) => [word, [names].flat()]))
    this.tags = new Map(Object.entries(tags))
    this.aliases = Object.entries(aliases).map(([route, target]) => parseAlias(route, target))
  }

  /** Returns every vendor name of a header, the first one first. */
  headerNames(neutral: string): readonly string[] {
    return this.headers.get(neutral) ?? [neutral]
  }

  /**
   * Returns the word of the profile for a field: the field in one place, or its name for all places.
   *
   * @param places the places of the field, as a shape has them
   */
  fieldWord(name: string, places: readonly string[], operation: string): string {
    return places.map(place => fullPlace(place, operation)).find(place => this.fields.has(place)) ?? name
  }

  /** Returns the word of the profile for a declared value. */
  valueWord(value: string, places: readonly string[], operation: string): string {
    return places.map(place => `${fullPlace(place, operation)}.${value}`).find(word => this.values.has(word)) ?? value
  }

  /** Returns the vendor name of a field. */
  fieldName(name: string, places: readonly string[], operation: string): string {
    return this.fields.get(this.fieldWord(name, places, operation)) ?? name
  }

  /** Returns the vendor name of a declared value. */
  toVendorValue(value: string, places: readonly string[] = [], operation = ''): string {
    const named = this.values.get(this.valueWord(value, places, operation))
    return named ?? (value.startsWith('/') ? this.toVendorPath(value) : value)
  }

  /** Returns the shape of the errors of an operation; undefined if the profile names none. */
  errorShape(operation: string, route: string): ErrorShape | undefined {
    const patterns = Object.entries(this.profile.errors ?? {})
    return patterns.find(([pattern]) => [operation, route].some(globOf(pattern)))?.[1]
  }

  /** Returns a path with vendor names. Segments after the first ones are data. */
  toVendorPath(path: string): string {
    if (this.paths.size === 0) return path
    return path.replace(/^\/(v\d+\/|deploy\/)?([^/?]+)/, (whole, version: string | undefined, word: string) => {
      const segment = version === undefined ? 'first' : version === 'deploy/' ? 'deploy' : 'versioned'
      const isWord = PATH_WORDS[word as keyof typeof PATH_WORDS] === segment
      return isWord ? `/${version ?? ''}${this.paths.get(word) ?? word}` : whole
    })
  }
}

/**
 * Reads a names profile: the profile itself, or the path of a file that holds one.
 *
 * @throws RangeError that names every invalid word
 */
export function readNames(source: string | NamesProfile): Names {
  const label = typeof source === 'string' ? `'${source}'` : 'of the world'
  const profile = typeof source === 'string' ? readProfileFile(source, label) : source
  const parsed = NamesSchema.safeParse(profile)
  const problems = parsed.success
    ? [...findHiddenWords(profile as NamesProfile), ...findProblems(parsed.data, operations)]
    : problemsOf(NamesSchema, profile, parsed.error).map(({ path, text }) => {
        const noun = path.length === 1 ? 'section' : 'word'
        return `${path.join('.') || 'it'}: ${text.replace('unknown field', `unknown ${noun}`)}`
      })
  if (problems.length > 0) throw createNamesError(label, problems)
  return new Names(parsed.data as NamesProfile, label)
}

/** Returns a text for each section with the word `__proto__`, which a parsed profile does not have. */
function findHiddenWords(profile: NamesProfile): string[] {
  return Object.entries(profile)
    .filter(([, words]) => Object.hasOwn(words ?? {}, '__proto__'))
    .map(([section]) => `${section}.__proto__: unknown word. Remove it.`)
}

export function createNamesError(label: string, problems: readonly string[]): RangeError {
  const [first, ...others] = problems
  const problemText = others.length === 0 ? ` ${first}` : problems.map(problem => `\n  ${problem}`).join('')
  return new RangeError(`Failed to read the names ${label}:${problemText}`)
}

function readProfileFile(path: string, label: string): unknown {
  const file = openNames(path)
  if ('problem' in file) throw createNamesError(label, [file.problem])
  const parsed = parseJsonText(file.text, true)
  if ('value' in parsed) return parsed.value
  const { line, column, reason } = parsed.fault
  throw createNamesError(label, [`line ${line}, column ${column}: ${reason}. Fix the JSON there.`])
}
