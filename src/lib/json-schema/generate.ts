/**
 * Values that fit a JSON Schema: the answers of a model that has to answer by a schema.
 *
 * The feature set of this folder is frozen. It covers JSON Schema 2020-12 and the spellings of draft 7. Fix errors, but
 * do not add keywords, formats or search strategies. Decision 0014 compares libraries.
 */
import { ArrayGenerator } from './arrays.ts'
import { type LocatedSchema, planGeneration } from './branches.ts'
import { EffortLimitError, type JsonSchema, type JsonValue, SchemaDocument, SchemaError } from './document.ts'
import { Effort, type ValueDraws } from './effort.ts'
import { formatPattern } from './formats.ts'
import { type GenerationContext, maxOfKeyword, minOfKeyword, schemasOf } from './generation.ts'
import { generateNumber } from './numbers.ts'
import { ObjectGenerator } from './objects.ts'
import { generateString } from './strings.ts'
import { SchemaValidator } from './validate.ts'

export { type JsonSchema, type JsonValue, SchemaError } from './document.ts'
export type { ValueDraws } from './effort.ts'

/** Attempts to generate one value. */
const MAX_ATTEMPTS = 64
/** Rounds of attempts. Each round tries all paths through the branches of the schemas. */
const MAX_ROUNDS = 8

/**
 * Returns a value that fits a schema. The same draws give the same value, and each value was validated.
 *
 * References are resolved within the schema. A value is built from all keywords of its type. If it then does not fit
 * (`not`, `oneOf`, conditions, …), other branches, fewer properties and other draws are tried, in bounded time.
 *
 * @param options `within`: a second schema that the value has to fit; `answers`: number of answers to the same request
 * @throws SchemaError with the place, if the schema is invalid or no value is found
 * @example generateValue({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }, draws)
 */
export function generateValue(
  schema: JsonSchema,
  draws: ValueDraws,
  { within = true, answers = 1 }: { readonly within?: JsonSchema; readonly answers?: number | undefined } = {},
): JsonValue {
  try {
    return new ValueGenerator(schema, draws, answers).generate(within)
  } catch (error) {
    if (error instanceof RangeError)
      throw new SchemaError('', 'it is nested too deep, or leads into itself without end')
    throw error
  }
}

class ValueGenerator {
  readonly #schema: JsonSchema
  readonly #document: SchemaDocument
  readonly #validator: SchemaValidator
  readonly #effort: Effort
  readonly #objects: ObjectGenerator
  readonly #arrays: ArrayGenerator

  constructor(schema: JsonSchema, draws: ValueDraws, answers: number) {
    this.#schema = schema
    this.#effort = new Effort(draws, answers)
    this.#document = new SchemaDocument(schema)
    this.#validator = new SchemaValidator(this.#document, steps => this.#effort.countSteps(steps))
    const generation = {
      effort: this.#effort,
      validator: this.#validator,
      value: (parts: readonly LocatedSchema[], at: string, depth: number) => this.#value(parts, at, depth),
    }
    this.#objects = new ObjectGenerator(generation)
    this.#arrays = new ArrayGenerator(generation)
  }

