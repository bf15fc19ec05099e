/**
 * Names profiles: the vendor names for the neutral words of the interface document.
 */

import * as z from 'zod'
import { openNames } from '#fixture-files'
import { VARIANT_KEYS } from '../../data/records/enums.ts'
import { escapeRegExp } from '../../lib/escape-regexp.ts'
import { globOf } from '../../lib/glob.ts'
import { parseJsonText } from '../../lib/json-text.ts'
import type { OpenName } from '../../lib/open-name.ts'
import type { ErrorShape } from '../endpoint.ts'
import { operations } from '../index.ts'
import { type Alias, FREE_SECTIONS, parseAlias } from './free-sections.ts'
import { fullPlace, vocabularyOf } from './vocabulary.ts'
import {
  type FieldWord,
  findProblems,
  type HeaderWord,
  isProseWord,
  PATH_WORDS,
  type PathWord,
  SECTIONS,
  suggestWord,
  type ValueWord,
  type VariantWord,
  type WordSectionName,
} from './word-sections.ts'

/**
 * The user's words by neutral ones; every section and every word may be left out.
 *
 * @example { paths: { hosted: 'machines' }, fields: { hub: 'repository' }, variants: { 'compat-': 'standard-' } }
 */
export interface NamesProfile {
  /** Words of paths. */
  readonly paths?: Readonly<Partial<Record<PathWord, string>>>
  /** Fields of bodies, queries and paths: by name (`hub`), or in one place (`Deployment.config.gpu`). */
  readonly fields?: Readonly<Partial<Record<OpenName<FieldWord>, string>>>
  /** Values of fields that are one of some words: by word (`modelhub`), or in one place (`Deployment.status.running`). */
  readonly values?: Readonly<Partial<Record<OpenName<ValueWord>, string>>>
  /** Headers that take a token. With several names, the first one with a token counts. */
  readonly headers?: Readonly<Partial<Record<HeaderWord, string | readonly string[]>>>
  /** Tags of catalog models. */
  readonly tags?: Readonly<Record<string, string>>
  /** Further routes of operations, as in `'GET /catalog/{model_name}': 'getModel'`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** The error shapes of operations, as in `'createLlmDeployment': 'compat'` or `'GET /deploy/*': 'detail'`. */
  readonly errors?: Readonly<Record<string, ErrorShape>>
  /** What the keys of model schemas begin with. */
  readonly variants?: Readonly<Partial<Record<VariantWord, string>>>
}

type WordMap = ReadonlyMap<string, string>

/** A valid names profile. `VendorMapping` checks it against the endpoints. */
export class Names {
  /** The name of the profile in errors: a path, or `of the world`. */
  readonly label: string
  readonly profile: NamesProfile
  readonly paths: WordMap
  readonly fields: WordMap
  readonly values: WordMap
  /** Every name of a header, the first one first. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly tags: WordMap
  readonly aliases: readonly Alias[]
  /** Whole keys of model schemas. */
  readonly variants: WordMap
  /** Matches a text that may have a neutral word; undefined if no word is translated in texts. */
  readonly #neutralWord: RegExp | undefined

  constructor(profile: NamesProfile, label: string) {
    this.label = label
    this.profile = profile
    const section = (name: Exclude<WordSectionName, 'headers'> | 'tags'): WordMap =>
      new Map(Object.entries((profile[name] ?? {}) as Readonly<Record<string, string>>).filter(isRenamed))
    this.paths = section('paths')
    this.fields = section('fields')
    this.values = section('values')
    this.headers = new Map(
      Object.entries(profile.headers ?? {}).map(([word, names]) => [word, typeof names === 'string' ? [names] : names]),
    )
    this.tags = section('tags')
    this.aliases = Object.entries(profile.aliases ?? {}).map(([route, target]) => parseAlias(route, target))
    const prefixes = [...section('variants')]
    const neutralWords = [this.paths, this.fields, this.values, this.headers, prefixes].flatMap(words =>
      [...words].map(([word]) => word),
    )
    const prosaic = neutralWords.filter(isProseWord).map(escapeRegExp)
    this.#neutralWord = prosaic.length === 0 ? undefined : new RegExp(prosaic.join('|'))
    this.variants = new Map(
      VARIANT_KEYS.flatMap(key => {
        const [neutral, named] = prefixes.find(([prefix]) => key.startsWith(prefix)) ?? []
        return neutral === undefined ? [] : [[key, named + key.slice(neutral.length)]]
      }),
    )
  }

  /** Returns the vendor name of a header, the first of several. */
  toVendorHeader(neutral: string): string {
    return this.headers.get(neutral)?.[0] ?? neutral
  }

  /**
   * Returns the vendor name of a field; undefined if it keeps its name. A name in one place comes before a name for all.
   *
   * @param places the places of the field, as a shape has them
   */
  fieldName(name: string, places: readonly string[] = [], operation = ''): string | undefined {
    for (const place of places) {
      const named = this.fields.get(fullPlace(place, operation))
      if (named !== undefined) return named
    }
    return this.fields.get(name)
  }

  /** Returns the shape of the errors of an operation; undefined if the profile names none. */
  errorShape(operation: string, route: string): ErrorShape | undefined {
    const patterns = Object.entries(this.profile.errors ?? {})
    return patterns.find(([pattern]) => globOf(pattern)(operation) || globOf(pattern)(route))?.[1]
  }

