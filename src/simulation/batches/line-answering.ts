/** What lines of batches are held to, and what they are answered with: a door hands it in, for it is its requests' own. */
import type { Chance, EntityKey } from '../../kernel/random.ts'
import type { ModelSources, ModelTarget } from '../deployments/model-lookup.ts'
import type { BatchEndpoint } from './input-lines.ts'

/** A request of a batch. */
export interface ResolvedLine {
  readonly endpoint: BatchEndpoint
  /** What the line names, and what that is. */
  readonly model: string
  readonly target: ModelTarget
  readonly body: Readonly<Record<string, unknown>>
  /** What `read` made of the body; undefined where nobody has read it yet. */
  readonly parsed: unknown
}

/** Why a line is refused: it fails, and the batch goes on. */
export interface LineError {
  readonly code: string
  readonly message: string
}

/** What a line is answered with, as far as it is kept until it is written. */
export interface LineAnswer {
  readonly promptTokens: number
  readonly answerTokens: number
  /** What its words are drawn from when they are written; undefined where `choices` says all. */
  readonly key: EntityKey | undefined
  /** Whether the words were cut short. */
  readonly isCut: boolean
  /** The choices as JSON, where they are more than words that can be drawn again. */
  readonly choices: string | undefined
}

/** An answer on its way into a file. */
export interface OutputLine extends LineAnswer {
  readonly endpoint: BatchEndpoint
  readonly model: string
  /** What its wire id ends with. */
  readonly suffix: string
  /** Unix seconds. */
  readonly created: number
}

/** The world that a line is answered in. */
export interface LineWorld extends ModelSources {
  readonly chance: Chance
}

export interface LineAnswerer {
  /** Whether all is loaded that an answer takes. */
  readonly isReady: boolean
  /** What is wrong with a body, whatever it would be answered with; it needs nothing loaded. */
  validate(endpoint: BatchEndpoint, responseBody: Readonly<Record<string, unknown>>): LineError | undefined
  /** What a body asks, or why it is refused, in whatever world it is: of a line that many worlds have it is made once. */
  parse(endpoint: BatchEndpoint, body: Readonly<Record<string, unknown>>): unknown
  answer(world: LineWorld, line: ResolvedLine): LineAnswer | LineError
  /** The body of an answer. */
  body(chance: Chance, line: OutputLine): unknown
  /** For a copy of the world: what is scripted goes on from here by itself. */
  fork(): LineAnswerer
  /** What a copy has answered was answered here. */
  adopt(fork: LineAnswerer): void
}
