/** The card of an exploration in words: what the client did, before what was found. */

import { groupBy } from '../../../lib/lists.ts'
import { formatCount, plural } from '../../../lib/text/numbers.ts'
import { wrapText } from '../../../lib/text/words.ts'
import { GRADES } from '../../../simulator/judge/observation.ts'
import { type Card, countGrades, type Grades } from '../stages/card.ts'

const WIDTH = 90
const WORDS = {
  usual: 'returned',
  said: 'said what is missing',
  gaveUp: 'gave up',
  raw: 'raw errors',
  crash: 'crashes',
  endless: 'without an end',
} as const satisfies Readonly<Record<keyof Grades, string>>

const AFTER = 'After faults of these operations, it ended with an error or did not end:'
const UNSEEN = 'A loss cannot be seen: it returned the same without the answer to'
const SHOW = 'If it uses the answer, let it return or print the answer, its length or its digest.'
/** The grades whose counts are always there. */
const ALWAYS: ReadonlySet<string> = new Set(['usual', 'said', 'gaveUp', 'raw', 'crash'])
const MAX_PLACES = 3
const MAX_CRASHES = 5

/**
 * Returns the lines of a card: one sentence about the client, then the counts.
 *
 * @param untried the number of single faults that were not run, before the budget was spent or the user stopped
 */
export function describeCard(card: Card, findings: number, untried = 0): string[] {
  const { passing, others, several, crashes, printedOnly, ended, unseen, said, unclear } = card
  const lines = [
    ...gradeLine(passing, 'temporary fault', '', true),
    ...(ended.length === 0 ? [] : wrapText(`${AFTER} ${places(ended)}.`, WIDTH, '  ')),
    ...gradeLine(others, 'other fault', ''),
    ...gradeLine(several, 'run', ' with several faults'),
  ]
  for (const { error, ...of } of crashes.slice(0, MAX_CRASHES)) lines.push(`  Crash: ${withRuns(error, of)}`)
  if (crashes.length > MAX_CRASHES) lines.push(`  and ${crashes.length - MAX_CRASHES} more`)
  if (printedOnly.length > 0) lines.push(`  Left running, printed only: ${places(printedOnly)}.`)
  if (unseen.length > 0) lines.push(...wrapText(`${UNSEEN} ${places(unseen)}. ${SHOW}`, WIDTH, '  '))
  if (said.length > 0) lines.push(`  It said what is missing in ${places(said)}.`)
  if (unclear.length > 0) {
    lines.push(
      `  Does ${places(unclear)} say that something is missing? Only you know: set the option tells of the flow.`,
    )
  }
  return [`  ${verdictOf(card, findings, untried)}`, ...lines]
}

/** Says in one sentence how the client did. */
function verdictOf({ passing, others, several, unseen }: Card, findings: number, untried: number): string {
  const all = countRuns(passing)
  const errors = countGrades(passing, 'gaveUp', 'raw', 'crash')
  const bad = errors + passing.endless
  const ends = [errors > 0 ? 'ended with an error' : '', passing.endless > 0 ? 'did not end' : ''].filter(Boolean)
  const failed = `${formatCount(bad)} of ${plural(all, 'run')} with a temporary fault ${ends.join(' or ')}`
  const found = findings > 0 ? `It has ${plural(findings, 'finding')}` : ''
  if (bad > all / 2) return `This client does not survive faults: ${failed}.${found && ` ${found}.`}`
  if (bad > 0) return found === '' ? `This client can fail: ${failed}.` : `${found}, and ${failed}.`
  if (found !== '') return `${found}.`
  const tried = countRuns(passing) + countRuns(others) + countRuns(several)
  if (tried === 0) return 'No fault was tried.'
  if (untried > 0) {
    const notRun = `${plural(untried, 'single fault')} ${untried === 1 ? 'was' : 'were'} not run`
    return `It is not known whether this client has a problem: ${notRun}.`
  }
  if (unseen.length > 0)
    return 'It is not known whether this client has a problem: some answers cannot be seen in its result.'
  return all === 0
    ? 'No problem was found, but no temporary fault was tried.'
    : `No problem was found: it returned, or said what is missing, in all of ${plural(all, 'run')} with a temporary fault.`
}

function countRuns(grades: Grades): number {
  return countGrades(grades, ...GRADES)
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
  if (judged.length === 0 && others.size === 1)
    return [`No invariant was judged with a fault (${[...others.keys()][0]}).`]
  return [
    ...(judged.length > 0
      ? wrapText(`Judged: ${judged.map(({ name, runs }) => `${name} in ${count(runs)}`).join(', ')}.`, WIDTH)
      : []),
    ...(reasons.length > 0 ? wrapText(`Not judged: ${reasons.join('; ')}.`, WIDTH) : []),
  ]
}

function gradeLine(grades: Grades, thing: string, more: string, isWhole = false): string[] {
  const names = Object.keys(WORDS) as (keyof Grades)[]
  const total = countRuns(grades)
  if (total === 0) return []
  const shown = names.filter(name => grades[name] > 0 || (isWhole && ALWAYS.has(name)))
  const counts = shown.map(name => `${formatCount(grades[name])} ${WORDS[name]}`)
  return [`  ${plural(total, thing)}${more}: ${counts.join(', ')}`]
}

function places(found: readonly (Card['said'][number] & Partial<Card['ended'][number]>)[]): string {
  return atMost(found.map(one => withRuns(one.place, one)))
}

function withRuns(name: string, { runs, faults = [] }: { runs: number; faults?: readonly string[] }): string {
  return `${name} (${[plural(runs, 'run'), atMost(faults)].filter(Boolean).join(': ')})`
}

/** Lists the first texts, and counts the others. */
function atMost(texts: readonly string[]): string {
  const more = texts.length - MAX_PLACES
  return [...texts.slice(0, MAX_PLACES), ...(more > 0 ? [`${more} more`] : [])].join(', ')
}
