/** What a batch has to run, collected line by line. */
import { BATCH_LINES_LIMIT } from './batch-lines.ts'
import type { BatchLine, Work } from './batch-row.ts'
import type { LineAnswer, LineError } from './line-answers.ts'

/** Before anything can be answered: each line takes something, so that none is over. */
export const UNANSWERED: LineAnswer = {
  promptTokens: 0,
  answerTokens: 1,
  key: undefined,
  isCut: false,
  choices: undefined,
}

/** Collects what there is to run. */
export class WorkList {
  readonly #lines: BatchLine[] = []
  readonly #before: Float64Array
  readonly #promptBefore: Float64Array
  readonly #answerBefore: Float64Array
  readonly #failedBefore: Int32Array
  readonly #answers: Int32Array
  readonly #cut: Uint8Array

  /** @param most lines that there can be */
  constructor(most: number) {
    const lines = Math.min(most, BATCH_LINES_LIMIT)
    this.#before = new Float64Array(lines + 1)
    this.#promptBefore = new Float64Array(lines + 1)
    this.#answerBefore = new Float64Array(lines + 1)
    this.#failedBefore = new Int32Array(lines + 1)
    this.#answers = new Int32Array(lines)
    this.#cut = new Uint8Array(lines)
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  add(customId: string, found: LineAnswer | LineError): void {
    const i = this.#lines.length
    const error = 'code' in found ? found : undefined
    const { promptTokens, answerTokens, key, isCut, choices } = 'code' in found ? NOTHING : found
    this.#lines.push({ customId, key, choices, error })
    this.#answers[i] = answerTokens
    this.#cut[i] = isCut ? 1 : 0
    this.#promptBefore[i + 1] = this.#promptBefore[i]! + promptTokens
    this.#answerBefore[i + 1] = this.#answerBefore[i]! + answerTokens
    this.#failedBefore[i + 1] = this.#failedBefore[i]! + (error === undefined ? 0 : 1)
    this.#before[i + 1] = this.#promptBefore[i + 1]! + this.#answerBefore[i + 1]! + this.#failedBefore[i + 1]!
  }

  end(model: string): Work {
    const lines = this.#lines
    const count = lines.length
    return {
      ...{ model, lines, before: this.#before.slice(0, count + 1) },
      promptBefore: this.#promptBefore.slice(0, count + 1),
      answerBefore: this.#answerBefore.slice(0, count + 1),
      failedBefore: this.#failedBefore.slice(0, count + 1),
      answers: this.#answers.slice(0, count),
      cut: this.#cut.slice(0, count),
    }
  }
}

/** What a line comes to that is refused. */
const NOTHING: LineAnswer = { ...UNANSWERED, answerTokens: 0 }
