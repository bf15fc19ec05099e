/** The card of an exploration in words: what the client did, before what was found. */

import { groupBy } from '../../../lib/group-by.ts'
import { formatCount, plural } from '../../../lib/text/format-count.ts'
import { wrapText } from '../../../lib/text/wrap.ts'
import { type Card, countGrades, type Grades } from '../stages/card.ts'

const WIDTH = 90
const WORDS = {
  usual: 'as usual',
  said: 'said what is missing',
  gaveUp: 'gave up',
  raw: 'raw errors',
  crash: 'crashes',
  endless: 'without an end',
} as const satisfies Readonly<Record<keyof Grades, string>>

/** The grades whose counts are always there. */
const ALWAYS: ReadonlySet<string> = new Set(['usual', 'said', 'gaveUp', 'raw', 'crash'])
const MAX_PLACES = 3

/** Returns the lines of a card: the counts, then one sentence about the client. */
export function describeCard(card: Card, findings: number): string[] {
  const { passing, others, several, said, unclear } = card
  const lines = [
    ...gradeLine(passing, 'fault', ' that passes', ' that pass', true),
    ...gradeLine(others, 'other', ''),
    ...gradeLine(several, 'run', ' with several faults', ' with several faults'),
  ]
  if (said.length > 0) lines.push(`  It said what is missing in ${places(said)}.`)
  if (unclear.length > 0) {
    lines.push(
      `  Does ${places(unclear)} say that something is missing? Only you know: give tells in the options of the flow.`,
    )
  }
  const verdict = verdictOf(card, findings)
  return verdict === '' ? lines : [...lines, `  ${verdict}`]
}

/** Says in one sentence how the client ended; '' if its findings say more. */
function verdictOf({ passing }: Card, findings: number): string {
  const all = countGrades(passing, 'usual', 'said', 'gaveUp', 'raw', 'crash', 'endless')
  const bad = countGrades(passing, 'gaveUp', 'raw', 'crash', 'endless')
  const runs = `${formatCount(bad)} of ${plural(all, 'run')} with a fault that passes`
  if (bad > all / 2) return `This client does not survive faults: it did not end as usual in ${runs}.`
  if (bad > 0) return `It ended with an error, or not at all, in ${runs}.`
  if (findings > 0 || all === 0) return ''
  return `It ended as usual, or said what is missing, in all of ${plural(all, 'run')} with a fault that passes.`
}

/** Returns which invariants were judged in how many runs, and which were not, with the reason. */
export function describeJudged({ invariants }: Card): string[] {
  const judged = invariants.filter(({ notJudged }) => notJudged === undefined)
  const others = groupBy(
    invariants.filter(({ notJudged }) => notJudged !== undefined),
    ({ notJudged }) => notJudged!,
  )
  const reasons = [...others].map(([reason, group]) => `${group.map(({ name }) => name).join(', ')} (${reason})`)
  const count = (runs: number) => `${plural(runs, 'run')}`
  return [
    ...(judged.length > 0
      ? wrapText(`Judged: ${judged.map(({ name, runs }) => `${name} in ${count(runs)}`).join(', ')}.`, WIDTH)
      : []),
    ...(reasons.length > 0 ? wrapText(`Not judged: ${reasons.join('; ')}.`, WIDTH) : []),
  ]
}

function gradeLine(grades: Grades, thing: string, one: string, many = one, isWhole = false): string[] {
  const names = Object.keys(WORDS) as (keyof Grades)[]
  const total = countGrades(grades, ...names)
  if (total === 0) return []
  const shown = names.filter(name => grades[name] > 0 || (isWhole && ALWAYS.has(name)))
  const counts = shown.map(name => `${formatCount(grades[name])} ${WORDS[name]}`)
  return [`  ${plural(total, thing)}${total === 1 ? one : many}: ${counts.join(', ')}`]
}

function places(found: Card['said']): string {
  const named = found.slice(0, MAX_PLACES).map(({ place, runs }) => `${place} (${plural(runs, 'run')})`)
  return named.join(' and ')
}
