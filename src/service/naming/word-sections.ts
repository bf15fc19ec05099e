/** The sections of a names profile whose words are those of the interface, and their checks. */
import { BATCH_STATUSES, CONTAINER_STATES, DEPLOYMENT_STATUSES, HOSTED_STATES } from '../../data/records/enums.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { ERROR_SHAPES } from '../endpoint.ts'
import type { Vocabulary } from './vocabulary.ts'

export type PathWord = 'vendor_a' | 'aggregator' | 'hosted' | 'compat' | 'hub'
export type FieldWord = 'hub' | 'hub_id' | 'account_balance' | 'modelhub_url' | 'aggregator'
export type ValueWord = 'modelhub' | 'hub'
export type HeaderWord = 'alt-api-key' | 'x-api-key'
export type VariantWord = 'compat-' | 'altvendor-'

/** The position of each path word: the first segment, or the segment after the version, or that after `/deploy`. */
export const PATH_WORDS: Readonly<Record<PathWord, 'first' | 'versioned' | 'deploy'>> = {
  vendor_a: 'first',
  aggregator: 'first',
  hosted: 'versioned',
  compat: 'versioned',
  hub: 'deploy',
}

/** A section whose words have one target each. */
export type WordSectionName = 'paths' | 'fields' | 'values' | 'headers' | 'variants'

interface Section {
  /** The words in place of brands. */
  readonly words: readonly string[]
  /** Whether a word of the interface is known, for sections that have more words. */
  readonly isKnown?: (word: string, vocabulary: Vocabulary) => boolean
  /** The words to suggest for an unknown one. */
  readonly candidates?: (word: string, vocabulary: Vocabulary) => Iterable<string>
  readonly target: RegExp
  /** Description of a valid target, for the error. */
  readonly expects: string
  readonly example: string
}

