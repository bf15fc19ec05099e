import type { StoredLineErrors } from '../../data/fixtures/stored-results.ts'
import type { Chance } from '../../kernel/random.ts'
import type { SimulationContext } from '../context.ts'
import type { ModelTarget } from '../deployments/model-lookup.ts'
import type { BatchRow } from './batch-row.ts'
import { readInput } from './fixture-content.ts'
import type { BatchEndpoint, BatchError, InvalidBody, LineRequest, OnLine, TranslateLine } from './input-lines.ts'
import { countLines } from './jsonl-writer.ts'
import type { LineAnswer, LineAnswerer, LineError, LineWorld } from './line-answering.ts'
import { PENDING_ANSWER, WorkListBuilder } from './work-list.ts'

/** Returns the target of a model with the task of the endpoint; undefined for any other model. */
export type FindTarget = (model: string, endpoint: BatchEndpoint) => ModelTarget | undefined

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
    world.chance,
    ({ body, parsed }, model, target) => trial.answer(world, { endpoint, model, target, body, parsed }),
    body => trial.parse(endpoint, body),
    trial.toInternalLine && (line => trial.toInternalLine!(endpoint, line)),
  )
  if (errors.length === 0) answerer.adopt(trial)
  return errors
}

/**
 * Reads the lines of a batch of a fixture. The constructor of a world is synchronous, so its lines are answered at the
 * first move of the clock.
 *
 * @param validator validates the bodies; undefined for a batch whose lines are validated later
 * @param storedErrors the errors of its failed lines; undefined to validate them now
 */
export function readFixtureLines(
  row: BatchRow,
  findTarget: FindTarget,
  { chance, profile }: Pick<SimulationContext, 'chance' | 'profile'>,
  validator: LineAnswerer | undefined,
  storedErrors: StoredLineErrors | undefined,
): readonly BatchError[] {
  const isLax = profile.policies.validation === 'lax'
  return readLines(row, findTarget, chance, ({ customId, body }) => {
    if (validator === undefined) return PENDING_ANSWER
    const isStored = storedErrors !== undefined && isLax && !validator.isStrict
    return (isStored ? storedErrors[customId] : validator.validate(row.spec.endpoint, body, isLax)) ?? PENDING_ANSWER
  })
}

/** Reads the input file into the work list of a batch. Returns the errors of the file. */
function readLines(
  row: BatchRow,
  findTarget: FindTarget,
  chance: Chance,
  answer: (request: LineRequest, model: string, target: ModelTarget) => LineAnswer | LineError | InvalidBody,
  read?: (body: LineRequest['body']) => unknown,
  translate?: TranslateLine,
): readonly BatchError[] {
  const work = new WorkListBuilder(countLines(row.inputChunks))
  let target: ModelTarget | undefined
  const onLine: OnLine = (request, modelName) => {
    if (work.isEmpty) target = findTarget(modelName, row.spec.endpoint)
    const lineAnswer = target === undefined ? PENDING_ANSWER : answer(request, modelName, target)
    if ('invalidField' in lineAnswer) return lineAnswer
    work.add(request.customId, lineAnswer)
    return undefined
  }
  const { errors, model } = readInput(row.inputChunks, row.spec.endpoint, onLine, read, translate)
  if (errors.length > 0) return errors
  if (target === undefined) {
    const message = `no model ${JSON.stringify(model)} that can be called`
    return [{ code: 'unknown_model', line: null, message, param: 'body.model' }]
  }
  row.work = work.build(model, chance, row.key)
  return []
}
