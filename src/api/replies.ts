/** What a model that does not exist says: texts, JSON that fits a schema, calls of tools, each with its tokens. */
import { answerKey, answerText, answerTokens } from '../cluster/answers.ts'
import { answerFor, type JsonSchema, type JsonValue, SchemaError } from '../cluster/schema-answers.ts'
import type { Chance, Key } from '../kernel/random.ts'
import { purpose } from '../kernel/random.ts'
import { refuse } from './endpoint.ts'
import { refuseAsScripted, type ScriptedAnswer } from './scripted.ts'
import { countTokens, splitTokens } from './tokenizer.ts'

const TOOL = purpose('answer.tool')
const TOOL_ID = purpose('answer.toolId')

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
export interface Bounds {
  /** Tokens at most; undefined for as many as it likes. */
  readonly limit: number | undefined
  /** Texts before which it ends. */
  readonly stop: readonly string[]
  /** How many answers the request gets, among which what they may take is shared; 1 where nothing is said. */
  readonly answers?: number
}

/** How a reply is drawn: equal models, prompts and positions give equal replies. */
export function replyKey(chance: Chance, model: string, prompt: string, index: number): Key {
  return answerKey(chance, model, index === 0 ? prompt : `${prompt}\u0000${index}`)
}

/** Words drawn from the key. */
export function wordsReply(chance: Chance, key: Key, bounds: Bounds): Reply {
  const { tokens, cut } = answerTokens(chance, key, bounds.limit)
  const reply = new DrawnReply(chance, key, tokens, cut)
  return bounds.stop.length > 0 && stopAt(reply.text, bounds.stop) >= 0 ? textReply(reply.text, bounds) : reply
}

/** So many words drawn from the key, when somebody reads them. */
export class DrawnReply implements Reply {
  readonly tokens: number
  readonly toolCalls: readonly ToolCall[] = []
  readonly finish_reason: 'stop' | 'length'
  readonly isDrawn = true
  readonly #chance: Chance
  readonly #key: Key
  #text: string | undefined

  constructor(chance: Chance, key: Key, tokens: number, isCut: boolean) {
    this.#chance = chance
    this.#key = key
    this.tokens = tokens
    this.finish_reason = isCut ? 'length' : 'stop'
  }

  get text(): string {
    this.#text ??= answerText(this.#chance, this.#key, this.tokens, this.finish_reason === 'length')
    return this.#text
  }

  pieces(): readonly string[] {
    // Each word, the space before it included, and each full stop is a token.
    return this.text.split(/(?=[ .])/)
  }
}

/** A text that is given, cut by the bounds. */
export function textReply(given: string, { limit, stop }: Bounds): Reply {
  const stops = stopAt(given, stop)
  let text = stops >= 0 ? given.slice(0, stops) : given
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
export function jsonReply(chance: Chance, key: Key, schema: JsonSchema, bounds: Bounds): Reply {
  return textReply(JSON.stringify(fitting(chance, key, schema, 'response_format', bounds)), bounds)
}

/** A call of one tool, with arguments that fit its parameters, or with a text. */
export function toolReply(chance: Chance, key: Key, { name, parameters }: Tool, bounds: Bounds): Reply {
  if (parameters === undefined) {
    const { tokens } = answerTokens(chance, key, undefined)
    return callsReply(chance, key, [{ name, input: answerText(chance, key, tokens) }], bounds)
  }
  const given = fitting(chance, key, parameters, `tool ${name}`, bounds, { type: 'object' })
  return callsReply(chance, key, [{ name, arguments: given }], bounds)
}

/** An answer that a test gives. Ends the request where it is an error. */
export function scriptedReply(chance: Chance, key: Key, answer: ScriptedAnswer, bounds: Bounds): Reply {
  if ('error' in answer) refuseAsScripted(answer.error)
  if ('text' in answer) return textReply(answer.text, bounds)
  if ('json' in answer) return textReply(JSON.stringify(answer.json), bounds)
  return callsReply(chance, key, [answer.toolCall as { name: string; arguments: JsonValue }], bounds)
}

/** Calls of tools that are given. */
export function callsReply(
  chance: Chance,
  key: Key,
  calls: readonly ({ readonly name: string } & ({ readonly arguments: JsonValue } | { readonly input: string }))[],
  { limit }: Bounds,
): Reply {
  let left = limit ?? Number.POSITIVE_INFINITY
  let isCut = false
  let tokens = 0
  const toolCalls = calls.map((call, nth) => {
    const { name } = call
    const isCustom = 'input' in call
    left -= countTokens(name)
    const reply = textReply(isCustom ? call.input : JSON.stringify(call.arguments), {
      limit: Math.max(0, Math.min(left, 0x7fffffff)),
      stop: [],
    })
    left -= reply.tokens
    tokens += countTokens(name) + reply.tokens
    isCut ||= reply.finish_reason === 'length'
    return { id: `call_${chance.letters(24, key, TOOL_ID + nth)}`, name, arguments: reply.text, isCustom }
  })
  return {
    ...{ text: '', toolCalls, finish_reason: isCut ? 'length' : 'tool_calls', isDrawn: false },
    tokens: Math.min(tokens, limit ?? tokens),
    pieces: () => [],
  }
}

/** Which tool is called: the one whose name the words speak of, else one that is drawn. */
export function chosenTool(chance: Chance, key: Key, tools: readonly Tool[], words: string): Tool {
  const spoken = words.toLowerCase()
  const fitting = (tool: Tool) =>
    tool.name
      .toLowerCase()
      .split(/[_\-\s]+/)
      .filter(word => word.length > 3 && spoken.includes(word)).length
  const best = Math.max(...tools.map(fitting))
  return best > 0 ? tools.find(tool => fitting(tool) === best)! : tools[chance.integer(tools.length, key, TOOL)]!
}

function fitting(
  chance: Chance,
  key: Key,
  schema: JsonSchema,
  where: string,
  { answers }: Bounds,
  within?: JsonSchema,
): JsonValue {
  try {
    return answerFor(schema, chance, key, { answers, ...(within !== undefined && { within }) })
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    refuse(400, `no answer can be made for the schema of ${where}: ${error.message}`)
  }
}

function stopAt(text: string, stop: readonly string[]): number {
  let first = -1
  for (const one of stop) {
    const at = one === '' ? -1 : text.indexOf(one)
    if (at >= 0 && (first < 0 || at < first)) first = at
  }
  return first
}