  generate(within: JsonSchema): JsonValue {
    const parts = [{ schema: this.#schema, at: '' }]
    return this.#value(within === true ? parts : [...parts, { schema: within, at: '' }], '', 0)
  }

  /** Returns a value that fits all of these schemas. Tries the paths through their branches one after the other. */
  #value(parts: readonly LocatedSchema[], at: string, depth: number): JsonValue {
    const firstBranches = new Map<unknown, number>()
    const firstBranch = (of: unknown, count: number) => {
      const drawn = firstBranches.get(of) ?? this.#effort.drawInteger(count)
      firstBranches.set(of, drawn)
      return drawn
    }
    const [values, characters] = [this.#effort.valueCount, this.#effort.characterCount]
    const impossiblePaths = new Set<number>()
    let failure: SchemaError | undefined
    let pathCount = 1
    let attempts = 0
    const onPathCount = (count: number) => {
      pathCount = Math.max(pathCount, count)
    }
    for (let round = 0; round < MAX_ROUNDS && attempts < MAX_ATTEMPTS && impossiblePaths.size < pathCount; round++) {
      for (let path = 0; path < pathCount && attempts < MAX_ATTEMPTS; path++) {
        if (impossiblePaths.has(path)) continue
        attempts++
        this.#effort.valueCount = values
        this.#effort.characterCount = characters
        this.#effort.currentPointer = at
        this.#effort.countSteps(20)
        try {
          const plan = planGeneration(parts, this.#document, {
            path,
            firstBranch,
            prefersPlain: this.#effort.isLargeEnough(depth),
            onPathCount,
          })
          const value = this.#generate({ ...plan, at, depth, round }, parts)
          const isKnownToFit =
            plan.uncheckedKeywords.length === 0 && depth > 0 && typeof value === 'object' && value !== null
          if (isKnownToFit || this.#fits(parts, value)) return value
          const keywords = plan.uncheckedKeywords.length > 0 ? plan.uncheckedKeywords.join(', ') : 'what it says'
          failure ??= new SchemaError(at, `no value is known that fits ${keywords}`)
        } catch (error) {
          if (!(error instanceof SchemaError) || error instanceof EffortLimitError) throw error
          failure ??= error
          impossiblePaths.add(path)
        }
      }
    }
    throw failure!
  }

  #generate(context: GenerationContext, schemas: readonly LocatedSchema[]): JsonValue {
    const { locatedSchemas, type, at } = context
    this.#effort.countValue(at)
    if (locatedSchemas.length === 0) return this.#effort.drawWords(3)
    switch (type) {
      case undefined:
        return this.#chooseListed(context, schemas)
      case 'object':
        return this.#objects.generate(context)
      case 'array':
        return this.#arrays.generate(context)
      case 'string':
        return this.#string(context)
      case 'integer':
      case 'number':
        return generateNumber(schemasOf(context), type, count => this.#effort.drawInteger(count), this.#effort.span, at)
      case 'boolean':
        return this.#effort.drawInteger(2) === 1
      default:
        return null
    }
  }

  /** Returns one of the values of `const` or `enum`. */
  #chooseListed({ locatedSchemas, at }: GenerationContext, schemas: readonly LocatedSchema[]): JsonValue {
    const { schema } =
      locatedSchemas.find(part => part.schema.const !== undefined) ??
      locatedSchemas.find(part => part.schema.enum !== undefined)!
    const listed = schema.const !== undefined ? [schema.const as JsonValue] : (schema.enum as JsonValue[])
    const first = schema.const !== undefined ? 0 : this.#effort.drawInteger(listed.length)
    const candidates = [...listed.slice(first), ...listed.slice(0, first)]
    const value = candidates.find(one => this.#fits(schemas, one))
    if (value === undefined) throw new SchemaError(at, 'none of the values that it lists fits')
    this.#effort.countCharacters(JSON.stringify(value).length, at)
    return value
  }

  #string(context: GenerationContext): string {
    const { locatedSchemas, at } = context
    const schemas = schemasOf(context)
    const minLength = maxOfKeyword(schemas, 'minLength', 0)
    const maxLength = minOfKeyword(schemas, 'maxLength')
    if (minLength > maxLength) throw new SchemaError(at, `minLength is ${minLength} and maxLength ${maxLength}`)
    if (minLength > this.#effort.maxCharacters)
      throw new EffortLimitError(
        at,
        `minLength is ${minLength}: an answer has ${this.#effort.maxCharacters} characters at most`,
      )
    const patterns = locatedSchemas.flatMap(({ schema, at: from }) =>
      schema.pattern === undefined ? [] : [this.#validator.pattern(schema.pattern as string, from)],
    )
    const formats = schemas.flatMap(({ format }) =>
      formatPattern(String(format)) === undefined ? [] : [String(format)],
    )
    const text =
      patterns.length + formats.length > 0
        ? generateString({ minLength, maxLength, patterns, formats, at }, this.#effort.textSource, source =>
            this.#validator.pattern(source),
          )
        : this.#prose(minLength, maxLength)
    this.#effort.countCharacters(text.length, at)
    return text
  }

  #prose(minLength: number, maxLength: number): string {
    let text = this.#effort.drawWords(2 + this.#effort.drawInteger(4)).replace(/\.$/, '')
    while (text.length < minLength) text += ` ${this.#effort.drawWords(4).toLowerCase()}`
    if (text.length <= maxLength) return text
    return text.slice(0, maxLength).trimEnd().padEnd(minLength, 'a')
  }

  #fits(parts: readonly LocatedSchema[], value: JsonValue): boolean {
    return parts.every(({ schema }) => this.#validator.isValid(schema, value))
  }
}
