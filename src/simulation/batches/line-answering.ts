/** The validation and answering of batch lines. The service implements it with the rules of its requests. */
import type { Profile } from '../../data/profiles/schema.ts'
import type { Chance, EntityKey } from '../../kernel/random.ts'
import type { ModelSources, ModelTarget } from '../deployments/model-lookup.ts'
import type { BatchEndpoint, InvalidBody } from './input-lines.ts'

type LineObject = Readonly<Record<string, unknown>>

/** A request of a batch. */
export interface ResolvedLine {
  readonly endpoint: BatchEndpoint
  /** The model name of the line, and its target. */
  readonly model: string
  readonly target: ModelTarget
  readonly body: Readonly<Record<string, unknown>>
  /** The result of `parse` for the body; undefined if it is not parsed yet. */
  readonly parsed: unknown
}

/** The error of a line that fails, as a row of the error file shows it. The batch continues. */
export interface LineError {
  /** The status of the refusal as text, or the reason why the line did not run. */
  readonly code: string
  readonly message: string
  readonly param: string | null
  readonly type: string | null
}

/** The part of a line's answer that is kept until the output file is written. */
export interface LineAnswer {
  readonly promptTokens: number
  readonly answerTokens: number
  /** The key that the text is generated from; undefined if `choices` has the whole answer. */
  readonly key: EntityKey | undefined
  /** Whether the text was cut. */
  readonly isCut: boolean
  /** The choices as JSON, if they cannot be generated again from the key. For embeddings: what determines the vectors. */
  readonly choices: string | undefined
  /** The `service_tier` of the line, which its answer repeats. */
  readonly serviceTier: string | undefined
}

/** The input for the body of an answer. */
export interface OutputLine extends LineAnswer {
  readonly endpoint: BatchEndpoint
  readonly model: string
  /** The suffix of the id of the answer. */
  readonly suffix: string
  /** Unix seconds. */
  readonly created: number
  /** Price of its tokens in USD. */
  readonly estimatedCost: number
}

/** The parts of the world that answering a line needs. */
export interface LineWorld extends ModelSources {
  readonly chance: Chance
}

export interface LineAnswerer {
  /** Whether everything that an answer needs is loaded. */
  readonly isReady: boolean
  /** Whether lines with unknown fields are invalid. */
  readonly isStrict: boolean
  /** Returns a line of an uploaded file with neutral names; undefined if lines have no other names. */
  readonly toInternalLine: ((endpoint: BatchEndpoint, line: LineObject) => LineObject) | undefined
  /** Returns the problem of a body that only the policies can change. It needs nothing loaded. */
  validate(
    endpoint: BatchEndpoint,
    body: Readonly<Record<string, unknown>>,
    policies: Profile['policies'],
  ): InvalidBody | LineError | undefined
  /** Parses a body independently of the world, or returns its problem. Worlds that share a line share the result. */
  parse(endpoint: BatchEndpoint, body: Readonly<Record<string, unknown>>): unknown
  answer(world: LineWorld, line: ResolvedLine): LineAnswer | LineError | InvalidBody
  /** Returns the body of an answer. */
  body(chance: Chance, line: OutputLine): unknown
  /** Returns a copy for a fork of the world, with its own position in the scripted answers and fault rules. */
  fork(): LineAnswerer
  /** Returns an answerer without scripted answers and fault rules. */
  unscripted(): LineAnswerer
  /** Takes over the position of a copy in the scripted answers and fault rules, after it answered a batch. */
  adopt(fork: LineAnswerer, batch: string): void
}
