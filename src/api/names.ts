/**
 * Names profiles: the words that a user's provider has for the neutral words of the interface document, and how texts,
 * paths and bodies go from one to the other.
 */
import * as z from 'zod'
import { openNames } from '#fixture-files'
import { nearest } from '../kernel/nearest.ts'
import { parseJsonText } from '../store/json-text.ts'
import { VARIANT_KEYS } from '../store/records.ts'
import { phrase, singular } from './grammar.ts'

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

/** Where each word of paths stands: first of all, or behind the version. */
const PATH_WORDS: Readonly<Record<PathWord, 'first' | 'versioned'>> = {
  vendor_a: 'first',
  aggregator: 'first',
  hosted: 'versioned',
  compat: 'versioned',
}

interface Section {
  readonly words: readonly string[]
  readonly target: RegExp
  /** What a target has to be, for the error. */
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
const MOST_LETTERS = 64

/** Headers that have a meaning already. */
const TAKEN_HEADERS =
  /^(?:authorization|cookie|host|date|te|trailer|upgrade|origin|content-.*|transfer-encoding|connection|keep-alive|x-sim-.*|x-forwarded-.*|sec-.*|accept.*|user-agent)$/i

type Words = ReadonlyMap<string, string>

/** A names profile that makes sense by itself; whether it fits the endpoints is for `Wording` to say. */
export class Names {
  /** How errors call it: a path, or `the names`. */
  readonly label: string
  readonly profile: NamesProfile
  readonly paths: Words
  readonly fields: Words
  readonly values: Words
  readonly headers: Words
  /** Whole keys of model schemas. */
  readonly variants: Words

  constructor(profile: NamesProfile, label: string) {
    this.label = label
    this.profile = profile
    const section = (name: SectionName): Words =>
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

  /** The name of the header that stands for this one. */
  header(neutral: string): string {
    return this.headers.get(neutral) ?? neutral
  }

  /** A path in the user's words; what is below its first segments is data. */
  path(path: string): string {
    if (this.paths.size === 0) return path
    return path.replace(/^\/(v\d+\/)?([^/?]+)/, (whole, version: string | undefined, word: string) => {
      const place = version === undefined ? 'first' : 'versioned'
      const named = PATH_WORDS[word as PathWord] === place ? this.paths.get(word) : undefined
      return named === undefined ? whole : `/${version ?? ''}${named}`
    })
  }

  /** What code calls a thing: of the words it is put together of, those that paths have are the user's. */
  identifier(name: string): string {
    return name.replace(/[A-Z]?[a-z]+/g, word => {
      const named = this.paths.get(word.toLowerCase())
      if (named === undefined) return word
      const [first = '', ...rest] = named.split(/[^A-Za-z0-9]+/)
      return [/^[A-Z]/.test(word) ? capital(first) : first, ...rest.map(capital)].join('')
    })
  }

  /** A word that a field may have for its value. */
  value(word: string): string {
    return this.values.get(word) ?? this.variants.get(word) ?? (word.startsWith('/') ? this.path(word) : word)
  }

  /**
   * Our own prose in the user's words.
   *
   * @param data texts of the user's that may stand in it: they stay as they are
   */
  prose(text: string, data: readonly string[] = []): string {
    if (!NEUTRAL.test(text)) return text
    const kept = data.filter(one => one !== '' && NEUTRAL.test(one)).sort((a, b) => b.length - a.length)
    const pattern = [...kept.map(one => `(?<![\\w-])${escaped(one)}(?![\\w-])`), PIECE].join('|')
    const pieces = new RegExp(`(${ARTICLE})?(${pattern})(${NOUN})?`, 'g')
    return text.replace(pieces, (whole, article: string | undefined, piece: string, noun: string | undefined) => {
      if (kept.includes(piece)) return whole
      const named = this.#piece(piece)
      if (named === piece) return whole
      if (article === undefined && noun === undefined) return named
      // What has one exact spelling is a name, wherever it stands.
      const isName = [this.headers, this.values, this.variants].some(words => words.has(piece))
      return phrase(isName ? named : singular(named), article, noun)
    })
  }

  #piece(piece: string): string {
    if (piece.startsWith('/')) return this.path(piece)
    const [, open, word, close] = /^(\{?)(.*?)(\}?\.?)$/.exec(piece)!
    const named = this.headers.get(word!) ?? this.variants.get(word!) ?? this.values.get(word!) ?? this.#prefix(word!)
    if (named !== undefined) return `${open}${named}${close}`
    // A field, or a field within: `hub.repo`.
    const steps = word!.split('.').map(step => this.fields.get(step) ?? this.paths.get(step) ?? step)
    return `${open}${steps.join('.')}${close}`
  }

