import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import { LIMITS } from '../../lib/limits.ts'
import { type Steps, withoutPause } from '../../lib/slices.ts'
import type { SimulationContext } from '../context.ts'
import type { ModelTarget } from '../deployments/model-lookup.ts'
import { BatchLines } from './batch-lines.ts'
import { countLines } from './batch-output.ts'
import type { BatchRow, BatchWork } from './batch-row.ts'
import { readInput } from './fixture-content.ts'
import type { BatchEndpoint, BatchError, InvalidBody, LineRequest, OnLine, TranslateLine } from './input-lines.ts'
import type { LineAnswer, LineAnswerer, LineError, LineWorld } from './line-answering.ts'

const ORDER = purpose('batch.lineOrder')

/** Before anything can be answered: each line takes something, so that none is over. */
const PENDING_ANSWER: LineAnswer = {
  promptTokens: 0,
  answerTokens: 1,
  key: undefined,
  isCut: false,
  choices: undefined,
  serviceTier: undefined,
}

/** Collects the lines of a batch that will run. */
class WorkListBuilder {
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

/** Returns the target of a model with the task of the endpoint; undefined for any other model. */
export type FindTarget = (model: string, endpoint: BatchEndpoint) => ModelTarget | undefined

/** The errors of an input file, or its lines that will run. */
interface ReadLines {
  readonly errors: readonly BatchError[]
  readonly work: BatchWork | undefined
}

/** Lines with their answers. */
export interface AnsweredLines extends ReadLines {
  /** The answerer after the last line, whose scripted answers are used up. */
  readonly answerer: LineAnswerer
}

/** Answers each line of the input file in order. It changes nothing in the world, and can pause after each line. */
export function* answerLines(
  row: Readonly<BatchRow>,
  findTarget: FindTarget,
  answerer: LineAnswerer,
  world: LineWorld,
): Steps<AnsweredLines> {
  // A file that fails validation must not use up scripted answers.
  const trial = answerer.fork()
  const { endpoint } = row.spec
  const lines = yield* readLines(
    row,
    findTarget,
    world.chance,
    ({ body, parsed }, model, target) => trial.answer(world, { endpoint, model, target, body, parsed }),
    body => trial.parse(endpoint, body),
    trial.toInternalLine && (line => trial.toInternalLine!(endpoint, line)),
  )
  return { ...lines, answerer: trial }
}

/**
 * Reads the lines of a batch of a fixture. The constructor of a world is synchronous, so its lines are answered at the
 * first move of the clock.
 *
 * @param validator validates the bodies; undefined for a batch whose lines are validated later, or are known to be valid
 */
export function readFixtureLines(
  row: Readonly<BatchRow>,
  findTarget: FindTarget,
  { chance, profile }: Pick<SimulationContext, 'chance' | 'profile'>,
  validator: LineAnswerer | undefined,
): ReadLines {
  const answer = ({ body }: LineRequest) =>
    validator?.validate(row.spec.endpoint, body, profile.policies) ?? PENDING_ANSWER
  return withoutPause(readLines(row, findTarget, chance, answer))
}

/** Reads the input file of a batch. */
function* readLines(
  row: Readonly<BatchRow>,
  findTarget: FindTarget,
  chance: Chance,
  answer: (request: LineRequest, model: string, target: ModelTarget) => LineAnswer | LineError | InvalidBody,
  read?: (body: LineRequest['body']) => unknown,
  translate?: TranslateLine,
): Steps<ReadLines> {
  const work = new WorkListBuilder(countLines(row.inputChunks))
  let target: ModelTarget | undefined
  const onLine: OnLine = (request, modelName) => {
    if (work.isEmpty) target = findTarget(modelName, row.spec.endpoint)
    const lineAnswer = target === undefined ? PENDING_ANSWER : answer(request, modelName, target)
    if ('invalidField' in lineAnswer) return lineAnswer
    work.add(request.customId, lineAnswer)
    return undefined
  }
  const { errors, model } = yield* readInput(row.inputChunks, row.spec.endpoint, onLine, read, translate)
  if (errors.length > 0) return { errors, work: undefined }
  if (target === undefined) {
    const message = `no model ${JSON.stringify(model)} that can be called`
    return { errors: [{ code: 'unknown_model', line: null, message, param: 'body.model' }], work: undefined }
  }
  yield
  return { errors, work: work.build(model, chance, row.key) }
}