export const SECTIONS: Readonly<Record<WordSectionName, Section>> = {
  paths: {
    words: Object.keys(PATH_WORDS),
    target: /^[A-Za-z0-9][A-Za-z0-9._~-]*$/,
    expects: 'one segment of a path: letters, digits, dots, dashes and underscores',
    example: 'machines',
  },
  fields: {
    words: ['hub', 'hub_id', 'account_balance', 'modelhub_url', 'aggregator'],
    isKnown: (word, { fields, fieldNames }) => (word.includes('.') ? fields.has(word) : fieldNames.has(word)),
    candidates: (word, { fields, fieldNames }) => (word.includes('.') ? fields.keys() : fieldNames),
    target: /^[A-Za-z_$][\w$.-]*$/,
    expects: 'the name of a field: letters, digits, dots, dashes and underscores that begin with a letter',
    example: 'repository',
  },
  values: {
    words: ['modelhub', 'hub'],
    isKnown: (word, vocabulary) => (word.includes('.') ? isWordPlace(word, vocabulary) : vocabulary.words.has(word)),
    candidates: (word, vocabulary) => (word.includes('.') ? listWordPlaces(vocabulary) : vocabulary.words),
    target: /^\S(?:.*\S)?$/,
    expects: 'a text',
    example: 'model-site',
  },
  headers: {
    words: ['alt-api-key', 'x-api-key'],
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

const BRAND_WORDS = new Set(Object.values(SECTIONS).flatMap(({ words }) => words))

/**
 * Returns whether a word is translated in texts: one in place of a brand, a status, and a name that no English text has
 * by chance.
 */
export function isProseWord(word: string): boolean {
  return BRAND_WORDS.has(word) || word.includes('_') || STATUS_WORDS.has(word) || /-\w/.test(word)
}

const STATUS_WORDS: ReadonlySet<string> = new Set([
  ...DEPLOYMENT_STATUSES,
  ...BATCH_STATUSES,
  ...HOSTED_STATES,
  ...CONTAINER_STATES,
])

/** Returns whether a word of a field is known in one place, as in `Deployment.status.running`. */
function isWordPlace(place: string, { fields }: Vocabulary): boolean {
  const end = place.lastIndexOf('.')
  return fields.get(place.slice(0, end))?.words.includes(place.slice(end + 1)) ?? false
}

function listWordPlaces({ fields }: Vocabulary): string[] {
  return [...fields.values()].flatMap(({ place, words }) => words.map(word => `${place}.${word}`))
}

export type Targets = Readonly<Record<string, string | readonly string[]>>

/** Returns a text for each invalid word of a section. */
export function findProblems(name: string, section: Section, words: Targets, vocabulary: Vocabulary): string[] {
  const wordsByTarget = new Map<string, string>()
  const targets = Object.entries(words).flatMap(([word, one]) => [one].flat().map(target => [word, target] as const))
  return targets.flatMap(([word, target]) => {
    const location = `${name}.${word}`
    if (!section.words.includes(word) && !section.isKnown?.(word, vocabulary)) {
      const candidates = section.candidates?.(word, vocabulary) ?? section.words
      const list =
        section.candidates === undefined ? `Words are ${section.words.join(', ')}.` : 'GET /_sim/fields lists them.'
      return [`${location}: unknown word. ${formatSuggestion(word, candidates, list)}`]
    }
    if (name !== 'headers' && typeof words[word] !== 'string') {
      return [`${location} is not a text. Give one name; only headers have several.`]
    }
    if (!section.target.test(target) || target.length > MAX_TARGET_LENGTH) {
      const expects = `${section.expects}, ${MAX_TARGET_LENGTH} at most`
      return [`${location}: '${target.slice(0, 80)}' is invalid. Give ${expects}, as in '${section.example}'.`]
    }
    // Names in single places may be equal: their fields are apart.
    if (word.includes('.')) return []
    const key = name === 'headers' ? target.toLowerCase() : target
    const otherWord = wordsByTarget.get(key)
    wordsByTarget.set(key, word)
    if (otherWord !== undefined)
      return [`${location}: '${target}' is already the name of ${name}.${otherWord}. Give it another.`]
    if (name !== 'headers' && target !== word && section.words.includes(target)) {
      return [`${location}: '${target}' is a neutral word itself, which keeps its meaning. Give it another.`]
    }
    if (name === 'headers' && RESERVED_HEADERS.test(target)) {
      return [`${location}: '${target}' is a header in use. Give it another.`]
    }
    return []
  })
}

/** Returns the advice for an unknown word. */
export function suggestWord(word: string, known: readonly string[], list: string): string {
  return formatSuggestion(word, known, `${list} ${known.join(', ')}.`)
}

/** Returns the JSON Schema of a profile, for editors. It cannot express collisions of names. */
export function namesJsonSchema() {
  const section = ({ words, isKnown, target, expects }: Section) => ({
    ...{ type: 'object', additionalProperties: false },
    properties: Object.fromEntries(words.map(word => [word, { type: 'string', pattern: target.source }])),
    ...(isKnown !== undefined && { additionalProperties: { type: 'string', pattern: target.source } }),
    description: `Each word as ${expects}`,
  })
  const { headers } = SECTIONS
  const headerName = { type: 'string', pattern: headers.target.source }
  const headerNames = { anyOf: [headerName, { type: 'array', items: headerName, minItems: 1 }] }
  const free = (description: string, values: object) => ({ type: 'object', additionalProperties: values, description })
  const sections = [
    ...Object.entries(SECTIONS).map(([name, one]) => [name, section(one)]),
    ['headers', { ...section(headers), properties: Object.fromEntries(headers.words.map(one => [one, headerNames])) }],
    ['tags', free('Tags of catalog models', { type: 'string' })],
    ['aliases', free('Further routes of operations', { type: 'string' })],
    ['errors', free('The error shapes of operations', { enum: ERROR_SHAPES })],
  ]
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(sections) } as const
}
