/** How a result tells that something is missing: by what differs from the result of the run without faults. */

import { isRecord, tryParseJson } from '../../../lib/json-text.ts'
import { once, oncePer } from '../../../lib/once.ts'
import type { ClientEnd } from '../observation.ts'
import {
  childrenOf,
  formatPlace,
  isDigest,
  isWithin,
  type Leaf,
  leavesOf,
  type Place,
  patternOf,
  recordOf,
  type Teller,
  valueAt,
} from './leaves.ts'
import { isLabel, type RunAnswers } from './run-answers.ts'

/** Names that speak of completeness. */
const COMPLETENESS =
  /^(?:is|has|was|are)?_?(?:all|any)?_?(?:ok|okay|whole|full|fully|complete|completed|incomplete|done|finished|partial|more|missing|cached|cache|skipped|dropped|failed|failure|success|successful|succeeded|error|errors|stale|fresh|truncated|cut|degraded|lost|found|available|known|valid|fallback|pending|open|reached|answered|warning|timed_?out|un(?:read|answered|finished)|not_?(?:read|found|done|answered|reached|finished|known|complete|available)|gave_?up)|(?:complete|ok|failed|cached|cache|partial|missing|stale|more|truncated|cut|whole|skipped|degraded|incomplete|error|lost|fallback)$/i

/** Names that speak of effort and time, not of a loss. */
const EFFORT =
  /retr(?:y|ies)|attempt|(?<![nus])tries|elapsed|duration|took|latency|polls|requests|calls|(?:^|_)ms$|Ms$|seconds|time(?!d|out)|At$/i

const SHARE = /coverage|ratio|share|percent|progress|complete|quota|rate|fraction|confidence/i

