/** Compares two plays of a recording: what differs, and nothing else. */

import { formatDuration, type Micros } from '../../../kernel/duration.ts'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import type { Outcome, PlayedAnswer } from './free-play.ts'

/** A consequence of a change. */
export interface Consequence {
  readonly kind: 'answer' | 'time' | 'state' | 'money' | 'action' | 'world'
  /** As in `GET /deploy/list (request 7)`, or the id of a deployment. */
  readonly subject: string
  readonly before: string
  readonly after: string
}

/** Most fields of an answer that a consequence lists. */
const MAX_FIELDS = 3

/** Returns what differs between two outcomes. Empty: nothing. */
export function compareOutcomes(before: Outcome, after: Outcome): Consequence[] {
  const consequences = [
    ...compareAnswers(before, after),
    ...compareStates(before, after),
    ...compareMoney(before, after),
    ...compareActions(before, after),
  ]
  if (consequences.length === 0 && before.digest !== after.digest) {
    const subject = 'events that no client sees'
    consequences.push({ kind: 'world', subject, before: before.digest, after: after.digest })
  }
  return consequences
}

function compareAnswers(before: Outcome, after: Outcome): Consequence[] {
  const numbers = [...new Set([...before.answers.keys(), ...after.answers.keys()])].sort((a, b) => a - b)
  return numbers.flatMap(number => {
    const [one, other] = [before.answers.get(number), after.answers.get(number)]
    const subject = (one ?? other)!.name
    if (one === undefined || other === undefined) {
      return [{ kind: 'answer' as const, subject, before: describeAnswer(one), after: describeAnswer(other) }]
    }
    const differences: Consequence[] = []
    if (describeAnswer(one) !== describeAnswer(other)) {
      differences.push({ kind: 'answer', subject, before: describeAnswer(one), after: describeAnswer(other) })
    } else if (one.text !== other.text) differences.push(...compareTexts(subject, one.text, other.text))
    if (one.endedAt !== other.endedAt) {
      differences.push({ kind: 'time', subject, before: describeTime(one.endedAt), after: describeTime(other.endedAt) })
    }
    return differences
  })
}

function describeAnswer(answer: PlayedAnswer | undefined): string {
  if (answer === undefined) return 'not sent'
  const { status, wire, endedAt } = answer
  if (endedAt === undefined) return wire === 'hang' ? wire : 'no answer'
  return wire === '' ? String(status) : status === 0 ? wire : `${status}, ${wire}`
}

function describeTime(time: Micros | undefined): string {
  return time === undefined ? 'never' : formatDuration(time)
}

/** Returns the first fields that differ in two bodies. */
function compareTexts(subject: string, before: string, after: string): Consequence[] {
  const [one, other] = [flatten(parseJsonOrText(before)), flatten(parseJsonOrText(after))]
  const fields = [...new Set([...one.keys(), ...other.keys()])].filter(field => one.get(field) !== other.get(field))
  const shown = fields.slice(0, MAX_FIELDS)
  const describe = (values: ReadonlyMap<string, string>) =>
    shown.map(field => `${field === '' ? 'body' : field}: ${shorten(values.get(field) ?? 'missing')}`).join(', ')
  const more = fields.length > shown.length ? `, and ${fields.length - shown.length} more` : ''
  return [{ kind: 'answer', subject, before: describe(one) + more, after: describe(other) + more }]
}

function flatten(value: unknown, path = '', into = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null) return into.set(path, String(value))
  for (const [name, child] of Object.entries(value)) flatten(child, path === '' ? name : `${path}.${name}`, into)
  return into
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** Returns the things that went through other states, or at other times: what each did after the last equal one. */
export function compareStates(before: Pick<Outcome, 'states'>, after: Pick<Outcome, 'states'>): Consequence[] {
  const subjects = new Set([...before.states.keys(), ...after.states.keys()])
  return [...subjects].flatMap(subject => {
    const describe = ({ states }: Pick<Outcome, 'states'>) =>
      (states.get(subject) ?? []).map(({ at, became }) => `${became.replace(/^\w+\./, '')} at ${formatDuration(at)}`)
    const [one, other] = [describe(before), describe(after)]
    if (one.join() === other.join()) return []
    let same = 0
    while (one[same] === other[same]) same++
    const rest = (list: readonly string[]) => list.slice(same).join(', ') || 'no more changes'
    return [{ kind: 'state' as const, subject, before: rest(one), after: rest(other) }]
  })
}

type Money = Pick<Outcome, 'balance' | 'postings'>

/** Returns the sums of postings by kind that differ, and the balance. */
export function compareMoney(before: Money, after: Money): Consequence[] {
  const kinds = [...new Set([...before.postings.keys(), ...after.postings.keys()])].sort()
  const rows = kinds.map(kind => [kind, before.postings.get(kind) ?? 0, after.postings.get(kind) ?? 0] as const)
  return [...rows, ['balance', before.balance, after.balance] as const].flatMap(([subject, one, other]) =>
    one === other ? [] : [{ kind: 'money' as const, subject, before: formatMoney(one), after: formatMoney(other) }],
  )
}

/** Formats micro-cents as US dollars with six decimals. */
function formatMoney(microcents: number): string {
  return `${(microcents / 1e8).toFixed(6)} USD`
}

function compareActions(before: Outcome, after: Outcome): Consequence[] {
  const lines = [...new Set([...before.failedActions.keys(), ...after.failedActions.keys()])].sort((a, b) => a - b)
  return lines.flatMap(line => {
    const describe = ({ failedActions }: Outcome) => failedActions.get(line) ?? 'performed'
    const [one, other] = [describe(before), describe(after)]
    return one === other ? [] : [{ kind: 'action' as const, subject: `line ${line}`, before: one, after: other }]
  })
}
