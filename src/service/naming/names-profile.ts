/**
 * Names profiles: the vendor names for the neutral words of the interface document.
 */

import * as z from 'zod'
import { openNames } from '#fixture-files'
import { VARIANT_KEYS } from '../../data/records/enums.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { parseJsonText } from '../../lib/json-text.ts'

/**
 * The user's words by neutral ones; every section and every word may be left out.
 *
 * @example { paths: { hosted: 'machines' }, fields: { hub: 'repository' }, variants: { 'compat-': 'standard-' } }
 */
export interface NamesProfile {
  /** Words of paths. */
  readonly paths?: Readonly<Partial<Record<PathWord, string>>>
  /** Fields of bodies. */
  readonly fields?: Readonly<Partial<Record<FieldWord, string>>>
  /** Values of fields that are one of some words. */
  readonly values?: Readonly<Partial<Record<ValueWord, string>>>
  readonly headers?: Readonly<Partial<Record<HeaderWord, string>>>
  /** What the keys of model schemas begin with. */
  readonly variants?: Readonly<Partial<Record<VariantWord, string>>>
}

type PathWord = 'vendor_a' | 'aggregator' | 'hosted' | 'compat'
type FieldWord = 'hub' | 'hub_id' | 'account_balance' | 'modelhub_url' | 'aggregator'
type ValueWord = 'modelhub'
type HeaderWord = 'alt-api-key'
type VariantWord = 'compat-' | 'altvendor-'
type SectionName = keyof NamesProfile

/** The position of each path word: the first segment, or the segment after the version. */
const PATH_WORDS: Readonly<Record<PathWord, 'first' | 'versioned'>> = {
  vendor_a: 'first',
  aggregator: 'first',
  hosted: 'versioned',
  compat: 'versioned',
}

interface Section {
  readonly words: readonly string[]
  readonly target: RegExp
  /** Description of a valid target, for the error. */
  readonly expects: string
  readonly example: string
}

const SECTIONS: Readonly<Record<SectionName, Section>> = {
  paths: {
    words: Object.keys(PATH_WORDS),
    target: /^[A-Za-z0-9][A-Za-z0-9._~-]*$/,
    expects: 'one segment of a path: letters, digits, dots, dashes and underscores',
    example: 'machines',
  },
  fields: {
    words: ['hub', 'hub_id', 'account_balance', 'modelhub_url', 'aggregator'],
    target: /^[A-Za-z_$][\w$.-]*$/,
    expects: 'the name of a field: letters, digits, dots, dashes and underscores that begin with a letter',
    example: 'repository',
  },
  values: {
    words: ['modelhub'],
    target: /^\S(?:.*\S)?$/,
    expects: 'a text',
    example: 'model-site',
  },
  headers: {
    words: ['alt-api-key'],
    target: /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/,
    expects: 'the name of a header',
    example: 'x-api-key',
  },
  variants: {
    words: ['compat-', 'altvendor-'],
    target: /^[a-z0-9][a-z0-9-]*$/,
    expects: 'what keys begin with: small letters, digits and dashes',
    example: 'standard-',
  },
}
const MAX_TARGET_LENGTH = 64

/** Headers that are already in use. */
const RESERVED_HEADERS =
  /^(?:authorization|cookie|host|date|te|trailer|upgrade|origin|content-.*|transfer-encoding|connection|keep-alive|x-sim-.*|x-forwarded-.*|sec-.*|accept.*|user-agent)$/i

type WordMap = ReadonlyMap<string, string>

/** A valid names profile. `VendorMapping` checks it against the endpoints. */
export class Names {
  /** The name of the profile in errors: a path, or `of the world`. */
  readonly label: string
  readonly profile: NamesProfile
  readonly paths: WordMap
  readonly fields: WordMap
  readonly values: WordMap
  readonly headers: WordMap
  /** Whole keys of model schemas. */
  readonly variants: WordMap

  constructor(profile: NamesProfile, label: string) {
    this.label = label
    this.profile = profile
    const section = (name: SectionName): WordMap =>
      new Map(Object.entries(profile[name] ?? {}).filter(([neutral, named]) => neutral !== named))
    this.paths = section('paths')
    this.fields = section('fields')
    this.values = section('values')
    this.headers = section('headers')
    const prefixes = [...section('variants')]
    this.variants = new Map(
      VARIANT_KEYS.flatMap(key => {
        const [neutral, named] = prefixes.find(([prefix]) => key.startsWith(prefix)) ?? []
        return neutral === undefined ? [] : [[key, named + key.slice(neutral.length)]]
      }),
    )
  }

  /** Returns the vendor name of a header. */
  toVendorHeader(neutral: string): string {
    return this.headers.get(neutral) ?? neutral
  }