/** Words of a failure. `problem` alone can be the label of a text, and `no problem` is not a failure. */
const FAILURE =
  /\b(?:errors?|fail(?:ed|ure|s|ing)?|missing|cut|lost|incomplete|truncated|partial(?:ly)?|unknown|unanswered|skipped|expired|cancel(?:led|ed)|stopped|aborted|refused|interrupted|timed out|timeout|gave up|broken?|invalid|no (?:answer|reply|response|result|text|data|connection|value)|not (?:\w+able|answered|confirmed|done|finished|found|received|complete|known|read|reached|saved|sent|stored)|un(?:available|readable|reachable|usable|read|finished)|(?:could|can|did|was|were) ?not|couldn't|can't|cannot|didn't|n\/a|nothing came|came back empty|not all|HTTP[ /:]?[45]\d\d|(?<!\b(?:no|any|without) )(?:problems?|trouble)(?=[^\w-]+\w|(?<=\w \w+)\W*$)|unable|(?:something|goes|going|gone|went) wrong|unexpected(?:ly)?|unsuccessful(?:ly)?|without success|rejected|dropped|undone|outage|corrupt(?:ed)?|garbled|malformed|bad (?:answer|reply|response|result|status|gateway))\b/i

/** Such words in other languages. */
const ELSEWHERE =
  /(?<!\p{L})(?:unbekannt|unklar|ausstehend|fehlt|fehlgeschlagen|fehler|nicht \p{L}+|kein\p{L}* (?:antwort|ergebnis|daten|text|wert|verbindung)\p{L}*|wird nachgereicht|inconnu\p{L}*|indispon\p{L}+|échec|échoué|erreur|desconocid\p{L}+|fallid\p{L}|fallad\p{L}|sconosciut\p{L}|errore|desconhecid\p{L}|неизвестн\p{L}+|ошибка)(?!\p{L})|不明|未知|失敗|失败/iu
/** A code of an error, as in `E_UPSTREAM`. */
const CODE = /\bE_[A-Z][A-Z_]+\b/
/** Words that put off. A client may also use them as a default. */
const PUT_OFF = /^(?:tbd|pending|later|unclear|deferred|to be (?:determined|announced))$/i
const COUNT_OF = /\b(\d+) ?(?:of|\/|out of) ?(\d+)\b/g
/** A greater number that was 0 is an amount, unless its name speaks of what is missing. */
const MOST_COUNTED = 1_000
/** A version or a digest. */
const VERSION = /^(?=.*\d.*\d)[\da-z.-]{6,}$/
/** Places that words name. */
const MOST_NAMED = 3
/** A longer one is base64. */
const LONGEST_WORD = 100
const MARKS = /[\s,;|"]+/
/** What languages print in brackets for a value that is missing. */
const NO_WORDS = String.raw`(?:object .*|null|none|undefined|nil|nan)[)\]]`
/** A sign in place of a value. */
const SIGN = String.raw`[-–—?…]|-{3,}|\.{3,}|\p{So}\p{M}*`
/** A sign, or anything in brackets, in place of a value within a text. */
const PLACEHOLDER = new RegExp(String.raw`^(?:${SIGN}|n\/a|\(.*\)|\[.*\])$`, 'iu')
/** A sign, or words in brackets, in place of a whole text. */
const MARK = new RegExp(String.raw`^(?:${SIGN}|[([](?:…|(?!${NO_WORDS})\p{L}[\p{L}\s.,'’-]*)[)\]])$`, 'iu')
/** Words in place of a number. A page and JSON begin with marks. */
const WORDS = /^\p{L}[^<{]{0,99}$/u
/** What languages print in place of a number that is missing. */
const NO_VALUE = /^(?:NaN|nil|undefined|null|None|-?Infinity|inf|nan|true|false|True|False)$/

type Returned = Pick<Extract<ClientEnd, { kind: 'returned' }>, 'result' | 'blobs'>

/** A result, with its leaves by their places. */
export interface ReadResult {
  readonly result: unknown
  readonly leaves: readonly Leaf[]
}

/**
 * Reads a result. If it is a text of JSON that the client composed, its value is the result.
 *
 * @param isSaid tells whether a text is one of the service
 */
export function readResult({ result, blobs }: Returned, isSaid: (text: string) => boolean): ReadResult {
  const parsed = typeof result === 'string' && !isSaid(result) && tryParseJson(result)
  const read = typeof parsed === 'object' ? parsed : result
  return { result: read, leaves: leavesOf(read, blobs) }
}

/** Tells whether a place is named for effort or time. */
export function isEffort(place: Place): boolean {
  return EFFORT.test(String(place.findLast(key => typeof key === 'string') ?? ''))
}

/** Tells whether a text speaks of a failure. */
export function speaksOfFailure(text: string): boolean {
  return FAILURE.test(text) || ELSEWHERE.test(text) || CODE.test(text)
}

/** Tells whether a text is a mark in place of another one, as `—` or `(missing)`. */
export const isMark = (text: string) => MARK.test(text)

/**
 * Returns the places of a result that may tell of a loss.
 *
 * @param badEnds the statuses of things that ended badly
 * @param statuses those of the things that the client created
 * @param failed what names lines of batches that failed
 */
export function findTellers(...compared: ConstructorParameters<typeof TellerSearch>): Teller[] {
  return new TellerSearch(...compared).find()
}

/** What differs, and how much it tells. */
type Difference = readonly [kind: string, tells: Teller['tells']]

class TellerSearch {
  readonly #usual: ReadResult
  readonly #read: ReadResult
  readonly #answers: RunAnswers
  readonly #usualValues: ReadonlySet<string>
  readonly #usualAt = new Map<string, Leaf>()
  readonly #badEnds: ReadonlySet<string>
  readonly #statuses: ReadonlySet<string>
  readonly #failed: ReadonlySet<string>
  readonly #tellers: Teller[] = []
  /** The places of tellers that tell the same: of one record, with one key. */
  readonly #named = new Map<string, Set<string>>()
  readonly #said = once(() => new Set([...this.#answers.texts].filter(text => text.length < 20_000).flatMap(wordsOf)))

  constructor(
    usual: ReadResult,
    read: ReadResult,
    answers: RunAnswers,
    badEnds: ReadonlySet<string>,
    statuses: ReadonlySet<string>,
    failed: ReadonlySet<string>,
  ) {
    this.#failed = failed
    this.#badEnds = badEnds
    this.#statuses = statuses
    this.#usual = usual
    this.#read = read
    this.#answers = answers
    this.#usualValues = new Set(usual.leaves.map(toKey))
    for (const leaf of usual.leaves) this.#usualAt.set(JSON.stringify(leaf.place), leaf)
  }

  find(): Teller[] {
    for (const leaf of this.#read.leaves) this.#compare(leaf)
    this.#findParted()
    this.#findNulls()
    return this.#tellers
  }

  #add(place: Place, kind: string, tells: Teller['tells']): void {
    // A record that is new speaks of what is around it.
    const record = recordOf(this.#usual.result, place)
    // Another label at one place tells another thing.
    const value = valueAt(this.#read.result, place)
    const key = `${kind} ${patternOf(place)} ${isLabel(value) ? value : ''}`
    const id = JSON.stringify([record, kind, patternOf(place), tells])
    const named = this.#named.get(id) ?? new Set()
    if (named.size < MOST_NAMED && !named.has(formatPlace(place)))
      for (const one of [record, ...this.#restAfter(record)]) this.#tellers.push({ place, record: one, key, tells })
    this.#named.set(id, named.add(formatPlace(place)))
  }

  /** Returns the places of the entries that a list usually has behind its last one, given by its place; none for others. */
  #restAfter(entry: Place): Place[] {
    const [list, last] = [entry.slice(0, -1), entry.at(-1)]
    const [now, usual] = [this.#read.result, this.#usual.result].map(result => valueAt(result, list))
    if (!Array.isArray(now) || !Array.isArray(usual) || last !== now.length - 1) return []
    return usual.slice(now.length).map((_, index) => [...list, now.length + index])
  }

  #compare(leaf: Leaf): void {
    const { place } = leaf
    const known = this.#usualAt.get(JSON.stringify(place))
    const placed = known === undefined ? valueAt(this.#usual.result, place) : known.value
    const before = this.#entryLike(leaf, placed) ?? placed
    const difference = this.#differenceOf(leaf, before)
    if (difference === undefined) return
    const moved = this.#movedFrom(place)
    if (moved !== undefined && !this.#differenceOf(leaf, valueAt(this.#usual.result, moved))) return
    this.#add(place, ...difference)
  }

  /** Returns the usual entry of a list that has the form of a moved text, as the sum below its rows; undefined for none. */
  #entryLike({ place, value }: Leaf, before: unknown): unknown {
    if (typeof value !== 'string' || (typeof before === 'string' && formOf(before) === formOf(value))) return undefined
    const usual = valueAt(this.#usual.result, place.slice(0, -1))
    return Array.isArray(usual) ? formsOf(usual).get(formOf(value)) : undefined
  }

  /** Returns where an entry of a shorter list was. It equals the one as far from the end, or is unlike the one at its place. */
  #movedFrom(place: Place): Place | undefined {
    const moved: (string | number)[] = []
    for (const [depth, key] of place.entries()) {
      const usual = valueAt(this.#usual.result, moved)
      const now = valueAt(this.#read.result, place.slice(0, depth))
      const lost = Array.isArray(usual) && Array.isArray(now) ? usual.length - now.length : 0
      moved.push(typeof key === 'number' ? key + Math.max(0, lost) : key)
    }
    const length = place.findLastIndex(key => typeof key === 'number') + 1
    if (length === place.length || isWithin(moved, place)) return undefined
    const now = valueAt(this.#read.result, place.slice(0, length))
    const names = new Set(childrenOf(valueAt(this.#usual.result, place.slice(0, length))).map(([name]) => name))
    const last = valueAt(this.#usual.result, moved.slice(0, length))
    const isOther = childrenOf(now).every(([name]) => !names.has(name))
    return isOther || JSON.stringify(leavesOf(now)) === JSON.stringify(leavesOf(last)) ? moved : undefined
  }

  /** Returns how a value that differs from the usual one may tell of a loss. */
  #differenceOf({ place, value }: Leaf, before: unknown): Difference | undefined {
    if (before === value) return undefined
    const name = String(place.findLast(key => typeof key === 'string') ?? '')
    // A field that is copied becomes null by itself.
    if (value === null && typeof before === 'boolean')
      return this.#answers.isUsualField(name) ? undefined : ['turn', 'perhaps']
    if (typeof value === 'boolean') {
      const isTurn = typeof before === 'boolean' || before === undefined || before === null
      return isTurn ? ['turn', COMPLETENESS.test(name) ? 'always' : 'perhaps'] : undefined
    }
    if (typeof value === 'number') {
      if (isShare(before, value, name)) return ['share', 'ifQuiet']
      const hasMoved = this.#usualValues.has(toKey({ place, value }))
      // What is left of a difference is a number of an answer.
      const isRest = value < -1 && this.#answers.hasNumber(-value)
      if (isSign(before, value, name) && !hasMoved && !isRest) return ['sign', 'ifQuiet']
      // Amounts have fractions, or are great.
      const isCount = Number.isInteger(value) && value > 0 && (value < MOST_COUNTED || COMPLETENESS.test(name))
      return isCount && (isCalm(before) || before === 0) && !isEffort(place) ? ['count', 'ifQuiet'] : undefined
    }
    return typeof value === 'string' ? this.#differenceOfText(place, name, before, value) : undefined
  }

  #differenceOfText(place: Place, name: string, before: unknown, value: string): Difference | undefined {
    // An entry of a list that moved up tells nothing.
    if (value.trim() === '' || this.#usualValues.has(toKey({ place, value }))) return undefined
    const isContent = this.#answers.has(this.#answers.normalise(value))
    const isFailure = speaksOfFailure(value)
    if (this.#badEnds.has(value)) {
      // A status that the client made up in place of one that it lost may say that it lost it.
      const isShown = isContent || this.#statuses.has(value) || value === 'failed'
      return ['end', isShown || typeof before !== 'string' || !this.#answers.isUsual(before) ? 'always' : 'perhaps']
    }
    if (isCalm(before)) {
      // Its name, and the names of places around it that are usually empty, as in `lost[0].because`.
      const names = [name, ...place.filter((_, i) => isCalm(valueAt(this.#usual.result, place.slice(0, i + 1))))]
      const isSure = isFailure || this.#failed.has(value) || names.some(one => COMPLETENESS.test(String(one)))
      return !isContent || isSure ? ['value', isSure ? 'always' : 'ifQuiet'] : undefined
    }
    // Another answer tells nothing.
    if (isContent) return undefined
    if (typeof before !== 'string') {
      const isWord = typeof before === 'number' && WORDS.test(value) && !NO_VALUE.test(value)
      if (isFailure || PLACEHOLDER.test(value) || isWord) return ['value', 'always']
      // A word in place of a record may say so, too: a default has the form of the record.
      return isRecord(before) && isLabel(value) ? ['value', 'perhaps'] : undefined
    }
    if (this.#answers.isUsual(before) && !this.#answers.isOwnLabel(before, value)) {
      // A canned text in place of an answer tells nothing, and neither does the refusal itself.
      const isSaid = !this.#answers.isOfRefusal(value) && speaksOfFailure(ownWordsOf(value, before))
      if (isSaid || MARK.test(value)) return ['words', 'always']
      // One word in place of a sentence may say so, too, if it is not of this sentence.
      const isSentence = /\s/.test(before) && !before.toLowerCase().includes(value.toLowerCase())
      const isWord = isLabel(value) && !/\s/.test(value) && isSentence && !NO_VALUE.test(value)
      return isWord || PUT_OFF.test(value) ? ['words', 'perhaps'] : undefined
    }
    if (isLabel(value) && isLabel(before)) return ['label', isFailure ? 'always' : 'ifQuiet']
    return !isDigest(value) && this.#hasOwnWords(before, value) ? ['words', 'always'] : undefined
  }

  /** Tells whether a text has words of the client's own that its usual text does not have. */
  #hasOwnWords(before: string, value: string): boolean {
    const countsPart = (text: string) => [...text.matchAll(COUNT_OF)].some(([, part, whole]) => part !== whole)
    if (countsPart(value) && !countsPart(before)) return true
    // The beginning and the end of a text have no words of their own.
    if (before.endsWith(withoutSaid(value, before))) return false
    const partsOf = (text: string) => wordsOf(text).flatMap(word => word.split(/[@=:]+/))
    const usualWords = new Set(partsOf(before))
    const own = partsOf(value).filter(word => !usualWords.has(word) && !this.#said().has(word) && !VERSION.test(word))
    if (own.some(word => word.length < LONGEST_WORD && /\p{L}{2}|n\/a/u.test(word))) return true
    const usualMarks = new Set(before.split(MARKS))
    return value.split(MARKS).some(mark => PLACEHOLDER.test(mark) && !usualMarks.has(mark))
  }

  /** Two numbers of one object or one text part that are equal without faults. */
  #findParted(): void {
    const numbers = (leaves: readonly Leaf[]) => leaves.filter(({ value }) => typeof value === 'number').slice(0, 200)
    const now = new Map(numbers(this.#read.leaves).map(({ place, value }) => [JSON.stringify(place), value]))
    const usual = numbers(this.#usual.leaves)
    for (const [i, one] of usual.entries()) {
      if ((one.value as number) < 1 || !Number.isInteger(one.value)) continue
      for (const other of usual.slice(i + 1)) {
        const [a, b] = [one, other].map(({ place }) => now.get(JSON.stringify(place)))
        const isPair =
          one.value === other.value && areSiblings(one.place, other.place) && !this.#areOfAnswers(one, other)
        const isParted = isPair && a !== undefined && b !== undefined && a !== b
        if (!isParted || (a !== one.value && b !== one.value)) continue
        const place = a === one.value ? other.place : one.place
        if (this.#movedFrom(place) === undefined) this.#add(place, 'parted', 'always')
      }
    }
  }

  /** Tells whether both keys are of answers, as in a map of counts by model or by status: these part for many reasons. */
  #areOfAnswers(...leaves: readonly Leaf[]): boolean {
    return leaves.every(({ place }) => this.#answers.isUsual(String(place.at(-1))))
  }

  /** Null is an entry of a list that has kept its length, or of a map of answers. */
  #findNulls(): void {
    for (const { place, value } of this.#read.leaves) {
      if (value !== null || place.length === 0) continue
      const [now, usual] = [this.#read.result, this.#usual.result].map(result => valueAt(result, place.slice(0, -1)))
      const isKept = Array.isArray(now) && Array.isArray(usual) && now.length === usual.length
      if (isKept ? usual[place.at(-1) as number] !== null : this.#isMapOfAnswers(usual))
        this.#tellers.push({ place, record: place, key: '', tells: 'always' })
    }
  }

  /** Tells whether the values of a map are answers to different questions, as those of a record are not. */
  #isMapOfAnswers(usual: unknown): boolean {
    if (Array.isArray(usual)) return false
    const sources = childrenOf(usual).map(([, child]) => this.#answers.usualQuestionOf(child))
    const operations = new Set(sources.map(source => source?.operation))
    return sources.length > 1 && new Set(sources).size === sources.length && operations.size === 1
  }
}

/** Tells whether two places are of one object, or of one text. Entries of a list are not. */
function areSiblings(one: Place, other: Place): boolean {
  return one.length === other.length && typeof one.at(-1) === 'string' && isWithin(one, other.slice(0, -1))
}

/** Returns a text without its numbers. */
function formOf(text: string): string {
  return text.replaceAll(/\d+/g, '#')
}

/** Returns the texts of a list by their forms. */
const formsOf = oncePer((list: readonly unknown[]) => {
  const texts = list.filter(one => typeof one === 'string')
  return new Map(texts.map(text => [formOf(text), text]))
})

function toKey({ place, value }: Leaf): string {
  return `${patternOf(place)} ${String(value)}`
}

/** Tells whether a share of the whole has fallen. */
function isShare(before: unknown, value: number, name: string): boolean {
  if ((before !== 1 && before !== 100) || value < 0 || value >= before) return false
  return SHARE.test(name) || (before === 1 && !Number.isInteger(value))
}

/** Tells whether a number means a failure: none, a negative one, or another HTTP status in place of a 2xx. */
function isSign(before: unknown, value: number, name: string): boolean {
  if (typeof before !== 'number') return false
  const isStatus = value < 600 && /status|codes?$|http/i.test(name)
  const isOther = (value >= 300 && value < 600) || (before === 200 && isStatus)
  const isRefusal = before >= 200 && before < 300 && isOther
  return Number.isNaN(value) || (value < 0 && before >= 0) || isRefusal
}

/** Tells whether a place says nothing: empty, or a list of nothing. */
function isCalm(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.every(isCalm)
  return typeof value === 'object' && Object.keys(value).length === 0
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s,;"|]+/)
    .map(word => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''))
    .filter(word => word !== '')
}

/** Returns what a text adds to another one, if it begins with a part of it. */
function withoutSaid(value: string, before: string): string {
  let length = 0
  while (length < value.length && value[length] === before[length]) length++
  return value.slice(length)
}

/** Returns what a text adds to another one, from the beginning of the word at which they part. */
function ownWordsOf(value: string, before: string): string {
  const own = withoutSaid(value, before)
  return /^\p{L}/u.test(own) ? (value.slice(0, -own.length).match(/\p{L}*$/u)?.[0] ?? '') + own : own
}

/** Returns the tellers that speak of a place. */
export function tellersFor(loss: Place, tellers: readonly Teller[]): readonly Teller[] {
  return tellers.filter(({ record }) => isWithin(loss, record))
}

/** Returns the places of tellers in words. */
export function nameTellers(tellers: readonly Teller[]): string {
  return [...new Set(tellers.map(({ place }) => formatPlace(place)))].slice(0, MOST_NAMED).join(', ')
}
