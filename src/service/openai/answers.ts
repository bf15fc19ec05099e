/** Generated answers: texts, JSON that is valid under a schema, and tool calls, each with its token count. */

import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import type { JsonSchema, JsonValue } from '../../lib/json-schema/document.ts'
import type { ValueDraws } from '../../lib/json-schema/effort.ts'
import * as schemas from '../../lib/json-schema/generate.ts'
import { answerKey, drawAnswerLength, generateText } from '../../simulation/inference/text-generator.ts'
import { refuse } from '../refusals.ts'
import { type ScriptedAnswer, throwScriptedError } from './scripted-answers.ts'
import { countTokens, splitTokens } from './tokenizer.ts'

const VALUE_DRAW = purpose('answer.shape')
const TOOL_DRAW = purpose('answer.tool')
const TOOL_ID_DRAW = purpose('answer.toolId')

/** A tool. `parameters` is the schema of a function's arguments; undefined for a custom tool, which takes a text. */
export interface Tool {
  readonly name: string
  readonly parameters: JsonSchema | undefined
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text; for a custom tool its input text. */
  readonly arguments: string
  readonly isCustom: boolean
}

/** One complete answer. */
export interface Reply {
  /** `''` if the answer has tool calls. */
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly finish_reason: 'stop' | 'length' | 'tool_calls'
  /** Tokens of the text, or of the names and arguments of the tool calls. */
  readonly tokens: number
  /** Whether the text follows from key, token count and finish reason, as in a `DrawnReply`. */
  readonly isDrawn: boolean
  /** The requested text before which the answer ended. Default: it did not end before such a text. */
  readonly stopText?: string | undefined
  /** The thinking before the answer, whose tokens count in `tokens`. Only messages have it. */
  readonly thinking?: Reply | undefined
  /** Returns the text in pieces of one token each, as a stream sends them. */
  pieces(): readonly string[]
}

/** Bounds of an answer. */
export interface ReplyBounds {
  /** Maximum number of tokens; undefined for no limit. */
  readonly limit: number | undefined
  /** The answer ends before the first of these texts. */
  readonly stop: readonly string[]
  /** Number of answers to the request, which share its size limits. Default: 1. */
  readonly answerCount?: number
}

/** Returns the key of a reply. Equal models, prompts and positions give equal replies. */
export function replyKey(chance: Chance, model: string, prompt: string, index: number): EntityKey {
  return answerKey(chance, model, index === 0 ? prompt : `${prompt}\u0000${index}`)
}

/** Returns a text generated from the key, within the bounds. */
export function createDrawnReply(chance: Chance, key: EntityKey, bounds: ReplyBounds): Reply {
  const { tokens, cut } = drawAnswerLength(chance, key, bounds.limit)
  const reply = new DrawnReply(chance, key, tokens, cut)
  return bounds.stop.length > 0 && findStop(reply.text, bounds.stop) !== undefined
    ? createTextReply(reply.text, bounds)
    : reply
}

/** A text with a known token count. Its words are generated on first read. */
export class DrawnReply implements Reply {
  readonly tokens: number
  readonly toolCalls: readonly ToolCall[] = []
  readonly finish_reason: 'stop' | 'length'
  readonly isDrawn = true
  readonly #chance: Chance
  readonly #key: EntityKey
  #text: string | undefined

  constructor(chance: Chance, key: EntityKey, tokens: number, isCut: boolean) {
    this.#chance = chance
    this.#key = key
    this.tokens = tokens
    this.finish_reason = isCut ? 'length' : 'stop'
  }

  get text(): string {
    this.#text ??= generateText(this.#chance, this.#key, this.tokens, this.finish_reason === 'length')
    return this.#text
  }

  pieces(): readonly string[] {
    // A token is a word with the space before it, or a full stop.
    return this.text.split(/(?=[ .])/)
  }
}

/** Returns a reply with this text, cut by the bounds. */
export function createTextReply(fullText: string, { limit, stop }: ReplyBounds): Reply {
  const found = findStop(fullText, stop)
  let text = found === undefined ? fullText : fullText.slice(0, found.index)
  let tokens = text === '' ? 0 : countTokens(text)
  const isCut = limit !== undefined && tokens > limit
  if (isCut) {
    text = splitTokens(text).slice(0, limit).join('')
    tokens = limit
  }
  return {
    text,
    tokens,
    toolCalls: [],
    finish_reason: isCut ? 'length' : 'stop',
    isDrawn: false,
    stopText: isCut ? undefined : found?.stopText,
    pieces: () => splitTokens(text),
  }
}

/** A validated `response_format`: without `type`, the format is the one that its fields fit. */
export interface AnswerFormatSpec {
  readonly type?: 'text' | 'json_object' | 'json_schema' | 'regex' | undefined
  readonly json_schema?: { readonly schema?: unknown } | undefined
  readonly regex?: string | undefined
}

/**
 * Returns a generated text, or JSON or a match if the `response_format` asks for it. Refuses with 400 if no JSON fits its
 * schema, or no text matches its expression.
 */
export function createFormattedReply(
  chance: Chance,
  key: EntityKey,
  format: AnswerFormatSpec | null | undefined,
  bounds: ReplyBounds,
): Reply {
  const jsonSchema = format?.type === 'json_object' || format?.type === 'text' ? undefined : format?.json_schema
  if (jsonSchema) {
    return createJsonReply(chance, key, (jsonSchema.schema ?? { type: 'object' }) as JsonSchema, bounds)
  }
  if (format?.type === 'json_object') return createJsonReply(chance, key, ANY_OBJECT, bounds)
  if (format?.regex !== undefined && format.type !== 'text') {
    const schema = { type: 'string', pattern: `^(?:${format.regex})$` }
    return createTextReply(String(generateOrRefuse(chance, key, schema, 'response_format.regex', bounds)), bounds)
  }
  return createDrawnReply(chance, key, bounds)
}