  /** Returns a path with vendor names. Segments after the first ones are data. */
  toVendorPath(path: string): string {
    if (this.paths.size === 0) return path
    return path.replace(/^\/(v\d+\/)?([^/?]+)/, (whole, version: string | undefined, word: string) => {
      const segment = version === undefined ? 'first' : 'versioned'
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

  /** Returns the vendor name of a declared value. */
  toVendorValue(word: string): string {
    return this.values.get(word) ?? this.variants.get(word) ?? (word.startsWith('/') ? this.toVendorPath(word) : word)
  }

  /** Returns a text of the simulator with each neutral word replaced by the vendor's, word for word. */
  translateProse(text: string): string {
    return NEUTRAL_WORD.test(text) ? text.replace(PIECE_PATTERN, piece => this.#translatePiece(piece)) : text
  }

  #translatePiece(piece: string): string {
    if (piece.startsWith('/')) return this.toVendorPath(piece)
    const [, open, word, close] = /^(\{?)(.*?)(\}?\.?)$/.exec(piece)!
    const vendorWord =
      this.headers.get(word!) ?? this.variants.get(word!) ?? this.values.get(word!) ?? this.#variantPrefix(word!)
    if (vendorWord !== undefined) return `${open}${vendorWord}${close}`
    // A field, or a field within: `hub.repo`.
    const steps = word!.split('.').map(step => this.fields.get(step) ?? this.paths.get(step) ?? step)
    return `${open}${steps.join('.')}${close}`
  }

  #variantPrefix(word: string): string | undefined {
    return (this.profile.variants as Readonly<Record<string, string>> | undefined)?.[word]
  }
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** A piece of prose that may be a word of the interface: a path, a key, a field with fields in it. */
const PIECE_PATTERN = /[\w./{}~-]+/g
const NEUTRAL_WORD = new RegExp(
  Object.values(SECTIONS)
    .flatMap(({ words }) => words)
    .join('|'),
)

const ProfileSchema = z.record(z.string(), z.record(z.string(), z.string()))

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
      `${location} is ${issue!.path.length < 2 ? 'no object' : 'no text'}. Give sections of words, as in {"fields":{"hub":"repository"}}`,
    ])
  }
  for (const [name, words] of Object.entries(parsed.data)) {
    const section = Object.hasOwn(SECTIONS, name) ? SECTIONS[name as SectionName] : undefined
    if (section === undefined) {
      problems.push(`there is no section '${name}'. ${suggestWord(name, Object.keys(SECTIONS), 'Sections are')}`)
    } else problems.push(...findProblems(name, section, words))
  }
  if (problems.length > 0) throw createNamesError(label, problems)
  return new Names(profile as NamesProfile, label)
}

/** Returns the JSON Schema of a profile, for editors. It cannot express collisions of names. */
export function namesJsonSchema() {
  const section = ({ words, target, expects }: Section) => ({
    ...{ type: 'object', additionalProperties: false },
    properties: Object.fromEntries(words.map(word => [word, { type: 'string', pattern: target.source }])),
    description: `Each word as ${expects}`,
  })
  const sections = Object.entries(SECTIONS).map(([name, one]) => [name, section(one)])
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(sections) } as const
}

export function createNamesError(label: string, problems: readonly string[]): RangeError {
  const [first, ...others] = problems
  const problemText = others.length === 0 ? ` ${first}` : problems.map(problem => `\n  ${problem}`).join('')
  return new RangeError(`Failed to read the names ${label}:${problemText}`)
}

function findProblems(name: string, section: Section, words: Readonly<Record<string, string>>): string[] {
  const wordsByTarget = new Map<string, string>()
  return Object.entries(words).flatMap(([word, target]) => {
    const location = `${name}.${word}`
    if (!section.words.includes(word)) {
      return [`${location}: there is no such word. ${suggestWord(word, section.words, 'Words are')}`]
    }
    if (!section.target.test(target) || target.length > MAX_TARGET_LENGTH) {
      const expects = `${section.expects}, ${MAX_TARGET_LENGTH} at most`
      return [`${location}: '${target.slice(0, 80)}' cannot stand for it. Give ${expects}, as in '${section.example}'.`]
    }
    const key = name === 'headers' ? target.toLowerCase() : target
    const otherWord = wordsByTarget.get(key)
    wordsByTarget.set(key, word)
    if (otherWord !== undefined)
      return [`${location}: '${target}' is already the name of ${name}.${otherWord}. Give it another.`]
    if (target !== word && section.words.includes(target)) {
      return [`${location}: '${target}' is a neutral word itself, which keeps its meaning. Give it another.`]
    }
    if (name === 'headers' && RESERVED_HEADERS.test(target)) {
      return [`${location}: '${target}' is a header in use. Give it another.`]
    }
    return []
  })
}

function suggestWord(word: string, known: readonly string[], list: string): string {
  return formatSuggestion(word, known, `${list} ${known.join(', ')}.`)
}

function readProfileFile(path: string, label: string): unknown {
  const file = openNames(path)
  if ('problem' in file) throw createNamesError(label, [file.problem])
  const parsed = parseJsonText(file.text)
  if ('value' in parsed) return parsed.value
  const { line, column, reason } = parsed.fault
  throw createNamesError(label, [`line ${line}, column ${column}: ${reason}. Fix the JSON there.`])
}
