/** What native inference does for one type of model: its body, its answer, and the work for the model. */
import * as z from 'zod'
import type { Chance, EntityKey } from '../../kernel/random.ts'
import type { ModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { MediaWork } from '../../simulation/inference/media-work.ts'
import type { ApiScope } from '../api-scope.ts'
import type { UploadedFile } from '../endpoint.ts'
import { opaque, recordSchema } from '../fields.ts'
import type { SseFrame } from '../openai/sse.ts'

/** An http or https address with a host. */
const WEBHOOK_ADDRESS = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#]/

/** What a request cost and how long the model worked on it. */
export const InferenceStatus = recordSchema('InferenceStatus', {
  status: z.enum(['unknown', 'queued', 'running', 'succeeded', 'failed']),
  /** Milliseconds of an instance's work. */
  runtime_ms: z.int(),
  /** US dollars. */
  cost: z.number(),
  tokens_generated: z.int().nullable(),
  tokens_input: z.int().nullable(),
})
export type InferenceStatus = z.output<typeof InferenceStatus>

/** The address that gets the result. Without it, the result is the answer. */
export const Webhook = opaque(
  z.string().regex(WEBHOOK_ADDRESS, 'a webhook should be an http or https address'),
).nullish()

/** The fields that every answer of native inference has. */
export const AnswerFields = { request_id: z.string(), inference_status: InferenceStatus }

/** The lengths of a valid body. */
export interface NativeInput {
  /** The input as text. Equal texts get equal results. */
  readonly prompt: string
  readonly promptTokens: number
  /** Tokens of the longest input that is answered separately. It must fit the context. Default: `promptTokens`. */
  readonly longestPromptTokens?: number
  /** Tokens of the shortest answer. Default: 0. */
  readonly minAnswerTokens?: number
  /** The file of the body, of a model whose body has one. */
  readonly file?: UploadedFile
}

/** The work of a request for a model. */
export interface NativeWork<Spec, StreamSource> {
  /** What determines the result, as plain data. */
  readonly spec: Spec
  /** What a stream is made of; undefined for a protocol without streams. */
  readonly streamSource?: StreamSource
  /** Default: 0. */
  readonly answerTokens?: number
  /** Tokens of the longest answer, which decides how long the model works. Default: 0. */
  readonly longestAnswer?: number
  /** The work of a media or custom model, which decides time and price in place of the tokens. */
  readonly work?: MediaWork
}

/** What a protocol sees of a request. */
export interface NativeScope extends Pick<ApiScope, 'world' | 'findScriptedAnswer'> {
  /** The name of the model in the request. */
  readonly model: string
  readonly target: ModelTarget
  /** Context length of the model in tokens. */
  readonly contextLength: number
}

/** The events of a streamed answer. */
export interface NativeStream {
  /** Key of the random draws of token times. */
  readonly key: EntityKey
  readonly frames: Iterator<SseFrame>
}

/** Native inference for one type of model. */
export interface NativeProtocol<
  Body extends z.ZodType = z.ZodType,
  Returns extends z.ZodType = z.ZodType,
  Spec = object,
  StreamSource = undefined,
> {
  readonly body: Body
  readonly returns: Returns
  readonly streamEvent?: z.ZodType
  /** Whether the tokenizer must be loaded before `parse`. */
  readonly needsTokenizer: boolean
  /** Method syntax, because protocols of different bodies share one record. Throws InvalidInputError. */
  parse(body: z.output<Body>): NativeInput
  /** Throws RefusalError if the model cannot do the work. */
  createWork(scope: NativeScope, body: z.output<Body>, input: NativeInput): NativeWork<Spec, StreamSource>
  /** Returns the fields of the answer beside those that every answer has. */
  createResult(chance: Chance, spec: Spec): object
  /** Returns the events of an answer that the body asks to stream; undefined for a whole answer. */
  createStream?(
    scope: NativeScope,
    body: z.output<Body>,
    input: NativeInput,
    work: NativeWork<Spec, StreamSource>,
  ): NativeStream | undefined
}

/** Declares native inference. What its work has as `spec` makes the result. */
export function nativeProtocol<Body extends z.ZodType, Returns extends z.ZodType, Spec, StreamSource = undefined>(
  protocol: NativeProtocol<Body, Returns, Spec, StreamSource>,
): NativeProtocol<Body, Returns, Spec, StreamSource> {
  return protocol
}
