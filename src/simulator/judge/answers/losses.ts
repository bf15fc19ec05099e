/** What a client lost: values of the result without faults that this result lacks, because the service did not say them. */

import { isRecord } from '../../../lib/json-text.ts'
import { stableJson } from '../../../lib/json-values.ts'
import { groupBy } from '../../../lib/lists.ts'
import { once, oncePer } from '../../../lib/once.ts'
import { failedLines, textOf } from '../batch-rows.ts'
import { endsThing, idInPath, isAbout, isUsable, kindFor, lastStartOf } from '../facts.ts'
import { firstStatusOf, isTerminalStatus, statusHistory, statusSince } from '../lifecycles.ts'
import { tellsEnd } from '../list-reads.ts'
import type {
  BaseObservation,
  CreatedThing,
  Loss,
  LossReport,
  Observation,
  ObservedRequest,
  Question,
} from '../observation.ts'
import { type Comparison, comparisonOf, tellsLoss } from './comparison.ts'
import { addContents, type Normalise, noContents } from './contents.ts'
import {
  formatPlace,
  isDerived,
  isDigest,
  isWithin,
  type Leaf,
  type Place,
  patternOf,
  recordOf,
  type Teller,
} from './leaves.ts'
import { changedTextsIn, mangledIn } from './mangled.ts'
import { isTelling } from './run-answers.ts'
import { isEffort, speaksOfFailure, tellersFor } from './telling.ts'

const NOTHING: LossReport = { losses: [], isJudged: false, noise: [], showsState: false, unseen: [] }

/** Values below it prove nothing, unless they have some digits after the point. */
const LEAST_NUMBER = 2
const LEAST_TEXT = 4
/** A smaller number is in many answers. */
const LEAST_SOURCED = 100
/** Seconds and milliseconds since 1970 are greater. */
export const LEAST_TIME = 1e9

/** Returns what a client lost that returned. */
export const lossesOf = oncePer((observation: Observation): LossReport => {
  const comparison = comparisonOf(observation)
  const { base } = observation
  if (base === undefined || comparison === undefined) return NOTHING
  return new LossSearch(observation, base, comparison).report()
})

class LossSearch {
  readonly #observation: Observation
  readonly #base: BaseObservation
  readonly #comparison: Comparison
  readonly #said: BaseObservation['answers']
  readonly #open: readonly Question[]
  readonly #badReads: readonly ObservedRequest[]
  readonly #texts: ReadonlySet<string>
  readonly #usualTexts: ReadonlySet<string>
  readonly #numbers: ReadonlySet<string>
  /** What the result has, by place and by the pattern of places. */
  readonly #byPlace: ReadonlyMap<string, unknown>
  readonly #byPattern: ReadonlyMap<string, readonly Leaf[]>
  /** The places of one pattern that have a text, and those that usually have it. */
  readonly #byText: ReadonlyMap<string, readonly Leaf[]>
  readonly #usualByText: ReadonlyMap<string, readonly Leaf[]>
  /** The times that are earlier than without faults. */
  readonly #earlier: readonly Leaf[]

