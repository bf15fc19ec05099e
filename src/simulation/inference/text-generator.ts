import { type Chance, type EntityKey, hash32, purpose } from '../../kernel/random.ts'

const LENGTH = purpose('answer.length')
const WORD_SEED = purpose('answer.words')

/** Words that are one token of `o200k_base` each, with or without a space or a capital before them (a test counts). */
export const ANSWER_WORDS: readonly string[] =
  'the one each every most some many few both all model server cluster node memory cache token batch request answer client system network signal value result test case point line word table figure list order change step state time hour day week month year place part side group team user name key number rate limit cost price load queue stream chunk file page report plan task job work start end stop run move turn open close read write send give take make keep hold find show tell ask call use need want know think see look feel come get put set let help build grow reach pass lead follow learn teach study measure count check note mark sign map path road river lake sea sky sun light wind rain snow fire stone tree leaf field garden house room door window wall floor bridge city street market school library hand head eye voice song story book letter paper color green blue white black red small large long short high low new old young early late clear plain simple quick slow quiet strong warm cold deep wide near far good better best same other next last first second third more less often always never again still yet also only just very quite almost about after before between under over with without from into through across along around because while when where which that this these those and but then than for down out off'.split(
    ' ',
  )

/** The forms of the words: behind a space, with a capital, and both. */
const SPACED_WORDS = ANSWER_WORDS.map(word => ` ${word}`)
const CAPITALS = ANSWER_WORDS.map(word => word.charAt(0).toUpperCase() + word.slice(1))
const SPACED_CAPITALS = CAPITALS.map(word => ` ${word}`)

/** The key of an answer: the same model and prompt give the same text. */
export function answerKey(chance: Chance, model: string, prompt: string): EntityKey {
  return chance.key('answer', `${model}\u0000${prompt}`)
}

/**
 * Tokens that an answer has: lognormal around 60, never over the request's limit (A: published traces of chat
 * workloads have medians from 30 to 300 by product).
 */
export function drawAnswerLength(
  chance: Chance,
  key: EntityKey,
  limit: number | undefined,
): { tokens: number; cut: boolean } {
  const drawnLength = Math.max(2, Math.min(2000, Math.round(chance.lognormal(60, 0.6, key, LENGTH))))
  return limit !== undefined && drawnLength > limit ? { tokens: limit, cut: true } : { tokens: drawnLength, cut: false }
}

/**
 * Text of exactly this many tokens. It ends with a full stop, unless it was cut: then it is what the uncut one begins
 * with.
 */
export function generateText(chance: Chance, key: EntityKey, tokens: number, isCut = false): string {
  let state = hash32(chance.hex(8, key, WORD_SEED)) | 1
  const pieces = new Array<string>(tokens)
  let wordsInSentence = 0
  for (let i = 0; i < tokens; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    const endsSentence = wordsInSentence >= 6 && (state & 7) === 0
    if (endsSentence || (i === tokens - 1 && wordsInSentence > 0 && !isCut)) {
      pieces[i] = '.'
      wordsInSentence = 0
    } else {
      const words = wordsInSentence > 0 ? SPACED_WORDS : i > 0 ? SPACED_CAPITALS : CAPITALS
      pieces[i] = words[(state >>> 8) % words.length]!
      wordsInSentence++
    }
  }
  return pieces.join('')
}