  #prefix(word: string): string | undefined {
    return (this.profile.variants as Readonly<Record<string, string>> | undefined)?.[word]
  }
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

/** A piece of prose that may be a word of the interface: a path, a key, a field with fields in it. */
const PIECE = '[\\w./{}~-]+'
const ARTICLE = '(?<![\\w-])[Aa]n? '
/** Nouns that words of the interface stand before in our prose. */
const NOUN = ' (?:instances?|repositor(?:y|ies))(?![\\w/-])'
const NEUTRAL = new RegExp(
  Object.values(SECTIONS)
    .flatMap(({ words }) => words)
    .join('|'),
)

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

const Profile = z.record(z.string(), z.record(z.string(), z.string()))

/**
 * Reads a names profile: the profile itself, or the path of a file that holds one.
 *
 * @throws RangeError that names every word which makes no sense
 */
export function readNames(given: string | NamesProfile): Names {
  const label = typeof given === 'string' ? `'${given}'` : 'of the world'
  const problems: string[] = []
  const raw = typeof given === 'string' ? contentOf(given, label) : given
  const parsed = Profile.safeParse(raw)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = issue!.path.length === 0 ? 'it' : issue!.path.join('.')
    throw refused(label, [
      `${place} is ${issue!.path.length < 2 ? 'no object' : 'no text'}. Give sections of words, as in {"fields":{"hub":"repository"}}`,
    ])
  }
  for (const [name, words] of Object.entries(parsed.data)) {
    const section = Object.hasOwn(SECTIONS, name) ? SECTIONS[name as SectionName] : undefined
    if (section === undefined) {
      problems.push(`there is no section '${name}'. ${meantBy(name, Object.keys(SECTIONS), 'Sections are')}`)
    } else problems.push(...problemsOf(name, section, words))
  }
  if (problems.length > 0) throw refused(label, problems)
  return new Names(raw as NamesProfile, label)
}

/** What a profile may hold, as JSON Schema: for editors, which can not say what makes no sense beside what. */
export function namesJsonSchema() {
  const section = ({ words, target, expects }: Section) => ({
    ...{ type: 'object', additionalProperties: false },
    properties: Object.fromEntries(words.map(word => [word, { type: 'string', pattern: target.source }])),
    description: `Each word as ${expects}`,
  })
  const sections = Object.entries(SECTIONS).map(([name, one]) => [name, section(one)])
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(sections) } as const
}

export function refused(label: string, problems: readonly string[]): RangeError {
  const [first, ...others] = problems
  const said = others.length === 0 ? ` ${first}` : problems.map(problem => `\n  ${problem}`).join('')
  return new RangeError(`Failed to read the names ${label}:${said}`)
}

function problemsOf(name: string, section: Section, words: Readonly<Record<string, string>>): string[] {
  const taken = new Map<string, string>()
  return Object.entries(words).flatMap(([word, target]) => {
    const place = `${name}.${word}`
    if (!section.words.includes(word)) {
      return [`${place}: there is no such word. ${meantBy(word, section.words, 'Words are')}`]
    }
    if (!section.target.test(target) || target.length > MOST_LETTERS) {
      const expects = `${section.expects}, ${MOST_LETTERS} at most`
      return [`${place}: '${target.slice(0, 80)}' cannot stand for it. Give ${expects}, as in '${section.example}'.`]
    }
    const key = name === 'headers' ? target.toLowerCase() : target
    const other = taken.get(key)
    taken.set(key, word)
    if (other !== undefined) return [`${place}: '${target}' stands for ${name}.${other} already. Give it another.`]
    if (target !== word && section.words.includes(target)) {
      return [`${place}: '${target}' is a neutral word itself, which keeps its meaning. Give it another.`]
    }
    if (name === 'headers' && TAKEN_HEADERS.test(target)) {
      return [`${place}: '${target}' is a header in use. Give it another.`]
    }
    return []
  })
}

function meantBy(word: string, known: readonly string[], list: string): string {
  const meant = nearest(word, known)
  return meant === undefined ? `${list} ${known.join(', ')}.` : `Did you mean '${meant}'?`
}

function contentOf(path: string, label: string): unknown {
  const file = openNames(path)
  if ('problem' in file) throw refused(label, [file.problem])
  const parsed = parseJsonText(file.text)
  if ('value' in parsed) return parsed.value
  const { line, column, reason } = parsed.fault
  throw refused(label, [`line ${line}, column ${column}: ${reason}. Fix the JSON there.`])
}
