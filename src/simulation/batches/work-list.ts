/** Builds the work of a batch line by line. */

import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import { LIMITS } from '../../limits.ts'
import type { BatchLine, BatchWork } from './batch-row.ts'
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
  readonly #lines: BatchLine[] = []
  readonly #promptTokens: Float64Array
  readonly #answerTokens: Int32Array
  readonly #isCut: Uint8Array

  /** @param maxLines the maximum number of lines */
  constructor(maxLines: number) {
    const lines = Math.min(maxLines, LIMITS.batchLines)
    this.#promptTokens = new Float64Array(lines)
    this.#answerTokens = new Int32Array(lines)
    this.#isCut = new Uint8Array(lines)
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  add(customId: string, answer: LineAnswer | LineError): void {
    const index = this.#lines.length
    const error = 'code' in answer ? answer : undefined
    const { promptTokens, answerTokens, key, isCut, choices, serviceTier } = 'code' in answer ? REFUSED_ANSWER : answer
    this.#lines.push({ inputIndex: index, customId, key, choices, serviceTier, error })
    this.#promptTokens[index] = promptTokens
    this.#answerTokens[index] = answerTokens
    this.#isCut[index] = isCut ? 1 : 0
  }

  /** Returns the work in the order in which its lines run, which is drawn. */
  build(model: string, chance: Chance, key: EntityKey): BatchWork {
    const count = this.#lines.length
    const lines = shuffleLines(this.#lines, chance, key)
    const work = {
      tokensBefore: new Float64Array(count + 1),
      promptBefore: new Float64Array(count + 1),
      answerBefore: new Float64Array(count + 1),
      failedBefore: new Int32Array(count + 1),
      answerTokens: new Int32Array(count),
      isCut: new Uint8Array(count),
    }
    for (let i = 0; i < count; i++) {
      const { inputIndex, error } = lines[i]!
      work.answerTokens[i] = this.#answerTokens[inputIndex]!
      work.isCut[i] = this.#isCut[inputIndex]!
      work.promptBefore[i + 1] = work.promptBefore[i]! + this.#promptTokens[inputIndex]!
      work.answerBefore[i + 1] = work.answerBefore[i]! + work.answerTokens[i]!
      work.failedBefore[i + 1] = work.failedBefore[i]! + (error === undefined ? 0 : 1)
      work.tokensBefore[i + 1] = work.promptBefore[i + 1]! + work.answerBefore[i + 1]! + work.failedBefore[i + 1]!
    }
    return { model, lines, ...work }
  }
}

/** Returns the lines in a drawn order. The order of more than 10 lines always differs from that of the input. */
function shuffleLines(input: readonly BatchLine[], chance: Chance, key: EntityKey): readonly BatchLine[] {
  const lines = [...input]
  for (let i = lines.length - 1; i > 0; i--) {
    const other = chance.integer(i + 1, key, ORDER, i)
    const line = lines[i]!
    lines[i] = lines[other]!
    lines[other] = line
  }
  if (lines.length > 10 && lines.every(({ inputIndex }, i) => inputIndex === i)) lines.push(lines.shift()!)
  return lines
}

/** Returns the work of a line that fails. */
const REFUSED_ANSWER: LineAnswer = { ...PENDING_ANSWER, answerTokens: 0 }
