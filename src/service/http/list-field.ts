import type * as z from 'zod'
import { inputShape } from '../naming/schema-shape.ts'

/** Tells whether a field of a form is a list, which a client sends by repeating it. */
export function isListField(schema: z.ZodType): boolean {
  return inputShape(schema).items !== undefined
}