/** Schema of the answer for `response_format` `json_object`, which has no schema of its own. */
const ANY_OBJECT: JsonSchema = {
  type: 'object',
  required: ['answer', 'points'],
  properties: { answer: { type: 'string' }, points: { type: 'array', items: { type: 'string' } } },
}

/** Returns JSON that is valid under a schema. Refuses with 400 if no such value is found. */
function createJsonReply(chance: Chance, key: EntityKey, schema: JsonSchema, bounds: ReplyBounds): Reply {
  return createTextReply(
    JSON.stringify(generateOrRefuse(chance, key, schema, 'the schema of response_format', bounds)),
    bounds,
  )
}

/** Returns a call of one tool: arguments that are valid under its parameters, or a text. */
export function createToolReply(
  chance: Chance,
  key: EntityKey,
  { name, parameters }: Tool,
  bounds: ReplyBounds,
): Reply {
  if (parameters === undefined) {
    const { tokens } = drawAnswerLength(chance, key, undefined)
    return createToolCallsReply(chance, key, [{ name, input: generateText(chance, key, tokens) }], bounds)
  }
  const generatedArguments = generateOrRefuse(chance, key, parameters, `the schema of tool ${name}`, bounds, true)
  return createToolCallsReply(chance, key, [{ name, arguments: generatedArguments }], bounds)
}

/** Returns a scripted answer. Refuses the request if the answer is an error. */
export function createScriptedReply(
  chance: Chance,
  key: EntityKey,
  answer: ScriptedAnswer,
  bounds: ReplyBounds,
): Reply {
  if ('error' in answer) throwScriptedError(answer.error)
  if ('text' in answer) return createTextReply(answer.text, bounds)
  if ('json' in answer) return createTextReply(JSON.stringify(answer.json), bounds)
  return createToolCallsReply(chance, key, [answer.toolCall as { name: string; arguments: JsonValue }], bounds)
}

/** Returns a reply with these tool calls, cut by the bounds. */
export function createToolCallsReply(
  chance: Chance,
  key: EntityKey,
  calls: readonly ({ readonly name: string } & ({ readonly arguments: JsonValue } | { readonly input: string }))[],
  { limit }: ReplyBounds,
): Reply {
  let remaining = limit ?? Number.POSITIVE_INFINITY
  let isCut = false
  let tokens = 0
  const toolCalls = calls.map((call, callIndex) => {
    const { name } = call
    const isCustom = 'input' in call
    remaining -= countTokens(name)
    const reply = createTextReply(isCustom ? call.input : JSON.stringify(call.arguments), {
      limit: Math.max(0, Math.min(remaining, 0x7fffffff)),
      stop: [],
    })
    remaining -= reply.tokens
    tokens += countTokens(name) + reply.tokens
    isCut ||= reply.finish_reason === 'length'
    return { id: `call_${chance.letters(24, key, TOOL_ID_DRAW + callIndex)}`, name, arguments: reply.text, isCustom }
  })
  return {
    text: '',
    toolCalls,
    finish_reason: isCut ? 'length' : 'tool_calls',
    isDrawn: false,
    tokens: Math.min(tokens, limit ?? tokens),
    pieces: () => [],
  }
}

/** Returns the tool with most words of its name in the message. Without a match, draws one at random. */
export function chooseTool(chance: Chance, key: EntityKey, tools: readonly Tool[], words: string): Tool {
  const lowerCaseWords = words.toLowerCase()
  const countMatchingWords = (tool: Tool) =>
    tool.name
      .toLowerCase()
      .split(/[_\-\s]+/)
      .filter(word => word.length > 3 && lowerCaseWords.includes(word)).length
  const best = Math.max(...tools.map(countMatchingWords))
  return best > 0
    ? tools.find(tool => countMatchingWords(tool) === best)!
    : tools[chance.integer(tools.length, key, TOOL_DRAW)]!
}

function generateOrRefuse(
  chance: Chance,
  key: EntityKey,
  schema: JsonSchema,
  where: string,
  { answerCount }: ReplyBounds,
  isObject = false,
): JsonValue {
  try {
    return schemas.generateValue(schema, valueDraws(chance, key), { answers: answerCount, isObject })
  } catch (error) {
    if (!(error instanceof schemas.SchemaError)) throw error
    refuse(400, `no answer can be made for ${where}: ${error.message}`)
  }
}

function valueDraws(chance: Chance, key: EntityKey): ValueDraws {
  return {
    integer: (count, index) => chance.integer(count, key, VALUE_DRAW, index),
    hex: (length, index) => chance.hex(length, key, VALUE_DRAW + index),
    text: (words, seed) => generateText(chance, chance.key('answer.words', seed), words),
  }
}

/** Returns the first of these texts in `text`, and its place; undefined if the text has none of them. */
function findStop(text: string, stop: readonly string[]): { index: number; stopText: string } | undefined {
  let first: { index: number; stopText: string } | undefined
  for (const stopText of stop) {
    const index = stopText === '' ? -1 : text.indexOf(stopText)
    if (index >= 0 && (first === undefined || index < first.index)) first = { index, stopText }
  }
  return first
}
