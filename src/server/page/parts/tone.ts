/** Whether something went wrong with a journal entry, or was repaired: marks have a shape and a colour for each. */
export type Tone = 'bad' | 'good' | 'neutral'

const GOOD =
  /\.(?:up|repaired|uncordoned|recovered|reset|freed|restocked|spotReturned|unthrottled|normal|accepted|resumed|restored)$|^fault\.removed$/
const BAD =
  /^fault\.|\.down$|lost|crash|fail|suspend|preempt|broken|declin|stockedOut|soldOut|throttled|frozen|slowed|degraded|revoked|disk\.filled/i

/** Returns the tone of a kind of journal entries. */
export function toneOf(kind: string): Tone {
  return GOOD.test(kind) ? 'good' : BAD.test(kind) ? 'bad' : 'neutral'
}
