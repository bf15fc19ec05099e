/** The lifecycles as the page draws them. */
import type { AnswersByRoute } from '../../store/ask.ts'

type Lifecycles = AnswersByRoute['GET /_sim/lifecycles']
export type Lifecycle = Lifecycles['rows'][number]
export type Segment = Lifecycle['segments'][number]

export type Mark = Lifecycle['marks'][number]

/** Most rows that the page asks for. */
export const MAX_ROWS = 5_000

/** A row of the view: a lifecycle of the shown world, that of another world, or both. */
export interface Row {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly own: Lifecycle | undefined
  readonly ghost: Lifecycle | undefined
}

/** The kinds of things that a person can choose. Those without a choice are shown too, with all. */
export const KIND_CHOICES = [
  { value: 'all', title: 'All', kinds: ['deployment', 'batch', 'container', 'hosted'] },
  { value: 'deployments', title: 'Deployments', kinds: ['deployment'] },
  { value: 'instances', title: 'Instances', kinds: ['instance'] },
  { value: 'batches', title: 'Batches', kinds: ['batch'] },
  { value: 'rentals', title: 'Rentals', kinds: ['container', 'hosted'] },
  { value: 'nodes', title: 'Nodes', kinds: ['node'] },
] as const

/** Returns the rows of some kinds whose name or id has a text, in the order in which they began. */
export function toRows(
  own: Lifecycles | undefined,
  ghost: Lifecycles | undefined,
  { kinds, text }: { kinds: readonly string[]; text: string },
): Row[] {
  const wanted = text.trim().toLowerCase()
  const isWanted = ({ id, name, kind, owner }: Lifecycle) =>
    kinds.includes(kind) && (wanted === '' || [id, name, owner].some(one => one?.toLowerCase().includes(wanted)))
  const ghosts = new Map(ghost?.rows.map(row => [row.id, row]))
  const rows: Row[] = []
  for (const row of own?.rows ?? []) {
    if (isWanted(row)) rows.push({ ...pick(row), own: row, ghost: ghosts.get(row.id) })
    ghosts.delete(row.id)
  }
  for (const row of ghosts.values()) if (isWanted(row)) rows.push({ ...pick(row), own: undefined, ghost: row })
  return rows.sort((a, b) => beginOf(a) - beginOf(b) || (a.id < b.id ? -1 : 1))
}

function pick({ id, kind, name }: Lifecycle) {
  return { id, kind, name }
}

function beginOf({ own, ghost }: Row): number {
  return Math.max(0, (own ?? ghost)!.begin)
}

/**
 * Returns the first time at which something is shown, for the begin of the axis. A world can be older than what is known
 * of it: that of a snapshot, for example.
 */
export function beginOfAll(lifecycles: Lifecycles | undefined): number {
  let begin = Number.POSITIVE_INFINITY
  for (const row of lifecycles?.rows ?? []) begin = Math.min(begin, row.begin)
  for (const { time } of lifecycles?.world_marks ?? []) begin = Math.min(begin, time)
  return Number.isFinite(begin) ? Math.max(0, begin) : 0
}

/** Returns all times at which something changes in some rows or in their world, for the scale. */
export function timesOf(rows: readonly Row[], worldMarks: readonly Mark[]): number[] {
  const times: number[] = []
  for (const { own, ghost } of rows) {
    for (const life of [own, ghost]) {
      if (life === undefined) continue
      for (const { begin, end } of life.segments) {
        times.push(begin)
        if (end !== null) times.push(end)
      }
      for (const { time } of life.marks) times.push(time)
      for (const { time } of life.replicas) times.push(time)
    }
  }
  for (const { time } of worldMarks) times.push(time)
  return times
}

/** How a state looks: a colour, and a glyph and a pattern for those who do not see the colour. */

interface StateStyle {
  /** A colour of the style sheet. */
  readonly color: string
  readonly glyph: string
  /** `hatch`: it is on its way. `cross`: something is wrong. `plain`: it goes on. `empty`: it rests. */
  readonly pattern: 'plain' | 'hatch' | 'cross' | 'empty'
}

const WORKING: StateStyle = { color: 'ok', glyph: '▶', pattern: 'plain' }
const DONE: StateStyle = { color: 'accent', glyph: '✓', pattern: 'plain' }
const ON_ITS_WAY: StateStyle = { color: 'warn', glyph: '…', pattern: 'hatch' }
const RESTING: StateStyle = { color: 'faint', glyph: '■', pattern: 'empty' }
const BROKEN: StateStyle = { color: 'bad', glyph: '✗', pattern: 'cross' }

/** States by the words that they contain. The first match counts. */
const STYLES: readonly (readonly [RegExp, StateStyle])[] = [
  [/fail|lost|crash|\bdown\b|error|expired|evicted|broken|reclaimed|preempt|suspend/i, BROKEN],
  [/^(running|ready|in_?progress|active|serving|up|served)$/i, WORKING],
  [/complet|success|finished/i, DONE],
  [/stopped|deleted|cancel|parked|sleep|gone|ended|removed|terminated|cordoned|idle/i, RESTING],
]

/** Returns whether a state is the end of a thing. What has failed or is stopped may start again. */
export function isGone(state: string): boolean {
  return /^(deleted|completed|cancelled|canceled|expired|gone|ended|terminated)$/i.test(state)
}

/** Returns the style of a state. A state that no rule knows is on its way to another. */
export function styleOfState(state: string): StateStyle {
  return STYLES.find(([pattern]) => pattern.test(state))?.[1] ?? ON_ITS_WAY
}

/** Returns the words of a state: `in_progress` is 'in progress'. */
export function wordsOfState(state: string): string {
  return state
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)
}
