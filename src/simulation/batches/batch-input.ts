import type { StoredLineErrors } from '../../data/fixtures/stored-results.ts'
import type { ModelTarget } from '../deployments/model-lookup.ts'
import type { BatchRow } from './batch-row.ts'
import { readInput } from './fixture-content.ts'
import type { BatchEndpoint, BatchError, LineRequest, OnLine } from './input-lines.ts'
import { countLines } from './jsonl-writer.ts'
import type { LineAnswer, LineAnswerer, LineError, LineWorld } from './line-answering.ts'
import { PENDING_ANSWER, WorkListBuilder } from './work-list.ts'

/** Returns the target of a text generation model; undefined for any other model. */
type FindTarget = (model: string) => ModelTarget | undefined

/** Answers each line of the input file in order. Returns the errors of the file. */
export function answerLines(
  row: BatchRow,
  findTarget: FindTarget,
  answerer: LineAnswerer,
  world: LineWorld,
): readonly BatchError[] {
  // A file that fails validation must not use up scripted answers.
  const trial = answerer.fork()
  const { endpoint } = row.spec
  const errors = readLines(
    row,
    findTarget,
    ({ body, parsed }, model, target) => trial.answer(world, { endpoint, model, target, body, parsed }),
    body => trial.parse(endpoint, body),
  )
  if (errors.length === 0) answerer.adopt(trial)
  return errors
}

/** Returns a function that finds the error of a line; undefined without an answerer, which knows the rules. */
export function lineErrorFinder(
  answerer: LineAnswerer | undefined,
  endpoint: BatchEndpoint,
  storedErrors: StoredLineErrors | undefined,
): ((request: LineRequest) => LineError | undefined) | undefined {
  if (answerer === undefined) return undefined
  return storedErrors === undefined || answerer.isStrict
    ? ({ body }) => answerer.validate(endpoint, body)
    : ({ customId }) => storedErrors[customId]
}

/** Reads the input file into the work list of a batch. Returns the errors of the file. */
export function readLines(
  row: BatchRow,
  findTarget: FindTarget,
  answer: (request: LineRequest, model: string, target: ModelTarget) => LineAnswer | LineError,
  read?: (body: LineRequest['body']) => unknown,
): readonly BatchError[] {
  const work = new WorkListBuilder(countLines(row.inputChunks))
  let target: ModelTarget | undefined
  const onLine: OnLine = (request, modelName) => {
    if (work.isEmpty) target = findTarget(modelName)
    work.add(request.customId, target === undefined ? PENDING_ANSWER : answer(request, modelName, target))
  }
  const { errors, model } = readInput(row.inputChunks, row.spec.endpoint, onLine, read)
  if (errors.length > 0) return errors
  if (target === undefined) {
    const message = `no model ${JSON.stringify(model)} that can be called`
    return [{ code: 'unknown_model', line: 0, message, param: 'body.model' }]
  }
  row.work = work.build(model)
  return []
}
