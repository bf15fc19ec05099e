/** What a client mangled itself: it was answered whole in the end, but the failures before left traces in its result. */

import { groupBy } from '../../../lib/lists.ts'
import type { BaseObservation, Loss, Observation, ObservedRequest, Question } from '../observation.ts'
import { quoteText } from '../words.ts'
import { type Comparison, tellsLoss } from './comparison.ts'
import { addContents, isVector, noContents } from './contents.ts'
import { childrenOf, formatPlace, type Leaf, type Place, patternOf, valueAt } from './leaves.ts'
import { isTelling } from './run-answers.ts'
import { isEffort, tellersFor } from './telling.ts'

const LEAST_TEXT = 4
/** Lists that may name one thing more than once. */
const LOG = /log|history|trace|events?$|asked|tried|seen|steps|polled|sent/i

/**
 * Returns the values that a client mangled. Only runs whose faults just took time show what differs by itself, so until
 * some were seen, they are unclear.
 */
export function mangledIn(observation: Observation, base: BaseObservation, comparison: Comparison): Loss[] {
  const { tells, learned } = observation
  if (tells === true || comparison.answers.newQuestions.length > 0) return []
  const search = new MangledSearch(base, comparison)
  const [swapped, losses] = [search.findSwapped(), search.find()]
  const isQuiet = ({ place }: Loss) => {
    const near = tellersFor(place, comparison.tellers)
    const isSaid = near.some(teller => teller.tells === 'perhaps' || tellsLoss(teller, learned))
    const pattern = `text ${patternOf(place)}`
    return (tells === false || !isSaid) && learned?.noise.has(pattern) !== true
  }
  if (learned?.isSettled !== true)
    return [...swapped, ...losses.map(loss => ({ ...loss, verdict: 'unclear' as const }))]
  return [...swapped, ...losses.filter(isQuiet)]
}

/** Returns the places of texts that differ, in a run in which no answer was missing for a time. */
export function changedTextsIn({ answers, usual, read }: Comparison): string[] {
  if ([...answers.questions.values()].some(({ failed }) => failed !== undefined)) return []
  const keyOf = ({ place, value }: Leaf, text: string) =>
    JSON.stringify([formatPlace(place), value === null ? '' : text])
  const usualKeys = new Map(usual.leaves.map(leaf => [keyOf(leaf, answers.normaliseUsual(String(leaf.value))), leaf]))
  const readKeys = new Map(read.leaves.map(leaf => [keyOf(leaf, answers.normalise(String(leaf.value))), leaf]))
  const isChanged = (other: ReadonlyMap<string, Leaf>) => (entry: readonly [string, Leaf]) => !other.has(entry[0])
  const changed = [...[...usualKeys].filter(isChanged(readKeys)), ...[...readKeys].filter(isChanged(usualKeys))]
  return changed.map(([, { place }]) => `text ${patternOf(place)}`)
}

class MangledSearch {
  readonly #base: BaseObservation
  readonly #comparison: Comparison
  readonly #usualTexts: ReadonlySet<string>
  readonly #texts: ReadonlySet<string>

  constructor(base: BaseObservation, comparison: Comparison) {
    const { answers, usual, read } = comparison
    const textsOf = (leaves: readonly Leaf[], normalise: (text: string) => string) =>
      new Set(leaves.flatMap(({ value }) => (typeof value === 'string' ? normalise(value) : [])))
    this.#base = base
    this.#comparison = comparison
    this.#usualTexts = textsOf(usual.leaves, text => answers.normaliseUsual(text))
    this.#texts = textsOf(read.leaves, answers.normalise)
  }

