/** How a state looks: a colour, and a glyph and a pattern for those who do not see the colour. */

export interface StateStyle {
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
