/** Builds the work of a batch line by line. */

import type { BatchLine, BatchWork } from './batch-row.ts'
import { MAX_BATCH_LINES } from './input-lines.ts'
import type { LineAnswer, LineError } from './line-answering.ts'

/** Before anything can be answered: each line takes something, so that none is over. */
export const PENDING_ANSWER: LineAnswer = {
  promptTokens: 0,
  answerTokens: 1,
  key: undefined,
  isCut: false,
  choices: undefined,
}

/** Collects the lines of a batch that will run. */
export class WorkListBuilder {
  readonly #lines: BatchLine[] = []
  readonly #tokensBefore: Float64Array
  readonly #promptBefore: Float64Array
  readonly #answerBefore: Float64Array
  readonly #failedBefore: Int32Array
  readonly #answerTokens: Int32Array
  readonly #isCut: Uint8Array

  /** @param maxLines the maximum number of lines */
  constructor(maxLines: number) {
    const lines = Math.min(maxLines, MAX_BATCH_LINES)
    this.#tokensBefore = new Float64Array(lines + 1)
    this.#promptBefore = new Float64Array(lines + 1)
    this.#answerBefore = new Float64Array(lines + 1)
    this.#failedBefore = new Int32Array(lines + 1)
    this.#answerTokens = new Int32Array(lines)
    this.#isCut = new Uint8Array(lines)
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  add(customId: string, answer: LineAnswer | LineError): void {
    const index = this.#lines.length
    const error = 'code' in answer ? answer : undefined
    const { promptTokens, answerTokens, key, isCut, choices } = 'code' in answer ? REFUSED_ANSWER : answer
    this.#lines.push({ customId, key, choices, error })
    this.#answerTokens[index] = answerTokens
    this.#isCut[index] = isCut ? 1 : 0
    this.#promptBefore[index + 1] = this.#promptBefore[index]! + promptTokens
    this.#answerBefore[index + 1] = this.#answerBefore[index]! + answerTokens
    this.#failedBefore[index + 1] = this.#failedBefore[index]! + (error === undefined ? 0 : 1)
    this.#tokensBefore[index + 1] =
      this.#promptBefore[index + 1]! + this.#answerBefore[index + 1]! + this.#failedBefore[index + 1]!
  }

  build(model: string): BatchWork {
    const lines = this.#lines
    const count = lines.length
    return {
      ...{ model, lines, tokensBefore: this.#tokensBefore.slice(0, count + 1) },
      promptBefore: this.#promptBefore.slice(0, count + 1),
      answerBefore: this.#answerBefore.slice(0, count + 1),
      failedBefore: this.#failedBefore.slice(0, count + 1),
      answerTokens: this.#answerTokens.slice(0, count),
      isCut: this.#isCut.slice(0, count),
    }
  }
}

/** Returns the work of a line that fails. */
const REFUSED_ANSWER: LineAnswer = { ...PENDING_ANSWER, answerTokens: 0 }