  find(): Loss[] {
    const failed = [...this.#comparison.answers.questions.values()].flatMap(one => one.failed ?? [])
    if (failed.length === 0) return []
    return [...this.#comparison.usual.leaves.flatMap(leaf => this.#judge(leaf)), ...this.#twice(failed[0]!)]
  }

  /** Finds answers that are beside the label of another question, as that of `sun` in the row of `moon`. */
  findSwapped(): Loss[] {
    const { answers, usual, read } = this.#comparison
    const now = new Map(read.leaves.map(({ place, value }) => [formatPlace(place), value]))
    return usual.leaves.flatMap(({ place, value }) => {
      const here = now.get(formatPlace(place))
      if (here === value) return []
      const own = this.#onlyQuestionOf(answers.normaliseUsual(String(value)))
      const other = this.#onlyQuestionOf(answers.normalise(String(here)))
      const cause = own?.failed ?? other?.failed
      if (own === undefined || other === undefined || cause === undefined) return []
      const [before, labels] = [labelsAt(usual.result, place), labelsAt(read.result, place)]
      const isNamed = (a: Question, b: Question, label: string) => a.key.includes(label) && !b.key.includes(label)
      const isKept = labels.some(label => before.includes(label) && isNamed(own, other, label))
      const isSwapped = isKept && !labels.some(label => isNamed(other, own, label))
      const instead = 'the answer to another question'
      return isSwapped ? [{ place, usual: value, instead, cause, verdict: 'unsaid', tellers: [] }] : []
    })
  }

  /** Returns the question that alone has a text in its answers, without faults and in this run; undefined for none. */
  #onlyQuestionOf(text: string): Question | undefined {
    if (!isTelling(text)) return undefined
    const find = ({ questions }: BaseObservation['answers']) =>
      [...questions.values()].filter(({ contents }) => contents.texts.has(text))
    const [[usual, ...others], [now, ...more]] = [find(this.#base.answers), find(this.#comparison.answers)]
    return others.length + more.length === 0 && usual?.key === now?.key ? now : undefined
  }

  #judge({ place, value }: Leaf): Loss[] {
    const { answers, read } = this.#comparison
    const text = typeof value === 'string' ? answers.normaliseUsual(value) : ''
    if (text.length < LEAST_TEXT || this.#texts.has(text)) return []
    const cause = this.#failedSourceOf(text)
    if (cause === undefined) return []
    const now = valueAt(read.result, place)
    const instead =
      now === undefined || now === null || now === '' ? this.#insteadOfNothing(text) : this.#half(now, text)
    return instead === undefined ? [] : [{ place, usual: value, instead, cause, verdict: 'unsaid', tellers: [] }]
  }

  /** Returns the request that failed, if a text is in the last whole answer to its question. */
  #failedSourceOf(text: string): ObservedRequest | undefined {
    const { answers } = this.#comparison
    for (const { key, contents } of this.#base.answers.questions.values()) {
      const question = contents.texts.has(text) ? answers.questions.get(key) : undefined
      if (question?.failed === undefined || question.last.read === undefined) continue
      const last = noContents()
      addContents(last, question.last.read, answers.normalise)
      if (last.texts.has(text)) return question.failed
    }
    return undefined
  }

  /** The result has nothing new, so that no other answer is there instead. */
  #insteadOfNothing(text: string): string | undefined {
    const isElsewhere = [...this.#texts].some(other => other.includes(text) || !this.#usualTexts.has(other))
    return isElsewhere ? undefined : 'nothing'
  }

  #half(now: unknown, text: string): string | undefined {
    const { answers } = this.#comparison
    const shown = typeof now === 'string' ? answers.normalise(now) : ''
    const rest = shown.includes(text) ? shown.replace(text, '').trim() : ''
    return rest !== '' && text.includes(rest) && !answers.has(shown) ? 'a part of it before all of it' : undefined
  }

  /** Finds the rows of lists that are there twice, and once without faults. The lists have no other rows. */
  #twice(cause: ObservedRequest): Loss[] {
    const { answers, usual, read } = this.#comparison
    return listsOf(read.result).flatMap(place => {
      const before = valueAt(usual.result, place)
      if (!Array.isArray(before) || isEffort(place) || place.some(key => LOG.test(String(key)))) return []
      const once = rowsOf(before, text => answers.normaliseUsual(text))
      const now = rowsOf(valueAt(read.result, place), answers.normalise)
      if (now.size !== once.size || [...now.keys()].some(text => !once.has(text))) return []
      const repeated = [...now].filter(([text, at]) => at.length > 1 && once.get(text)!.length === 1)
      const page = repeated.length > 0 ? this.#pageOf([...now.keys()]) : undefined
      const twice = repeated.find(([text]) => page?.has(text))
      if (twice === undefined) return []
      const again = twice[1][1]!
      const instead = `a second ${quoteText(before[once.get(twice[0])![0]!])}`
      const usually = before[again] ?? 'nothing'
      return [{ place: [...place, again], usual: usually, instead, cause, verdict: 'unsaid', tellers: [] }]
    })
  }

  /** Returns the rows that come from an answer with two or more of them. None is asked for by its text. */
  #pageOf(rows: readonly string[]): ReadonlySet<string> {
    const { answers } = this.#comparison
    const questions = [...answers.questions.values()]
    const keys = questions.map(({ key }) => answers.normalise(key))
    const page = new Set<string>()
    for (const { last } of questions) {
      if (last.read === undefined) continue
      const said = noContents()
      addContents(said, last.read, answers.normalise)
      const texts = [...said.texts].filter(
        text => text.length >= LEAST_TEXT && rows.filter(row => row.includes(text)).length === 1,
      )
      const rowsWith = (found: readonly string[]) => rows.filter(row => found.some(text => row.includes(text)))
      const isAsked = (text: string) => keys.some(key => key.includes(text))
      if (rowsWith(texts).length > 1) for (const row of rowsWith(texts.filter(text => !isAsked(text)))) page.add(row)
    }
    return page
  }
}

/** Returns the texts that can name a value: the keys of its place, and the texts beside it in a record. */
function labelsAt(result: unknown, place: Place): string[] {
  const beside =
    typeof place.at(-1) === 'number' ? [] : childrenOf(valueAt(result, place.slice(0, -1))).map(([, value]) => value)
  return [...place, ...beside].filter(one => typeof one === 'string' && one.length > 2) as string[]
}

/** Returns the positions of each row of a list. */
function rowsOf(list: unknown, normalise: (text: string) => string): Map<string, number[]> {
  const texts = childrenOf(list).map(([, row]) =>
    normalise(typeof row === 'string' ? row : (JSON.stringify(row) ?? '')),
  )
  return groupBy(texts.keys(), i => texts[i]!)
}

/** Returns the places of the lists in a value. */
function listsOf(value: unknown, place: Place = []): Place[] {
  const MOST = 6
  if (place.length > MOST || isVector(value)) return []
  const inner = childrenOf(value).flatMap(([key, child]) =>
    typeof child === 'object' && child !== null ? listsOf(child, [...place, key]) : [],
  )
  return Array.isArray(value) ? [place, ...inner] : inner
}
