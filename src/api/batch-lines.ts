/** Lines of batches, held to the same declarations as requests, and answered by the same rules. */
import type { BatchEndpoint } from '../cluster/batch-lines.ts'
import type { AskedLine, LineAnswer, LineAnswers, LineError, WrittenLine } from '../cluster/line-answers.ts'
import type { Target } from '../cluster/targets.ts'
import type { World } from '../cluster/world.ts'
import type { Chance } from '../kernel/random.ts'
import { Invalid, Refused } from './endpoint.ts'
import { operations } from './index.ts'
import { contextFor } from './inference.ts'
import { bodyOf } from './input.ts'
import { MAX_NESTING } from './json-body.ts'
import { type Prepared, routerOf } from './prepared.ts'
import { DrawnReply } from './replies.ts'
import { ScriptedAnswers } from './scripted.ts'
import { addStrangersInBody } from './strangers.ts'
import { answered, choicesOf, type Prompt, repliesTo, SHORTEST, tokensOf, usageOf } from './text-generation.ts'
import { tokenizer } from './tokenizer.ts'
import { type Detail, Details } from './validation.ts'

type Body = Readonly<Record<string, unknown>>

/** A body as its endpoint has it, and what it asks. */
interface ReadBody {
  readonly value: never
  readonly prompt: Prompt
}

/** The answers of a simulator to lines of batches: those that are scripted, else those that are drawn. */
export class BatchAnswers implements LineAnswers {
  readonly #scripted: ScriptedAnswers
  readonly #isStrict: boolean

  /** @param isStrict whether fields that no declaration names are refused */
  constructor(scripted: ScriptedAnswers, isStrict: boolean) {
    this.#scripted = scripted
    this.#isStrict = isStrict
  }

  get isReady(): boolean {
    return tokenizer() !== undefined
  }

  fork(): BatchAnswers {
    const scripted = new ScriptedAnswers()
    scripted.restore(this.#scripted.state)
    return new BatchAnswers(scripted, this.#isStrict)
  }

  takeOver(fork: BatchAnswers): void {
    this.#scripted.restore(fork.#scripted.state)
  }

  refusal(endpoint: BatchEndpoint, body: Body): LineError | undefined {
    return refusable(() => void parsed(endpoint, body, this.#isStrict)) as LineError | undefined
  }

  read(endpoint: BatchEndpoint, body: Body): ReadBody | LineError {
    return readBody(endpoint, body, false)
  }

  answer(world: World, { endpoint, model, target, body, read }: AskedLine): LineAnswer | LineError {
    // What is read for every world is read as one that is not strict.
    const known = this.#isStrict ? undefined : (read as ReadBody | LineError | undefined)
    const found = known ?? readBody(endpoint, body, this.#isStrict)
    return 'code' in found ? found : refusable(() => this.#answer(world, endpoint, model, target, found))
  }

  #answer(
    world: World,
    endpoint: BatchEndpoint,
    model: string,
    target: Target,
    { value, prompt }: ReadBody,
  ): LineAnswer {
    const { ask, shape } = rulesOf(endpoint)
    const scripted = (named: string, words: string) => this.#scripted.answerTo(named, words)
    const asked = ask(value, prompt, { world, scripted, name: target.name })
    const replies = repliesTo(asked, contextFor(world, target, model, asked.longestPrompt, SHORTEST))
    const [first] = replies
    const isDrawn = replies.length === 1 && first!.isDrawn && asked.leads === undefined
    return {
      promptTokens: asked.promptTokens,
      answerTokens: tokensOf(replies),
      key: isDrawn ? asked.keys[0] : undefined,
      isCut: isDrawn && first!.finish_reason === 'length',
      choices: isDrawn ? undefined : JSON.stringify(choicesOf(shape, replies, asked.leads)),
    }
  }

  body(chance: Chance, line: WrittenLine): unknown {
    const { endpoint, model, suffix, created, promptTokens, answerTokens, key, isCut, choices } = line
    const { shape } = rulesOf(endpoint)
    const said =
      key === undefined
        ? (JSON.parse(choices!) as unknown[])
        : choicesOf(shape, [new DrawnReply(chance, key, answerTokens, isCut)], undefined)
    return answered(
      shape,
      { id: `${shape.prefix}${suffix}`, created, model },
      said,
      usageOf(promptTokens, answerTokens),
    )
  }
}

function readBody(endpoint: BatchEndpoint, body: Body, isStrict: boolean): ReadBody | LineError {
  return refusable(() => {
    const value = parsed(endpoint, body, isStrict)
    return { value, prompt: rulesOf(endpoint).read(value) }
  })
}

/** The body as its endpoint has it. */
function parsed(endpoint: BatchEndpoint, body: Body, isStrict: boolean): never {
  const one = preparedOf(endpoint)
  if (isDeeper(body, MAX_NESTING)) {
    const msg = `JSON decode error: nesting deeper than ${MAX_NESTING}`
    throw new Unfit([{ loc: ['body'], msg, type: 'json_invalid' }])
  }
  const issues = new Details()
  const value = bodyOf(one, body, issues)
  if (isStrict) addStrangersInBody(issues, one.endpoint, body)
  if (issues.count > 0) throw new Unfit(issues.list())
  return value as never
}

/** A body that its endpoint would answer with 422. */
class Unfit extends Error {
  readonly issues: readonly Detail[]
  constructor(issues: readonly Detail[]) {
    super('unfit')
    this.issues = issues
  }
}

function preparedOf(endpoint: BatchEndpoint): Prepared {
  // Shared with the requests, so that what was compiled for one is there for the other.
  const match = routerOf(operations, undefined).match('POST', endpoint)
  return (match as { readonly target: Prepared }).target
}

function rulesOf(endpoint: BatchEndpoint) {
  return preparedOf(endpoint).endpoint.inBatch!
}

/** What is made of a body, or why a request with it would be refused. */
function refusable<Made>(make: () => Made): Made | LineError {
  try {
    return make()
  } catch (error) {
    return lineError(error)
  }
}

/** What a request would be refused with, as a line has it. Throws what is no refusal. */
function lineError(error: unknown): LineError {
  if (error instanceof Unfit) return unfit(error.issues)
  if (error instanceof Invalid) return unfit([{ loc: [...error.loc], msg: error.message, type: error.type }])
  if (error instanceof Refused) return { code: codeOf(error.status), message: cut(error.message) }
  throw error
}

function unfit(issues: readonly Detail[]): LineError {
  return { code: 'invalid_request', message: cut(issues.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ')) }
}

/** The most characters of the message of a line; a file has many lines. */
const LONGEST_MESSAGE = 4_000

function cut(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE)}…`
}

function codeOf(status: number): string {
  if (status === 429) return 'rate_limit_exceeded'
  return status < 500 ? 'invalid_request' : 'server_error'
}

/** Whether arrays and objects are nested deeper than so many. */
function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (most === 0) return true
  if (Array.isArray(value)) return value.some(inner => isDeeper(inner, most - 1))
  for (const name in value) if (isDeeper((value as Record<string, unknown>)[name], most - 1)) return true
  return false
}
