/** What the service really said in one run: which questions were answered whole, and what the answers have. */

import { tryParseJson } from '../../../lib/json-text.ts'
import { groupBy } from '../../../lib/lists.ts'
import { once, oncePer } from '../../../lib/once.ts'
import { vocabularyOf } from '../../../service/naming/vocabulary.ts'
import { isThing } from '../../exchanges/request-subjects.ts'
import { endsThing, idInPath, kindFor, lastStartOf } from '../facts.ts'
import { statusFieldsOf } from '../lifecycles.ts'
import type { AnswersOfRun, BaseObservation, Conduct, ObservedRequest, Question } from '../observation.ts'
import { keyOfQuestion } from '../retries.ts'
import { addContents, joinContents, maskIds, type Normalise, noContents, normaliserOf } from './contents.ts'
import { leavesOf } from './leaves.ts'

export class RunAnswers implements AnswersOfRun {
  readonly questions = new Map<string, Question>()
  readonly forgotten: ReadonlyMap<string, ObservedRequest>
  readonly normalise: Normalise
  readonly #contents = noContents()
  /** What refusals of the service say. */
  readonly #refusals = noContents()
  readonly #base: AnswersOfRun | undefined
  /** The last whole answers as they came, by question. */
  readonly #lastTexts = new Map<string, string>()
  /** The words that the interface declares for what was asked, without statuses. */
  readonly #declared: () => ReadonlySet<string>
  /** How many whole answers a question needs: those that the result without faults has. One if it is not in the map. */
  readonly #needed: ReadonlyMap<string, number>

  /** @param run the run without faults */
  constructor(observation: Pick<Conduct, 'requests' | 'crashes' | 'sim' | 'startedAt'>, run?: BaseObservation) {
    const { requests, crashes, sim } = observation
    const base = run?.answers
    this.#base = base
    // A restarted client may have kept what an earlier start was answered.
    this.#needed = run === undefined || crashes > 0 ? new Map() : neededAnswers(run)
    this.#declared = once(() => declaredWords(sim, (base ?? this).questions))
    const ofLastStart = requests.filter(({ start }) => start === lastStartOf({ crashes }))
    const ids = newIds(observation, ofLastStart)
    this.normalise = normaliserOf(ids)
    for (const request of ofLastStart) this.#add(request, maskIds(keyOfQuestion(request), ids))
    const earlier = requests.slice(0, requests.length - ofLastStart.length)
    this.forgotten = earlier.length === 0 ? new Map() : this.#findForgotten(earlier, newIds(observation, earlier), sim)
  }

