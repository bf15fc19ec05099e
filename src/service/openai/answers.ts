/** What a model that does not exist says: texts, JSON that fits a schema, calls of tools, each with its tokens. */

import type { Chance, EntityKey } from '../../kernel/random.ts'
import { purpose } from '../../kernel/random.ts'
import {
  generateValue,
  type JsonSchema,
  type JsonValue,
  SchemaError,
  type ValueDraws,
} from '../../lib/json-schema/generate.ts'
import { answerKey, drawAnswerLength, generateText } from '../../simulation/inference/text-generator.ts'
import { refuse } from '../endpoint.ts'
import { type ScriptedAnswer, throwScriptedError } from './scripted-answers.ts'
import { countTokens, splitTokens } from './tokenizer.ts'

const VALUE_DRAW = purpose('answer.shape')
const TOOL_DRAW = purpose('answer.tool')
const TOOL_ID_DRAW = purpose('answer.toolId')

/** What the model may call: a function, by the schema of its arguments, or a custom tool, which has none and takes a text. */
export interface Tool {
  readonly name: string
  readonly parameters: JsonSchema | undefined
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON, as text; of a custom tool the text that it takes. */
  readonly arguments: string
  readonly isCustom: boolean
}

/** One answer, complete. */
export interface Reply {
  /** `''` beside calls of tools. */
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly finish_reason: 'stop' | 'length' | 'tool_calls'
  /** Tokens of the text, or of the names and arguments of its calls. */
  readonly tokens: number
  /** Its words are those that its key gives: a `DrawnReply` is made of key, tokens and reason alone. */
  readonly isDrawn: boolean
  /** The text in pieces of a token each, as a stream sends them. */
  pieces(): readonly string[]
}

/** What bounds an answer. */
export interface ReplyBounds {
  /** Tokens at most; undefined for as many as it likes. */
  readonly limit: number | undefined
  /** Texts before which it ends. */
  readonly stop: readonly string[]
  /** How many answers the request gets, among which what they may take is shared; 1 where nothing is said. */
  readonly answerCount?: number
}

/** How a reply is drawn: equal models, prompts and positions give equal replies. */
export function replyKey(chance: Chance, model: string, prompt: string, index: number): EntityKey {
  return answerKey(chance, model, index === 0 ? prompt : `${prompt}\u0000${index}`)
}

/** Words drawn from the key. */
export function createDrawnReply(chance: Chance, key: EntityKey, bounds: ReplyBounds): Reply {
  const { tokens, cut } = drawAnswerLength(chance, key, bounds.limit)
  const reply = new DrawnReply(chance, key, tokens, cut)
  return bounds.stop.length > 0 && findStop(reply.text, bounds.stop) >= 0 ? createTextReply(reply.text, bounds) : reply
}

/** So many words drawn from the key, when somebody reads them. */
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
    // Each word, the space before it included, and each full stop is a token.
    return this.text.split(/(?=[ .])/)
  }
}

/** A text that is given, cut by the bounds. */
export function createTextReply(fullText: string, { limit, stop }: ReplyBounds): Reply {
  const stopIndex = findStop(fullText, stop)
  let text = stopIndex >= 0 ? fullText.slice(0, stopIndex) : fullText
  let tokens = text === '' ? 0 : countTokens(text)
  const isCut = limit !== undefined && tokens > limit
  if (isCut) {
    text = splitTokens(text).slice(0, limit).join('')
    tokens = limit
  }
  return {
    ...{ text, tokens, toolCalls: [], finish_reason: isCut ? 'length' : 'stop', isDrawn: false },
    pieces: () => splitTokens(text),
  }
}

/** JSON that fits a schema. Ends the request with 400 where none is known that does. */
export function createJsonReply(chance: Chance, key: EntityKey, schema: JsonSchema, bounds: ReplyBounds): Reply {
  return createTextReply(JSON.stringify(fitting(chance, key, schema, 'response_format', bounds)), bounds)
}

/** A call of one tool, with arguments that fit its parameters, or with a text. */
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
  const generatedArguments = fitting(chance, key, parameters, `tool ${name}`, bounds, { type: 'object' })
  return createToolCallsReply(chance, key, [{ name, arguments: generatedArguments }], bounds)
}

/** An answer that a test gives. Ends the request where it is an error. */
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

/** Calls of tools that are given. */
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
    ...{ text: '', toolCalls, finish_reason: isCut ? 'length' : 'tool_calls', isDrawn: false },
    tokens: Math.min(tokens, limit ?? tokens),
    pieces: () => [],
  }
}

/** Which tool is called: the one whose name the words speak of, else one that is drawn. */
export function chooseTool(chance: Chance, key: EntityKey, tools: readonly Tool[], words: string): Tool {
  const lowerCaseWords = words.toLowerCase()
  const generateJson = (tool: Tool) =>
    tool.name
      .toLowerCase()
      .split(/[_\-\s]+/)
      .filter(word => word.length > 3 && lowerCaseWords.includes(word)).length
  const best = Math.max(...tools.map(generateJson))
  return best > 0
    ? tools.find(tool => generateJson(tool) === best)!
    : tools[chance.integer(tools.length, key, TOOL_DRAW)]!
}

function fitting(
  chance: Chance,
  key: EntityKey,
  schema: JsonSchema,
  where: string,
  { answerCount }: ReplyBounds,
  within?: JsonSchema,
): JsonValue {
  try {
    return generateValue(schema, valueDraws(chance, key), {
      answers: answerCount,
      ...(within !== undefined && { within }),
    })
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    refuse(400, `no answer can be made for the schema of ${where}: ${error.message}`)
  }
}

function valueDraws(chance: Chance, key: EntityKey): ValueDraws {
  return {
    integer: (count, index) => chance.integer(count, key, VALUE_DRAW, index),
    hex: (length, index) => chance.hex(length, key, VALUE_DRAW + index),
    text: (words, seed) => generateText(chance, chance.key('answer.words', seed), words),
  }
}

function findStop(text: string, stop: readonly string[]): number {
  let firstIndex = -1
  for (const stopText of stop) {
    const index = stopText === '' ? -1 : text.indexOf(stopText)
    if (index >= 0 && (firstIndex < 0 || index < firstIndex)) firstIndex = index
  }
  return firstIndex
}