  /** Returns a path with vendor names. Segments after the first ones are data. */
  toVendorPath(path: string): string {
    if (this.paths.size === 0) return path
    return path.replace(/^\/(v\d+\/|deploy\/)?([^/?]+)/, (whole, version: string | undefined, word: string) => {
      const segment = version === undefined ? 'first' : version === 'deploy/' ? 'deploy' : 'versioned'
      const vendorWord = PATH_WORDS[word as PathWord] === segment ? this.paths.get(word) : undefined
      return vendorWord === undefined ? whole : `/${version ?? ''}${vendorWord}`
    })
  }

  /** Returns an identifier of code with the vendor names of the path words in it. */
  toVendorIdentifier(name: string): string {
    return name.replace(/[A-Z]?[a-z]+/g, word => {
      const vendorWord = this.paths.get(word.toLowerCase())
      if (vendorWord === undefined) return word
      const [first = '', ...rest] = vendorWord.split(/[^A-Za-z0-9]+/)
      return [/^[A-Z]/.test(word) ? capitalize(first) : first, ...rest.map(capitalize)].join('')
    })
  }

  /**
   * Returns the vendor name of a declared value.
   *
   * @param places the places of its field
   */
  toVendorValue(word: string, places: readonly string[] = [], operation = ''): string {
    for (const place of places) {
      const named = this.values.get(`${fullPlace(place, operation)}.${word}`)
      if (named !== undefined) return named
    }
    return this.values.get(word) ?? this.variants.get(word) ?? (word.startsWith('/') ? this.toVendorPath(word) : word)
  }

  /** Returns a text of the simulator with each neutral word replaced by the vendor's, word for word. */
  translateProse(text: string): string {
    return this.#neutralWord?.test(text) ? text.replace(PIECE_PATTERN, piece => this.#translatePiece(piece)) : text
  }

  #translatePiece(piece: string): string {
    if (piece.startsWith('/')) return this.toVendorPath(piece)
    const [, open, word, close] = /^(\{?)(.*?)(\}?\.?)$/.exec(piece)!
    const vendorWord = isProseWord(word!)
      ? (this.headers.get(word!)?.[0] ?? this.variants.get(word!) ?? this.fields.get(word!) ?? this.values.get(word!))
      : undefined
    const named = vendorWord ?? this.#variantPrefix(word!)
    if (named !== undefined) return `${open}${named}${close}`
    // A field, or a field within: `hub.repo`.
    const steps = word!
      .split('.')
      .map(step => (isProseWord(step) ? this.fields.get(step) : undefined) ?? this.paths.get(step) ?? step)
    return `${open}${steps.join('.')}${close}`
  }

  #variantPrefix(word: string): string | undefined {
    return (this.profile.variants as Readonly<Record<string, string>> | undefined)?.[word]
  }
}

function isRenamed([neutral, named]: [string, string]): boolean {
  return neutral !== named
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** A piece of prose that may be a word of the interface: a path, a key, a field with fields in it. */
const PIECE_PATTERN = /[\w./{}~-]+/g
const ProfileSchema = z.record(z.string(), z.record(z.string(), z.union([z.string(), z.array(z.string()).min(1)])))

function describeExpected({ path }: z.core.$ZodIssue): string {
  if (path.length < 2) return 'an object'
  return path[0] === 'headers' ? 'a text, or a list of texts' : 'a text'
}

/**
 * Reads a names profile: the profile itself, or the path of a file that holds one.
 *
 * @throws RangeError that names every invalid word
 */
export function readNames(source: string | NamesProfile): Names {
  const label = typeof source === 'string' ? `'${source}'` : 'of the world'
  const problems: string[] = []
  const profile = typeof source === 'string' ? readProfileFile(source, label) : source
  const parsed = ProfileSchema.safeParse(profile)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const location = issue!.path.length === 0 ? 'it' : issue!.path.join('.')
    throw createNamesError(label, [
      `${location} is not ${describeExpected(issue!)}. Give sections of words, as in {"fields":{"hub":"repository"}}`,
    ])
  }
  // The parsed copy has no section and no word with the name `__proto__`.
  for (const [name, words] of Object.entries(profile as typeof parsed.data)) {
    const section = Object.hasOwn(SECTIONS, name) ? SECTIONS[name as WordSectionName] : undefined
    const vocabulary = vocabularyOf(operations)
    if (section !== undefined) problems.push(...findProblems(name, section, words, vocabulary))
    else if (Object.hasOwn(FREE_SECTIONS, name)) {
      problems.push(...FREE_SECTIONS[name as keyof typeof FREE_SECTIONS](words, operations, vocabulary))
    } else {
      const known = [...Object.keys(SECTIONS), ...Object.keys(FREE_SECTIONS)]
      problems.push(`unknown section '${name}'. ${suggestWord(name, known, 'Sections are')}`)
    }
  }
  if (problems.length > 0) throw createNamesError(label, problems)
  return new Names(profile as NamesProfile, label)
}

export function createNamesError(label: string, problems: readonly string[]): RangeError {
  const [first, ...others] = problems
  const problemText = others.length === 0 ? ` ${first}` : problems.map(problem => `\n  ${problem}`).join('')
  return new RangeError(`Failed to read the names ${label}:${problemText}`)
}

function readProfileFile(path: string, label: string): unknown {
  const file = openNames(path)
  if ('problem' in file) throw createNamesError(label, [file.problem])
  const parsed = parseJsonText(file.text)
  if ('value' in parsed) return parsed.value
  const { line, column, reason } = parsed.fault
  throw createNamesError(label, [`line ${line}, column ${column}: ${reason}. Fix the JSON there.`])
}