  /** Returns the requests that no start got an answer to and that the last start does not ask again, by question. */
  #findForgotten(
    earlier: readonly ObservedRequest[],
    ids: ReadonlyMap<string, string>,
    sim: Conduct['sim'],
  ): ReadonlyMap<string, ObservedRequest> {
    const all = groupBy(earlier, request => maskIds(keyOfQuestion(request), ids))
    const forgotten = [...all].flatMap(([key, asked]) => {
      const usual = this.#base?.questions.get(key)
      const isKnown = usual !== undefined && usual.open === undefined && !this.questions.has(key)
      // What a create has made can be found in other ways.
      const isCreate = kindFor({ sim }, asked[0]!, 'create') !== undefined
      // What an earlier start ended is gone for this one.
      const id = idInPath({ sim }, asked[0]!)
      const isGone = id !== '' && earlier.some(one => endsThing({ sim }, one, id))
      const isAnswered = asked.some(request => isAnsweredWhole(request, this.normalise, true))
      return isKnown && !isCreate && !isGone && !isAnswered ? [[key, asked.at(-1)!] as const] : []
    })
    return new Map(forgotten)
  }

  #add(request: ObservedRequest, key: string): void {
    const base = this.#base
    const known = this.questions.get(key)
    const { operation } = request
    const question: Question = known ?? {
      key,
      operation,
      last: request,
      open: undefined,
      failed: undefined,
      contents: noContents(),
      whole: 0,
      answers: [],
    }
    this.questions.set(key, question)
    const usual = base?.questions.get(key)
    question.last = request
    // What the client meets without faults too costs it nothing.
    const isUsual = usual?.open !== undefined && usual.last.status === request.status
    const isRead = usual?.last.read !== undefined
    if (request.status >= 400 && request.read !== undefined) addContents(this.#refusals, request.read, this.normalise)
    const isWhole = isAnsweredWhole(request, this.normalise, isRead) || isUsual
    if (isWhole) question.whole++
    else question.failed = request
    question.open = isWhole && question.whole >= (this.#needed.get(key) ?? 1) ? undefined : question.failed
    if (request.read === undefined || (!isWhole && base !== undefined)) return
    // Most polls have the answer of the one before.
    if (this.#lastTexts.get(key) === request.read.text) return
    this.#lastTexts.set(key, request.read.text)
    const contents = noContents()
    addContents(contents, request.read, this.normalise)
    if (base === undefined) question.answers.push(contents)
    for (const all of [question.contents, this.#contents]) joinContents(all, contents)
  }

  /** The questions that were never answered whole after they failed. */
  get open(): readonly Question[] {
    return [...this.questions.values()].filter(({ open }) => open !== undefined)
  }

  /** Tells whether a whole answer of the run has a text. */
  has(text: string): boolean {
    return this.#contents.texts.has(text)
  }

  /** Tells whether a text is one that a refusal of the run has: the client did not write it. */
  isOfRefusal(text: string): boolean {
    return this.#refusals.texts.has(this.normalise(text))
  }

  /** Tells whether a whole answer of the run has a number, in its own unit or in hundredths of it. */
  hasNumber(number: number): boolean {
    const { numbers } = this.#contents
    return numbers.has(number) || numbers.has(Math.round(number * 100))
  }

  /** The texts of all whole answers. */
  get texts(): ReadonlySet<string> {
    return this.#contents.texts
  }

  /** The names of the fields of all whole answers. */
  get fields(): ReadonlySet<string> {
    return this.#contents.fields
  }

  /** Tells whether a whole answer of the run without faults has a field. */
  isUsualField(name: string): boolean {
    return (this.#base ?? this).fields.has(name)
  }

  /** Normalises a text of the run without faults. */
  normaliseUsual(text: string): string {
    return (this.#base ?? this).normalise(text)
  }

  /** Tells whether a text is what the service said in the run without faults, or a piece of it. */
  isUsual(text: string): boolean {
    const { texts } = this.#base ?? this
    const normal = this.normaliseUsual(text)
    return texts.has(normal) || (isTelling(normal) && [...texts].some(said => said.includes(normal)))
  }

  /**
   * Tells whether a label that no answer has is in place of a word that the interface declares, such as `list`, and that is
   * no status. The client wrote both.
   */
  isOwnLabel(before: unknown, value: unknown): boolean {
    return isLabel(before) && isLabel(value) && !this.has(this.normalise(value)) && this.#declared().has(before)
  }

  /** Returns the question whose answer has a text in the run without faults; undefined for none. */
  usualQuestionOf(text: unknown): Question | undefined {
    const { normalise, questions } = this.#base ?? this
    const normal = typeof text === 'string' ? normalise(text) : undefined
    if (normal === undefined) return undefined
    return [...questions.values()].find(({ contents }) => contents.texts.has(normal))
  }

  /**
   * The questions that the run without faults did not ask, with a whole answer. They can make up for what is lost. An
   * upload of another file does not: it may be the file that lacks what is lost.
   */
  get newQuestions(): readonly Question[] {
    const usual = new Set(Array.from(this.#base?.questions.values() ?? [], ({ last }) => withoutFiles(last)))
    usual.delete(undefined)
    const isNew = ({ key, open, last }: Question) =>
      open === undefined && this.#base?.questions.has(key) === false && !usual.has(withoutFiles(last))
    return [...this.questions.values()].filter(isNew)
  }
}

/** Returns how many different answers to each question a result has: of an answer, what no other one to its question has. */
const neededAnswers = oncePer(({ end, answers }: BaseObservation): ReadonlyMap<string, number> => {
  const returned = end.kind === 'returned' ? leavesOf(end.result, end.blobs) : []
  const said = returned.map(({ value }) => (typeof value === 'number' ? value : answers.normalise(String(value))))
  const values = new Set(said.filter(one => (typeof one === 'number' ? Math.abs(one) > 1 : one.length > 3)))
  const countOf = ({ answers: all }: Question) => {
    const parts = all.map(({ texts, numbers }) => [...texts, ...numbers].filter(one => values.has(one)))
    const shared = groupBy(parts.flat(), one => one)
    return parts.filter(own => own.some(one => shared.get(one)!.length === 1)).length
  }
  return new Map(Array.from(answers.questions.values(), question => [question.key, countOf(question)]))
})

/** Returns the key of an upload without its files; undefined for another request. */
function withoutFiles(request: ObservedRequest): string | undefined {
  const { files, ...fields } = (request.body ?? {}) as { readonly files?: unknown }
  return files === undefined ? undefined : keyOfQuestion({ ...request, body: fields })
}

function declaredWords(sim: Conduct['sim'], questions: AnswersOfRun['questions']): ReadonlySet<string> {
  const asked = new Set(Array.from(questions.values(), ({ operation }) => operation))
  const endpoints = Object.entries(sim.api.operations).filter(([operation]) => asked.has(operation))
  const statuses = statusFieldsOf({ sim })
  const words = [...vocabularyOf(Object.fromEntries(endpoints))]
  return new Set(words.flatMap(([place, of]) => (statuses.has(place.split('.').at(-1)!) ? [] : [...of])))
}

/** Tells whether a value is a label: a word or a few, without digits. */
export function isLabel(value: unknown): value is string {
  return typeof value === 'string' && /^\p{L}[\p{L} _:.-]{0,39}$/u.test(value)
}

/** Tells whether a text is so long that an answer has it for a reason. */
export function isTelling(text: string): boolean {
  return text.length >= 12 || (text.length >= 4 && text.includes(' '))
}

/**
 * Tells whether the client got what the service said, or did not read it.
 *
 * @param isRead whether it usually reads such an answer
 */
function isAnsweredWhole(request: ObservedRequest, normalise: Normalise, isRead: boolean): boolean {
  const { outcome, status, readError, fault, read, truth } = request
  if (outcome !== 'answered' || status >= 400 || readError !== undefined) return false
  if (fault === undefined) return true
  // A made-up success can be in place of the work.
  if (read === undefined) return !isRead && fault.kind !== 'status'
  if (truth === undefined || !truth.isWhole || !read.isWhole) return false
  if (truth.text === read.text) return true
  const [said, seen] = [noContents(), noContents()]
  addContents(said, truth, normalise)
  addContents(seen, read, normalise)
  said.texts.delete(normalise(truth.text))
  if (said.texts.size > 0) return [...said.texts].every(text => seen.texts.has(text))
  // Without texts in it, JSON is its numbers. Sound, pictures and other files have no other form.
  const [whole, got] = [tryParseJson(truth.text), tryParseJson(read.text)]
  if (whole === undefined || got === undefined) return false
  if (said.numbers.size > 0) return [...said.numbers].every(number => seen.numbers.has(number))
  return JSON.stringify(whole) === JSON.stringify(got)
}

/** Returns the ids that the requests made, each with a label that follows from the field that names it. */
function newIds(
  { sim, startedAt }: Pick<Conduct, 'sim' | 'startedAt'>,
  requests: readonly ObservedRequest[],
): ReadonlyMap<string, string> {
  const made = new Set<string>()
  for (const { kind, time, subject, fields } of sim.journal.entries()) {
    if (time < startedAt || !/\.(?:created|added)$/.test(kind)) continue
    made.add(subject)
    for (const [name, value] of Object.entries(fields ?? {})) if (name.endsWith('_id')) made.add(String(value))
  }
  const ids = new Map<string, string>()
  const counts = new Map<string, number>()
  const take = (name: string, id: string) => {
    if (ids.has(id) || (!made.has(id) && isThing(sim.world, id))) return
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    ids.set(id, `#${name}${count}`)
  }
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, child] of Object.entries(value)) {
      const isId = (id: string) => (/(?:^|_)id$/.test(name) ? name !== 'custom_id' : made.has(id) && /Id$/.test(name))
      if (typeof child === 'string' && isId(child)) take(name, child)
      else visit(child)
    }
  }
  let before: string | undefined
  for (const { answer, read } of requests) {
    if (read !== undefined && read.text === before) continue
    before = read?.text
    if (typeof answer !== 'string') visit(answer)
    else for (const line of answer.split('\n')) visit(tryParseJson(line.replace(/^data: /, '')))
  }
  return ids
}