  constructor(observation: Observation, base: BaseObservation, comparison: Comparison) {
    const { answers, usual, read } = comparison
    this.#observation = observation
    this.#base = base
    this.#comparison = comparison
    this.#said = base.answers
    this.#open = answers.open.filter(({ open }) => !this.#isReadLater(open!))
    this.#badReads = [...badEndsOf(observation).map(({ shownBy }) => shownBy), ...readsOfFailedLines(observation)]
    this.#usualTexts = new Set(usual.leaves.map(({ value }) => this.#said.normalise(String(value))))
    const values = read.leaves.map(leaf => asText(leaf).value)
    this.#texts = new Set(values.flatMap(value => (typeof value === 'string' ? answers.normalise(value) : [])))
    this.#numbers = new Set(read.leaves.map(({ place, value }) => `${patternOf(place)} ${value}`))
    this.#byPlace = new Map(read.leaves.toReversed().map(({ place, value }) => [formatPlace(place), value]))
    const times = new Map(usual.leaves.map(leaf => [formatPlace(leaf.place), timeIn(leaf.value)]))
    this.#earlier = read.leaves.filter(
      ({ place, value }) => timeIn(value) < (times.get(formatPlace(place)) ?? Number.NaN),
    )
    this.#byPattern = groupBy(read.leaves, ({ place }) => patternOf(place))
    this.#byText = groupBy(read.leaves, leaf => textKey(leaf, answers.normalise))
    this.#usualByText = groupBy(usual.leaves, leaf => textKey(leaf, this.#said.normalise))
  }

  report(): LossReport {
    const { forgotten } = this.#comparison.answers
    const isWhole = this.#open.length + forgotten.size + this.#badReads.length === 0
    if (isWhole) return this.#reportWhole()
    const usual = this.#comparison.usual.leaves.map(asText)
    const losses = usual.flatMap(leaf => this.#judge(leaf) ?? [])
    const isJudged = usual.some(leaf => this.#causeOf(leaf) !== undefined)
    const showsState = usual.some(({ place, value }) => this.#isAnsweredNow(value, this.#valueAt(place)))
    return { losses, isJudged, noise: [], showsState, unseen: this.#findUnseen() }
  }

  #reportWhole(): LossReport {
    const comparison = this.#comparison
    const losses = mangledIn(this.#observation, this.#base, comparison)
    const keys = [...comparison.tellers.map(({ key }) => key), ...this.#changes(), ...changedTextsIn(comparison)]
    const isSaid = comparison.tellers.some(({ tells }) => tells === 'always')
    const noise = losses.length > 0 || isSaid || this.#lacksValue ? [] : keys
    return { losses, isJudged: losses.length > 0, noise, showsState: false, unseen: [] }
  }

  /** Returns the operations whose answers are products, as a text of a model, if the client returned as usual without them. */
  #findUnseen(): string[] {
    const { usual, isUsual } = this.#comparison
    const lost = this.#open.filter(({ key, open }) => this.#said.questions.has(key) && !isUsable(open!))
    const asked = lost.filter(({ last }) => isProduct(this.#observation, last))
    const isSaid = this.#observation.tells === true || this.#isPrinted
    if (asked.length === 0 || isSaid || this.#late().length > 0 || !isUsual()) return []
    const values = new Set(usual.leaves.map(({ value }) => value))
    const sources = Array.from(values, value => this.#sourcesOf(this.#said.normalise(String(value)))).flat()
    const shown = new Set(sources.map(({ key }) => key))
    const stored = [...this.#base.effects.values()].map(({ chunks = [] }) => this.#said.normalise(textOf(chunks)))
    const isShown = ({ key }: Question) => {
      const { numbers, texts } = this.#said.questions.get(key)!.contents
      const isNumber = [...numbers].some(number => Math.abs(number) >= LEAST_SOURCED && values.has(number))
      return isNumber || shown.has(key) || stored.some(file => [...texts].some(text => isPieceOf(text, file)))
    }
    return [...new Set(asked.filter(one => !isShown(one)).map(({ operation }) => operation))]
  }

  /** Whether the result has a text of an answer less often than usual, or null in place of a value. What differs may tell that. */
  get #lacksValue(): boolean {
    return this.#comparison.usual.leaves.some(leaf => {
      if (leaf.value !== null && this.#valueAt(leaf.place) === null) return true
      const text = typeof leaf.value === 'string' ? this.#said.normalise(leaf.value) : ''
      if (!isTelling(text) || !this.#said.texts.has(text)) return false
      const key = textKey(leaf, this.#said.normalise)
      return (this.#byText.get(key)?.length ?? 0) < this.#usualByText.get(key)!.length
    })
  }

  /** The places of numbers that differ. */
  #changes(): string[] {
    const isEqual = (leaf: Leaf) => this.#numbers.has(`${patternOf(leaf.place)} ${leaf.value}`)
    return this.#comparison.usual.leaves
      .filter(leaf => isDerived(leaf) && !isEqual(leaf))
      .map(({ place }) => changeKey(place, this.#valueAt(place)))
  }

  #judge(leaf: Leaf): Loss | undefined {
    const cause = this.#causeOf(leaf)
    const isFigure = leaf.text !== undefined
    // A text that can be lost is judged as a whole.
    if (cause === undefined || (isFigure && this.#causeOf(leaf.text) !== undefined)) return undefined
    const isChange = isFigure || (isDerived(leaf) && !this.#isSourced(leaf))
    const isNumber = typeof leaf.value === 'number' || isChange
    const instead = isNumber ? this.#insteadOfNumber(leaf) : this.#instead(leaf)
    if (instead === undefined) return undefined
    const { place } = leaf
    const { learned } = this.#observation
    const { noise, isSettled } = learned ?? { noise: new Set(), isSettled: false }
    // Only runs in which nothing is lost show whether such a number differs by itself.
    const isOwnEffort = isEffort(place) && !this.#said.fields.has(String(place.at(-1)))
    // Answers have many small numbers, so one that differs by itself is a count of the client.
    const isCount = isChange || (typeof leaf.value === 'number' && Math.abs(leaf.value) < LEAST_SOURCED)
    if ((isChange && isOwnEffort) || (isCount && noise.has(changeKey(place, this.#valueAt(place))))) return undefined
    const near = tellersFor(place, this.#comparison.tellers)
    // Beside a number that became 0, a label without a word of failure may only name what follows from it.
    const isZero = typeof leaf.value === 'number' && this.#valueAt(place) === 0
    const isCalm = ({ key, tells }: Teller) => isZero && tells === 'ifQuiet' && key.startsWith('label ')
    const tellers = near.filter(teller => tellsLoss(teller, learned) && !isCalm(teller))
    const perhaps = near.filter(teller => (teller.tells === 'perhaps' || isCalm(teller)) && !noise.has(teller.key))
    const { tells } = this.#observation
    const isSaid = tells ?? (tellers.length > 0 || this.#isPrinted || this.#isDated(place, cause))
    // A text of another form has no such number. It is another sentence, or says that something is missing.
    if (isFigure && !isSaid && instead === 'nothing' && this.#comparison.read.result !== '') return undefined
    const isUnclear = tells === undefined && (perhaps.length > 0 || (isChange && !isSettled) || this.#isNull)
    const verdict = isSaid ? 'said' : isUnclear ? 'unclear' : 'unsaid'
    return { place, usual: leaf.value, instead, cause, verdict, tellers: isSaid ? tellers : perhaps }
  }

  /** A result that is null says at least that it differs. */
  get #isNull(): boolean {
    return (this.#comparison.read.result ?? null) === null
  }

  /** Whether the client printed that something is missing, and people read it. */
  get #isPrinted(): boolean {
    const { output, base } = this.#observation
    return this.#observation.isRead === true && speaksOfFailure(output.replace(base?.output ?? '', ''))
  }

  /** Whether a value may be that of an earlier answer, and a time near it says so: it is earlier than without faults. */
  #isDated(place: Place, cause: ObservedRequest): boolean {
    const { answers, usual } = this.#comparison
    const isKept = [...answers.questions.values()].some(
      ({ open, contents }) => open === cause && contents.texts.size > 0,
    )
    if (!isKept) return false
    const record = recordOf(usual.result, place)
    return this.#earlier.some(leaf => isWithin(leaf.place, record))
  }

  /** Returns the request whose missing answer can have cost the client a value; undefined for none. */
  #causeOf({ value }: Leaf): ObservedRequest | undefined {
    const [bad] = this.#badReads
    const [first] = this.#open
    const { questions, forgotten } = this.#comparison.answers
    if (typeof value === 'number') {
      if (Math.abs(value) < LEAST_NUMBER && !hasDigits(value)) return undefined
      const source = this.#open.find(({ key }) => this.#said.questions.get(key)?.contents.numbers.has(value))
      const unasked = [...forgotten].find(([key]) => this.#said.questions.get(key)?.contents.numbers.has(value))
      const other = this.#open.find(({ open }) => !this.#foundEnded(open!)) ?? (this.#isPast(value) ? undefined : first)
      return (source ?? other)?.open ?? unasked?.[1] ?? bad
    }
    if (typeof value !== 'string') return undefined
    const text = this.#said.normalise(value)
    if (text.length < LEAST_TEXT) return undefined
    const sources = this.#sourcesOf(text)
    const [unasked] = forgotten.values()
    if (sources.length === 0) return isDerived({ value }) ? (first?.open ?? unasked ?? bad) : undefined
    for (const { key } of sources) {
      const source = questions.has(key) ? this.#open.find(one => one.key === key) : first
      const open = forgotten.get(key) ?? source?.open
      if (open !== undefined) return open
    }
    return bad
  }

  /** Tells whether a write found that its thing had ended. */
  #foundEnded(write: ObservedRequest): boolean {
    const id = idInPath(this.#observation, write)
    return write.fault === undefined && write.status >= 400 && endsThing(this.#observation, write, id)
  }

  /** Tells whether a write found that its thing had ended, and a later read of the thing was answered whole. */
  #isReadLater(write: ObservedRequest): boolean {
    const id = idInPath(this.#observation, write)
    const isLater = ({ open, last }: Question) =>
      open === undefined && last.method === 'GET' && last.index > write.index && isAbout(last, id)
    return this.#foundEnded(write) && [...this.#comparison.answers.questions.values()].some(isLater)
  }

  /** Tells whether all whole answers that usually have a great number lack it now. */
  #isPast(number: number): boolean {
    const usual = [...this.#said.questions.values()].filter(({ contents }) => contents.numbers.has(number))
    const now = usual.map(({ key }) => this.#comparison.answers.questions.get(key))
    const isGone = now.every(one => one?.open === undefined && one?.contents.numbers.has(number) === false)
    return number >= LEAST_SOURCED && usual.length > 0 && isGone
  }

  /** Returns the questions whose answers have a text, or else a text around it, or else a piece of it. */
  #sourcesOf(text: string): readonly Question[] {
    const all = [...this.#said.questions.values()]
    const exact = all.filter(({ contents }) => contents.texts.has(text))
    if (exact.length > 0) return exact
    return all.filter(({ contents }) =>
      [...contents.texts].some(said => isPieceOf(text, said) || isPieceOf(said, text)),
    )
  }

  #isSourced({ value }: Leaf): boolean {
    if (typeof value === 'number') {
      return this.#open.some(({ key }) => this.#said.questions.get(key)?.contents.numbers.has(value))
    }
    return typeof value === 'string' && this.#sourcesOf(this.#said.normalise(value)).length > 0
  }

  /** Says what the client has in place of a number; undefined if it has the number. */
  #insteadOfNumber({ place, value }: Leaf): string | undefined {
    if (this.#numbers.has(`${patternOf(place)} ${value}`) || this.#late().length > 0) return undefined
    const now = this.#valueAt(place)
    if (this.#ofOtherModels().some(({ contents }) => contents.numbers.has(now as number))) return undefined
    if (now === undefined || now === null || now === '') return 'nothing'
    if (now === 0) return '0'
    if (this.#isAnsweredNow(value, now)) return undefined
    if (typeof now !== 'number') return isDigest(value) ? 'another digest' : 'another value'
    return typeof value === 'number' && now < value ? `${now}` : 'another number'
  }

  /** Tells whether a question was answered whole, and has another number now in place of the usual one. */
  #isAnsweredNow(usual: unknown, now: unknown): boolean {
    if (typeof usual !== 'number' || typeof now !== 'number' || now === usual) return false
    if (Math.abs(usual) < LEAST_NUMBER || (now >= 0 && now < LEAST_NUMBER)) return false
    return [...this.#said.questions.values()].some(({ key, contents }) => {
      const question = this.#comparison.answers.questions.get(key)
      const isWhole = question !== undefined && question.open === undefined
      return isWhole && contents.numbers.has(usual) && question.contents.numbers.has(now)
    })
  }

  /** Says what the client has in place of a text; undefined if it has the text, or another answer. */
  #instead({ place, value }: Leaf): string | undefined {
    const text = this.#said.normalise(String(value))
    if (this.#texts.has(text)) return undefined
    if (isTelling(text) && [...this.#texts].some(other => other.includes(text))) return undefined
    const now = this.#valueAt(place)
    const { answers } = this.#comparison
    if (answers.isOwnLabel(value, now) || this.#hasMovedOn(String(value), place, now)) return undefined
    const isInPlace = (leaf: Leaf) => this.#isMoreOften(leaf) && this.#isOtherAnswer(text, String(leaf.value))
    if (this.#byPattern.get(patternOf(place))?.some(isInPlace)) return undefined
    if (now === undefined || now === null || now === '') return 'nothing'
    if (typeof now === 'number') return `${now}`
    const shown = answers.normalise(String(now))
    const words = new Set(text.split(' '))
    if (text.includes(shown) || shown.split(' ').every(word => words.has(word))) return 'a part of it'
    return answers.has(shown) || answers.isUsual(String(now))
      ? 'the answer to something else'
      : this.#usualTexts.has(shown)
        ? 'another item of the result'
        : 'a value that no answer has'
  }

  /**
   * Tells whether a status is passed, and a later one of the same thing is in its place: a client that saw the thing later.
   * In a sample of the statuses of one thing, the later one can be at another place.
   */
  #hasMovedOn(usual: string, place: Place, now: unknown): boolean {
    const { created } = this.#observation
    return created.some(thing => {
      if (isTerminalStatus(this.#observation, thing.kind, usual)) return false
      const recorded = statusHistory(this.#observation, thing).map(({ status }) => status)
      const statuses = [firstStatusOf(thing.kind), ...recorded]
      const first = statuses.indexOf(usual)
      const isLater = (value: unknown) =>
        typeof value === 'string' && statuses.lastIndexOf(value) > first && this.#comparison.answers.has(value)
      const isSample = now === undefined && created.filter(({ kind }) => kind === thing.kind).length === 1
      const shown = isSample ? this.#byPattern.get(patternOf(place))?.map(({ value }) => value) : [now]
      return first >= 0 && shown?.some(isLater) === true
    })
  }

  /** Tells whether places of one pattern have a text more often than usual. Else it is in place of nothing but itself. */
  #isMoreOften(leaf: Leaf): boolean {
    const key = textKey(leaf, this.#comparison.answers.normalise)
    return this.#byText.get(key)!.length > (this.#usualByText.get(key)?.length ?? 0)
  }

  /** Tells whether a text is made of another whole answer: to the same question, or to one that is asked in its place. */
  #isOtherAnswer(usual: string, value: string): boolean {
    const { answers } = this.#comparison
    const text = answers.normalise(value)
    if (text.length < LEAST_TEXT) return false
    const sources = this.#sourcesOf(usual).flatMap(({ key }) => answers.questions.get(key) ?? [])
    const whole = [...sources.filter(({ open }) => open === undefined), ...this.#late(), ...this.#ofOtherModels()]
    const halves = once(() => this.#halvesOf(usual))
    const hasHalf = (rest: string) => halves().some(half => isPieceOf(half, rest))
    // A client that starts again may find in a list that its work is done, and say so in words of its own.
    const isResumed =
      this.#open.length === 0 && answers.forgotten.size > 0 && text.split(' ').some(word => !usual.includes(word))
    const hasWhole = (said: string) =>
      isPieceOf(said, text) && (isResumed || !usual.includes(said)) && !hasHalf(text.replace(said, ''))
    // The answer to a smaller question may be the beginning of the usual one.
    if (usual.length > text.length && usual.startsWith(text) && !sources.some(one => one.contents.texts.has(text)))
      return false
    return whole.some(({ contents }) =>
      [...contents.texts].some(said => said === text || isPieceOf(text, said) || hasWhole(said)),
    )
  }

  /** Returns the beginnings of a usual text that broken answers had. */
  #halvesOf(usual: string): string[] {
    const { answers } = this.#comparison
    const broken = noContents()
    for (const { key } of this.#sourcesOf(usual)) {
      const { open } = answers.questions.get(key) ?? {}
      if (open?.read !== undefined) addContents(broken, open.read, answers.normalise)
    }
    return [...broken.texts].filter(half => half !== usual && usual.startsWith(half))
  }

  /** The new questions that were answered after one failed. */
  readonly #late = once(() => {
    const begin = this.#open[0]?.open?.index ?? this.#badReads[0]?.index ?? 0
    return this.#comparison.answers.newQuestions.filter(({ last }) => last.index > begin)
  })

  /** The questions that failed, as they were asked of another model: those with a whole answer that is not used otherwise. */
  readonly #ofOtherModels = once(() => {
    const tasks = new Set(this.#open.map(({ last }) => taskOf(last)))
    return [...this.#comparison.answers.questions.values()].filter(one => {
      if (one.open !== undefined) return false
      const task = taskOf(one.last)
      return task !== '' && tasks.has(task) && !this.#isUsed(one)
    })
  })

  /** Tells whether the result without faults has a text of the answer to a question. */
  #isUsed({ key }: Question): boolean {
    const { texts = [] } = this.#said.questions.get(key)?.contents ?? {}
    return [...texts].some(text => isTelling(text) && this.#usualTexts.has(text))
  }

  #valueAt(place: Place): unknown {
    return this.#byPlace.get(formatPlace(place))
  }
}

function textKey({ place, value }: Leaf, normalise: Normalise): string {
  return `${patternOf(place)} ${normalise(String(value))}`
}

/** Returns the time that a value is or has, as a number to compare with others of its form; NaN for none. */
function timeIn(value: unknown): number {
  if (typeof value === 'number') return value >= LEAST_TIME ? value : Number.NaN
  return Date.parse(/\d{4}-\d\d-\d\dT[\d:.]+Z?/.exec(String(value))?.[0] ?? '')
}

/** Tells whether the answer is what a client asks for, as that of a model or the content of a file. Others may only steer it. */
function isProduct({ sim }: Observation, request: ObservedRequest): boolean {
  const isOfModel = sim.api.operations[request.operation]?.acceptsScopedTokens === true
  return isOfModel || kindFor({ sim }, request, 'content') !== undefined
}

/** Returns what a request asks of its model, without the name of the model; '' if it names none. */
function taskOf({ operation, body }: ObservedRequest): string {
  if (!isRecord(body) || body.model === undefined) return ''
  return stableJson([operation, { ...body, model: '' }])
}

/** Returns the key of a number that differs. One that becomes 0 is not like one that varies. */
function changeKey(place: Place, now: unknown): string {
  return `${now === 0 ? 'zero' : 'number'} ${patternOf(place)}`
}

/** Tells whether a number has two digits that count, as in 0.051. */
function hasDigits(value: number): boolean {
  return !Number.isInteger(value) && value.toExponential().includes('.')
}

function isPieceOf(piece: string, text: string): boolean {
  return isTelling(piece) && text.includes(piece)
}

/** Returns a small number with so many digits that an answer has it for a reason as a text. It proves as much as a text. */
function asText(leaf: Leaf): Leaf {
  const { place, value } = leaf
  const isPrecise = typeof value === 'number' && Math.abs(value) < LEAST_NUMBER && isTelling(String(value))
  return isPrecise ? { place, value: String(value) } : leaf
}

/** A thing that ended otherwise than without faults, and not by its client. */
export interface BadEnd {
  readonly thing: CreatedThing
  /** The request that showed it. */
  readonly shownBy: ObservedRequest
}

/** Returns the things that ended badly: failed, expired, cancelled, stopped or deleted by others. */
export function badEndsOf(observation: Observation): BadEnd[] {
  const { created, requests, base } = observation
  return created.flatMap(thing => {
    const { kind, status, id } = thing
    const isUsual = status === 'completed' || base?.created.some(one => one.kind === kind && one.status === status)
    if (isUsual || !isTerminalStatus(observation, kind, status)) return []
    if (requests.some(request => endsThing(observation, request, id))) return []
    const endedAt = statusSince(observation, thing)
    // A restarted client does not know what an earlier start saw.
    const shownBy = requests.find(
      request => request.start === lastStartOf(observation) && tellsEnd(observation, request, thing, endedAt),
    )
    return shownBy === undefined ? [] : [{ thing, shownBy }]
  })
}

/** Returns a read about the batch of each line that failed, and has an answer without faults. */
function readsOfFailedLines(observation: Observation): ObservedRequest[] {
  return failedLines(observation).some(({ customId }) => observation.base?.answered.has(customId))
    ? observation.requests.filter(({ method, outcome }) => method === 'GET' && outcome === 'answered').slice(-1)
    : []
}
