/**
 * Answers to batch lines. They are validated and answered like requests to the same endpoint. An invalid body fails the
 * whole batch, any other refusal only its line.
 */

import type * as z from 'zod'
import type { Profile } from '../../data/profiles/schema.ts'
import type { Chance } from '../../kernel/random.ts'
import { isNestedDeeper } from '../../lib/json-values.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { BatchEndpoint, InvalidBody } from '../../simulation/batches/input-lines.ts'
import type { LineAnswer, LineError, OutputLine, ResolvedLine } from '../../simulation/batches/line-answering.ts'
import type { ModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'
import { type CompiledOperation, getRouter } from '../http/compiled-operation.ts'
import { addUnknownBodyFields } from '../http/unknown-fields.ts'
import { parseBodyValue } from '../http/validate-input.ts'
import { Details, type ValidationDetail } from '../http/validation-errors.ts'
import { operations, routes } from '../index.ts'
import { InvalidInputError, RefusalError } from '../refusals.ts'
import { DrawnReply } from './answers.ts'
import {
  createEmbeddingList,
  createVectorSpec,
  type EmbeddingInputs,
  type EmbeddingsBody,
  readEmbeddingInputs,
  type VectorSpec,
} from './embedding-answers.ts'
import {
  createReplies,
  minAnswerTokens,
  type PromptInput,
  sumTokens,
  toChoices,
  toTextAnswer,
  toUsage,
} from './generation.ts'
import { drawLogprobs } from './logprobs.ts'
import { requireContextLength } from './request-lifecycle.ts'
import type { ScriptedAnswers } from './scripted-answers.ts'

type LineBody = Readonly<Record<string, unknown>>

/** A validated body with its prompt, which for embeddings are its inputs. */
export interface ParsedBody {
  readonly value: never
  readonly prompt: PromptInput | EmbeddingInputs
}

/** How the bodies of lines are validated. */
export interface BodyRules {
  /** Undefined: those of most worlds. */
  readonly policies: Profile['policies'] | undefined
  /** Whether unknown fields are refused. */
  readonly isStrict: boolean
}

/** Fault rules that act on lines of batches. */
export interface LineRules {
  /** Counts the line for the rules that match it. Throws RefusalError if one of them fails the line. */
  strike(world: World, operation: string, model: string): void
  /** Returns a copy that counts by itself. */
  fork(): LineRules
  /** Takes over the counts of a copy, which has counted the lines of a batch. */
  adopt(fork: LineRules, batch: string): void
}

/** The rules of most worlds. `parse` serves every world and uses them. */
const DEFAULT_RULES: BodyRules = { policies: undefined, isStrict: false }

/** Returns the problem of a body that the world cannot change. */
export function validateLine(endpoint: BatchEndpoint, body: LineBody, rules: BodyRules) {
  return catchProblem((): InvalidBody | LineError | undefined => {
    const value = parseBody(endpoint, body, rules)
    return isStreamed(value) ? STREAM_ERROR : undefined
  })
}

/** Parses a body by the rules of most worlds, or returns its problem. */
export function parseSharedLine(endpoint: BatchEndpoint, body: LineBody): ParsedBody | InvalidBody | LineError {
  return parseLine(endpoint, body, DEFAULT_RULES)
}

/** Returns the answer to a line, or its problem. */
export function answerLine(
  world: World,
  { endpoint, model, target, body, parsed }: ResolvedLine,
  rules: BodyRules,
  findScriptedAnswer: ScriptedAnswers['takeAnswer'],
  faults: Pick<LineRules, 'strike'> | undefined,
): LineAnswer | LineError | InvalidBody {
  const isParsed = isLax(rules) && !rules.isStrict && findBodySchema(endpoint, rules) === undefined
  const reusableBody = isParsed ? (parsed as ReturnType<typeof parseSharedLine> | undefined) : undefined
  const parsedBody = reusableBody ?? parseLine(endpoint, body, rules)
  if (!('prompt' in parsedBody)) return parsedBody
  if (isStreamed(parsedBody.value)) return STREAM_ERROR
  return catchProblem(() => {
    faults?.strike(world, getCompiledOperation(endpoint).operationId, model)
    return answerBody(world, endpoint, model, target, parsedBody, findScriptedAnswer)
  })
}

function answerBody(
  world: World,
  endpoint: BatchEndpoint,
  model: string,
  target: ModelTarget,
  { value, prompt }: ParsedBody,
  findScriptedAnswer: ScriptedAnswers['takeAnswer'],
): LineAnswer {
  if ('inputs' in prompt) return answerEmbeddings(world, target, value, prompt, findScriptedAnswer)
  const { createRequest, format } = getTextProtocol(endpoint)
  const textRequest = createRequest(value, prompt, { world, findScriptedAnswer, name: target.name })
  const replies = createReplies(
    textRequest,
    requireContextLength(world, target, model, textRequest.longestPromptTokens, minAnswerTokens(textRequest)),
  )
  const [first] = replies
  const { leads, topLogprobs } = textRequest
  const isDrawn = replies.length === 1 && first!.isDrawn && leads === undefined && topLogprobs === undefined
  const logprobs = drawLogprobs(world.chance, textRequest, replies)
  return {
    promptTokens: textRequest.promptTokens,
    answerTokens: sumTokens(replies),
    key: isDrawn ? textRequest.keys[0] : undefined,
    isCut: isDrawn && first!.finish_reason === 'length',
    serviceTier: textRequest.serviceTier ?? undefined,
    choices: isDrawn ? undefined : JSON.stringify(toChoices(format, replies, leads, logprobs)),
  }
}

/** Returns the body of an answer. */
export function bodyOfLine(chance: Chance, line: OutputLine): unknown {
  const { endpoint, model, suffix, created, promptTokens, answerTokens, key, isCut, choices, estimatedCost } = line
  if (endpoint === '/v1/embeddings') {
    return createEmbeddingList(chance, JSON.parse(choices!) as VectorSpec, model, promptTokens, line.serviceTier)
  }
  const tier = line.serviceTier === undefined ? {} : { service_tier: line.serviceTier }
  const { format } = getTextProtocol(endpoint)
  const choiceList =
    key === undefined
      ? (JSON.parse(choices!) as unknown[])
      : toChoices(format, [new DrawnReply(chance, key, answerTokens, isCut)], undefined)
  const usage = toUsage(promptTokens, answerTokens)
  return toTextAnswer(
    format,
    { id: `${format.idPrefix}${suffix}`, created, model, ...tier },
    choiceList,
    endpoint === '/v1/chat/completions' ? Object.assign(usage, { estimated_cost: estimatedCost }) : usage,
  )
}

/** Returns the answer to a line of `/v1/embeddings`. Its vectors are generated when the output file is written. */
function answerEmbeddings(
  world: World,
  target: ModelTarget,
  body: EmbeddingsBody,
  inputs: EmbeddingInputs,
  findScriptedAnswer: ScriptedAnswers['takeAnswer'],
): LineAnswer {
  requireContextLength(world, target, body.model, inputs.longestPromptTokens, 0)
  return {
    promptTokens: inputs.promptTokens,
    answerTokens: 0,
    key: undefined,
    isCut: false,
    choices: JSON.stringify(createVectorSpec(world, target, body, inputs, findScriptedAnswer)),
    serviceTier: body.service_tier ?? undefined,
  }
}

/** The error of a line with `stream: true`, which has no stream to answer on. */
const STREAM_ERROR: LineError = { code: '500', message: 'internal error', param: null, type: 'internal_error' }

function isStreamed(value: { readonly stream?: boolean | null | undefined }): boolean {
  return value.stream === true
}

function parseLine(endpoint: BatchEndpoint, body: LineBody, rules: BodyRules): ParsedBody | InvalidBody | LineError {
  return catchProblem(() => {
    const value = parseBody(endpoint, body, rules)
    const prompt =
      endpoint === '/v1/embeddings' ? readEmbeddingInputs(value) : getTextProtocol(endpoint).parsePrompt(value)
    return { value, prompt }
  })
}

/** Returns the validated body. Throws InvalidLineBodyError. */
function isLax({ policies }: BodyRules): boolean {
  return policies?.validation !== 'strict'
}

function findBodySchema(endpoint: BatchEndpoint, { policies }: BodyRules): z.ZodType | undefined {
  return policies && getCompiledOperation(endpoint).endpoint.bodyFor?.(policies)
}

function parseBody(endpoint: BatchEndpoint, body: LineBody, rules: BodyRules): never {
  const operation = getCompiledOperation(endpoint)
  if (isNestedDeeper(body, LIMITS.bodyDepth)) {
    const msg = `JSON decode error: nesting deeper than ${LIMITS.bodyDepth}`
    throw new InvalidLineBodyError([{ loc: ['body'], msg, type: 'json_invalid' }])
  }
  const issues = new Details()
  const value = parseBodyValue(operation, body, () => issues, isLax(rules), findBodySchema(endpoint, rules))
  if (rules.isStrict) addUnknownBodyFields(issues, operation.endpoint, body)
  if (issues.count > 0) throw new InvalidLineBodyError(issues.list())
  return value as never
}

/** A body that its endpoint rejects with 422. */
class InvalidLineBodyError extends Error {
  readonly issues: readonly ValidationDetail[]
  constructor(issues: readonly ValidationDetail[]) {
    super('invalid body')
    this.issues = issues
  }
}

function getCompiledOperation(endpoint: BatchEndpoint): CompiledOperation {
  // Requests use the same router, so each operation is compiled once.
  const match = getRouter(operations, routes, undefined).match('POST', endpoint)
  return (match as { readonly target: CompiledOperation }).target
}

function getTextProtocol(endpoint: BatchEndpoint) {
  return getCompiledOperation(endpoint).endpoint.batchProtocol!
}

/** Returns the result of `make`, or the problem of the line if `make` refuses it. */
function catchProblem<Value>(make: () => Value): Value | InvalidBody | LineError {
  try {
    return make()
  } catch (error) {
    return toProblem(error)
  }
}

/** Returns the refusal of a request as the problem of a line. Throws any other error again. */
function toProblem(error: unknown): InvalidBody | LineError {
  if (error instanceof InvalidLineBodyError) return toInvalidBody(error.issues)
  if (error instanceof InvalidInputError) return toInvalidBody([error.detail])
  if (error instanceof RefusalError) {
    const { status, message } = error
    const type = status < 500 ? 'invalid_request_error' : 'internal_error'
    return { code: String(status), message: shorten(message), param: null, type }
  }
  throw error
}

/** Returns the first problem of a body, with the number of the others. */
function toInvalidBody(issues: readonly ValidationDetail[]): InvalidBody {
  const [{ loc, msg }, ...others] = issues as [ValidationDetail, ...ValidationDetail[]]
  const more = others.length === 0 ? '' : ` (and ${others.length} more in this line)`
  return { invalidField: shorten(loc.join('.')), message: `${shorten(msg)}${more}` }
}

/** Cuts the message of a line, because a file has many lines. */
function shorten(message: string): string {
  return message.length <= LIMITS.errorCharacters ? message : `${message.slice(0, LIMITS.errorCharacters)}…`
}
