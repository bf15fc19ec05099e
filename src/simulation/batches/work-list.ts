/** Builds the work of a batch line by line. */

import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import { LIMITS } from '../../lib/limits.ts'
import { BatchLines } from './batch-lines.ts'
import type { BatchWork } from './batch-row.ts'
import type { LineAnswer, LineError } from './line-answering.ts'

const ORDER = purpose('batch.lineOrder')

/** Before anything can be answered: each line takes something, so that none is over. */
export const PENDING_ANSWER: LineAnswer = {
  promptTokens: 0,
  answerTokens: 1,
  key: undefined,
  isCut: false,
  choices: undefined,
  serviceTier: undefined,
}

/** Collects the lines of a batch that will run. */
export class WorkListBuilder {
  readonly #lines: BatchLines
  readonly #promptTokens: Float64Array
  readonly #answerTokens: Int32Array
  readonly #isCut: Uint8Array

  /** @param maxLines the maximum number of lines */
  constructor(maxLines: number) {
    const lines = Math.min(maxLines, LIMITS.batchLines)
    this.#lines = new BatchLines(lines)
    this.#promptTokens = new Float64Array(lines)
    this.#answerTokens = new Int32Array(lines)
    this.#isCut = new Uint8Array(lines)
  }

  get isEmpty(): boolean {
    return this.#lines.customIds.length === 0
  }

  add(customId: string, answer: LineAnswer | LineError): void {
    const index = this.#lines.customIds.length
    const error = 'code' in answer ? answer : undefined
    const lineAnswer = 'code' in answer ? REFUSED_ANSWER : answer
    this.#lines.add(customId, lineAnswer, error)
    this.#promptTokens[index] = lineAnswer.promptTokens
    this.#answerTokens[index] = lineAnswer.answerTokens
    this.#isCut[index] = lineAnswer.isCut ? 1 : 0
  }

  /** Returns the work in the order in which its lines run, which is drawn. */
  build(model: string, chance: Chance, key: EntityKey): BatchWork {
    const lines = this.#lines.order(order => shuffle(order, chance, key))
    const count = lines.length
    const work = {
      tokensBefore: new Float64Array(count + 1),
      promptBefore: new Float64Array(count + 1),
      answerBefore: new Float64Array(count + 1),
      failedBefore: new Int32Array(count + 1),
      answerTokens: new Int32Array(count),
      isCut: new Uint8Array(count),
    }
    for (let i = 0; i < count; i++) {
      const inputIndex = lines.inputIndexes[i]!
      work.answerTokens[i] = this.#answerTokens[inputIndex]!
      work.isCut[i] = this.#isCut[inputIndex]!
      work.promptBefore[i + 1] = work.promptBefore[i]! + this.#promptTokens[inputIndex]!
      work.answerBefore[i + 1] = work.answerBefore[i]! + work.answerTokens[i]!
      work.failedBefore[i + 1] = work.failedBefore[i]! + (lines.errorOf(i) === undefined ? 0 : 1)
      work.tokensBefore[i + 1] = work.promptBefore[i + 1]! + work.answerBefore[i + 1]! + work.failedBefore[i + 1]!
    }
    return { model, lines, ...work }
  }
}

/** Brings lines into a drawn order. The order of more than 10 lines always differs from that of the input. */
function shuffle(order: Int32Array, chance: Chance, key: EntityKey): void {
  for (let i = order.length - 1; i > 0; i--) {
    const other = chance.integer(i + 1, key, ORDER, i)
    const line = order[i]!
    order[i] = order[other]!
    order[other] = line
  }
  if (order.length <= 10 || !order.every((inputIndex, i) => inputIndex === i)) return
  order.copyWithin(0, 1)
  order[order.length - 1] = 0
}

/** Returns the work of a line that fails. */
const REFUSED_ANSWER: LineAnswer = { ...PENDING_ANSWER, answerTokens: 0 }
