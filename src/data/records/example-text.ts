import * as z from 'zod'

/** Returns the schema of a text that is not empty, with an example for editors. */
export function filledText(example: string): z.ZodString {
  return z
    .string()
    .min(1)
    .meta({ examples: [example] })
}
