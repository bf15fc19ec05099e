/** Schemas of an endpoint whose body depends on the task of a model. */
import type * as z from 'zod'

/** The input and the answers of an endpoint for models of one task. */
export interface TaskSchemas {
  readonly body: z.ZodType
  readonly returns: z.ZodType
  readonly streamEvent?: z.ZodType
  /** Whether the tokenizer must be loaded before a request takes its place among the others. */
  readonly needsTokenizer: boolean
}
