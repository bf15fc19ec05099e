import { isRecord, tryParseJson } from '../../../lib/json-text.ts'
import { plural } from '../../../lib/text/numbers.ts'
import { type Comparison, comparisonOf, tellsLoss } from '../answers/comparison.ts'
import { LEAST_COUNTED } from '../answers/contents.ts'
import { formatPlace, type Leaf, type Place, patternOf, valueAt } from '../answers/leaves.ts'
import { LEAST_TIME, lossesOf } from '../answers/losses.ts'
import { isEffort, isMark, speaksOfFailure } from '../answers/telling.ts'
import { textOf } from '../batch-rows.ts'
import { kindOf, missingEffects, takenThings } from '../effects.ts'
import { isUsable, violationAt } from '../facts.ts'
import type { Effect, Observation, ObservedRequest } from '../observation.ts'
import { defineRule } from '../rule.ts'
import { kindWord, nameRequest, startSentence } from '../words.ts'

/** A field of JSON that says nothing. */
const EMPTY_FIELD = /"[^"]*": ?(?:null|false|0|""|\[\]|\{\})/g

/**
 * A client that returned what it returns without faults has done what it does without faults: created, deleted, set, paid,
 * started and stopped. The end counts, not the way: what has failed need not be stopped. If a result tells of it or shows
 * the present state of a setting, nothing is judged. After a change that was tried in vain, another word is enough. A change
 * counts as missing only if a request was not answered whole, also later. A wrong value of a setting needs only that it was
 * not answered until then. It has deleted or stopped nothing of others, unless it does so without faults or names it in its
 * result.
 */
export const doneAsSaid = defineRule({
  summary: 'A client that returns as usual has made its usual changes, and has deleted or stopped nothing of others.',
  advice:
    'Look at the status of each write, and read back what you set or deleted before you say that it is done. Repeat a ' +
    'delete until the thing is gone. Find your own thing by its name, and not by its place in a list.',
  premise: ({ end, base, effects, requests }) =>
    end.kind === 'returned' && effects.size + (base?.effects.size ?? 0) > 0 && requests.some(({ fault }) => fault),
  otherwise: 'no run changed something, met a fault and returned',
  check(observation) {
    const { base, crashes, requests } = observation
    const comparison = comparisonOf(observation)
    if (comparison === undefined || base === undefined) return []
    const things = requests.some(({ fault }) => fault !== undefined) ? takenThings(observation) : []
    const [taken] = things
    if (taken !== undefined && !(observation.tells ?? tellsTaken(comparison, things))) {
      const verb = taken.value === 'stop' ? 'stopped' : 'deleted'
      const thing = `${kindWord(kindOf(taken))} ${taken.id}`
      const words = `The client ${verb} the ${thing}, which existed before the client. Without faults, the client does not do so.`
      return [violationAt(taken.request, words, { subject: taken.id })]
    }
    if (crashes > 0) return []
    const missing = missingEffects(observation, base.effects)
    const { open, newQuestions } = comparison.answers
    if (missing.length === 0) {
      const spoilt = newQuestions.length > 0 ? undefined : spoiltFile(observation, comparison)
      if (spoilt === undefined || tellsOfLoss(observation, comparison)) return []
      const { file, request } = spoilt
      const words = `The file '${file.name}' that the client stored differs from that without faults. ${startSentence(nameRequest(request))} was not answered whole.`
      return [violationAt(request, words, { subject: file.id })]
    }
    if (tellsOfLoss(observation, comparison)) return []
    const repeated = requests.some(({ fault }) => fault?.kind === 'duplicate')
    const [first] = missing as [(typeof missing)[number]]
    const tried = open.find(({ operation }) => operation === first.effect.request.operation)
    // What was not tried may be missing because a reading failed, and the result may not know that.
    if (tried !== undefined && observation.tells === undefined && differsInWords(observation, comparison)) return []
    const cause = (tried ?? open[0])?.open ?? unansweredBefore(observation, comparison, first.effect)
    if (cause === undefined || repeated) return []
    const more = missing.length > 1 ? ` ${plural(missing.length - 1, 'more change')} did not happen.` : ''
    const words =
      `The result says what it says without faults, but ${first.words}.${more} The client went on after ` +
      `${nameRequest(cause)}.`
    return [violationAt(cause, words, { subject: first.effect.id })]
  },
})

/**
 * Tells whether a result says which things of others the client took, or how many in place of 0. An id in the place of that
 * of its own thing says nothing.
 */
function tellsTaken({ usual, read }: Comparison, taken: readonly Effect[]): boolean {
  const isNew = (place: Place) => typeof valueAt(usual.result, place) !== 'string'
  const isListed = ({ id }: Effect) =>
    read.leaves.some(({ place, value }) => {
      const isText = typeof value === 'string' && value.includes(id) && (value !== id || isNew(place))
      return isText || (place.includes(id) && isNew(place))
    })
  const isCount = ({ place, value }: Leaf) =>
    value === taken.length && valueAt(usual.result, place) === 0 && !isEffort(place)
  return taken.every(isListed) || read.leaves.some(isCount)
}

/**
 * Tells whether a result says something else than without faults: another word, false, a smaller count, a value of an
 * answer, or another list. What differs by itself says nothing.
 */
