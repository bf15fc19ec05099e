import type { GenerationPlan, LocatedSchema } from './branches.ts'
import type { JsonValue, SchemaObject } from './document.ts'
import type { Effort } from './effort.ts'
import type { SchemaValidator } from './validate.ts'

/** The round of attempts that fills in required properties only. */
export const REQUIRED_ONLY_ROUND = 3

/** The schemas of one value, and its place. */
export interface GenerationContext extends GenerationPlan {
  readonly at: string
  readonly depth: number
  /** Number of failed rounds of attempts before. */
  readonly round: number
}

/** The parts that the generators of objects and arrays share. */
export interface Generation {
  readonly effort: Effort
  readonly validator: SchemaValidator
  /** Returns a value that fits all of these schemas. Throws SchemaError if no value is found. */
  readonly value: (parts: readonly LocatedSchema[], at: string, depth: number) => JsonValue
}

export function schemasOf({ locatedSchemas }: GenerationPlan): readonly SchemaObject[] {
  return locatedSchemas.map(({ schema }) => schema)
}

export function maxOfKeyword(schemas: readonly SchemaObject[], keyword: string, fallback: number): number {
  return schemas.reduce((largest, one) => Math.max(largest, (one[keyword] as number | undefined) ?? fallback), fallback)
}

export function minOfKeyword(schemas: readonly SchemaObject[], keyword: string): number {
  return schemas.reduce(
    (smallest, one) => Math.min(smallest, (one[keyword] as number | undefined) ?? smallest),
    Number.POSITIVE_INFINITY,
  )
}
