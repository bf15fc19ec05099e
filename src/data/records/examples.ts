import * as z from 'zod'

/** Returns the schema with an example for editors and for corrections. */
export function withExample<Schema extends z.ZodType>(schema: Schema, example: unknown): Schema {
  return schema.meta({ examples: [example] })
}

/** Returns the schema of a text that is not empty, with an example. */
export function filledText(example: string): z.ZodString {
  return withExample(z.string().min(1), example)
}

export const unixSeconds = withExample(z.int(), 1_767_139_200)
export const isoTime = withExample(z.iso.datetime({ offset: true }), '2025-12-31T00:00:00Z')