function differsInWords({ base, learned }: Observation, { usual, read, answers }: Comparison): boolean {
  const usualAt = new Map(usual.leaves.map(({ place, value }) => [formatPlace(place), value]))
  const isNoise = ({ place }: Leaf) =>
    ['number', 'text'].some(kind => learned?.noise.has(`${kind} ${patternOf(place)}`)) || isEffort(place)
  const changes = [...(base?.effects.values() ?? [])].reduce((sum, one) => sum + one.changes, 0)
  const isOther = (leaf: Leaf) => {
    const { place, value } = leaf
    const before = usualAt.get(formatPlace(place)) ?? valueAt(usual.result, place)
    if (value === before || isNoise(leaf)) return false
    if (typeof value === 'boolean') return value ? before === false : Boolean(before)
    if (typeof value === 'number') {
      if (typeof before !== 'number' || !Number.isInteger(value) || value >= LEAST_TIME) return false
      const isFewer = value >= 0 && value < before && before <= changes
      return isFewer || answers.hasNumber(value)
    }
    if (typeof value !== 'string' || value.trim() === '') return false
    if (before === undefined) return typeof place.at(-1) === 'number' && answers.has(answers.normalise(value))
    if (typeof before !== 'string') return false
    const isNoNews = answers.isOfRefusal(value) || answers.normalise(value) === answers.normaliseUsual(before)
    return !isNoNews && value.replaceAll(/\d/g, '') !== before.replaceAll(/\d/g, '')
  }
  const isLeftOut = (leaf: Leaf) =>
    !isNoise(leaf) &&
    leaf.place.some((_, depth) => {
      const [now, whole] = [read.result, usual.result].map(result =>
        sizeOf(valueAt(result, leaf.place.slice(0, depth))),
      )
      return now !== undefined && whole !== undefined && now < whole
    })
  return read.leaves.some(isOther) || usual.leaves.some(isLeftOut)
}

/** Returns the number of entries of a list, a set or a map; undefined for other values. */
function sizeOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length
  return value instanceof Set || value instanceof Map ? value.size : undefined
}

/** Returns a request that was not answered whole, also not later, before the client gave a setting another value than usual. */
function unansweredBefore({ effects, requests }: Observation, { answers }: Comparison, { what, name }: Effect) {
  const { value, request } = effects.get(`${what} ${name}`) ?? {}
  const failed = [...answers.questions.values()].flatMap(question => question.failed ?? [])
  return failed.find(({ index, operation, path }) => {
    const isWhole = (one: ObservedRequest) => one.operation === operation && one.path === path && isUsable(one)
    const next = requests.slice(index).find(one => one.operation === request?.operation || isWhole(one))
    return value !== undefined && next !== undefined && !isWhole(next)
  })
}

/**
 * Returns a file that lacks what the client stores in it of an answer without faults, the bytes or a text, and the request
 * that was not answered whole. A file that says what is missing lacks nothing.
 */
function spoiltFile({ effects, base }: Observation, { answers }: Comparison) {
  if (answers.open.length === 0) return undefined
  const changed = [...(base?.effects ?? [])].flatMap(([key, usual]) => {
    const now = effects.get(key)
    if (now?.chunks === undefined || usual.chunks === undefined || now.hash === usual.hash) return []
    const texts = [textOf(usual.chunks), textOf(now.chunks)] as const
    if (tellsLossIn(...texts)) return []
    return [{ file: now, before: answers.normaliseUsual(texts[0]), after: answers.normalise(texts[1]) }]
  })
  for (const { key, open } of answers.open) {
    const answer = base?.answers.questions.get(key)
    const said = Array.from(answer?.contents.texts ?? []).filter(text => text.length >= LEAST_COUNTED)
    const isSpoilt = ({ before, after }: (typeof changed)[number]) =>
      answer?.last.read?.isSoundOrPicture === true || said.some(text => before.includes(text) && !after.includes(text))
    const file = changed.find(isSpoilt)?.file
    if (file !== undefined && open !== undefined) return { file, request: open }
  }
  return undefined
}

/** Tells whether a line of a file that is new speaks of a failure, or has null or false where no usual line has it. */
function tellsLossIn(before: string, after: string): boolean {
  const lines = new Set(before.split('\n'))
  const usualRows = [...lines].map(toRow).filter(row => row !== undefined)
  const emptyFields = new Set(usualRows.flatMap(emptyFieldsOf))
  return after.split('\n').some(line => {
    if (lines.has(line)) return false
    const row = toRow(line)
    // A row that is cut, or a page in its place, says nothing.
    if (row === undefined && usualRows.length > 0) return false
    if (speaksOfFailure(line.replaceAll(EMPTY_FIELD, ''))) return true
    return row !== undefined && emptyFieldsOf(row).some(field => !emptyFields.has(field))
  })
}

function toRow(line: string): Readonly<Record<string, unknown>> | undefined {
  const row = tryParseJson(line)
  return isRecord(row) ? row : undefined
}

function emptyFieldsOf(row: Readonly<Record<string, unknown>>): string[] {
  const isEmpty = (value: unknown) => value === null || value === false || (typeof value === 'string' && isMark(value))
  return Object.keys(row).filter(name => isEmpty(row[name]))
}

/** Tells whether the result of a client says that something is missing, or shows the present state of a setting. */
export function tellsOfLoss(observation: Observation, { tellers }: Comparison): boolean {
  const { tells, learned } = observation
  if (tells !== undefined) return tells
  const isSaid = tellers.some(teller => tellsLoss(teller, learned))
  const { losses, showsState } = lossesOf(observation)
  return isSaid || showsState || losses.some(({ verdict }) => verdict === 'said')
}
