/**
 * Values that fit a JSON Schema: the answers of a model that has to answer by a schema.
 *
 * The keywords are those that zod and pydantic write. Others that constrain a value are refused by their name.
 */
import {
  countRange,
  EffortLimitError,
  type JsonSchema,
  type JsonValue,
  SchemaDocument,
  SchemaError,
  type SchemaObject,
} from './document.ts'
import { Effort, MAX_DEPTH, type ValueDraws } from './effort.ts'
import { Pattern } from './patterns.ts'
import { type GenerationPlan, type Paths, planGeneration } from './plan.ts'
import { generateString } from './strings.ts'
import { isValidNumber, SchemaValidator } from './validate.ts'

/** Steps that are tried if a multiple is inexact in floating point, or one of several. */
const MAX_TRIES = 1000

/**
 * Returns a number that matches all of these schemas.
 *
 * @throws SchemaError if no number fits
 */
function generateNumber(schemas: readonly SchemaObject[], type: string, effort: Effort, at: string): number {
  const isValid = (value: number) =>
    Number.isFinite(value) &&
    (type === 'number' || Number.isInteger(value)) &&
    schemas.every(one => isValidNumber(one, value))
  const multiples = schemas.flatMap(one => one.multipleOf ?? [])
  const step = Math.max(...(type === 'integer' ? [1] : multiples.length === 0 ? [0.5] : []), ...multiples)
  const times = (count: number) => (Number.isInteger(step) ? step * count : Number((step * count).toPrecision(15)))
  const above = Math.max(...schemas.map(one => one.exclusiveMinimum ?? Number.NEGATIVE_INFINITY))
  const below = Math.min(...schemas.map(one => one.exclusiveMaximum ?? Number.POSITIVE_INFINITY))
  // An integer without bounds has the largest ones in a schema of zod.
  const bounds = (values: readonly (number | undefined)[]) =>
    values.filter(value => value !== undefined && Math.abs(value) !== Number.MAX_SAFE_INTEGER) as number[]
  const least = Math.max(above, ...bounds(schemas.map(({ minimum }) => minimum)))
  const most = Math.min(below, ...bounds(schemas.map(({ maximum }) => maximum)))
  const low = Number.isFinite(least) ? least : Number.isFinite(most) ? most - effort.span * step : 0
  const high = Number.isFinite(most) ? most : low + effort.span * step
  const first = Math.ceil(low / step) + (Math.ceil(low / step) * step <= above ? 1 : 0)
  const last = Math.floor(high / step) - (Math.floor(high / step) * step >= below ? 1 : 0)
  const count = Math.min(last - first + 1, 1_000_000)
  const offset = count > 0 ? effort.drawInteger(count) : 0
  for (let index = 0; index < Math.min(count, MAX_TRIES); index++) {
    const value = times(first + ((offset + index) % count))
    if (isValid(value)) return value
  }
  // Numbers also exist between two steps of one half.
  const candidate = [(low + high) / 2, least, most, 0].find(isValid)
  if (candidate === undefined) throw new SchemaError(at, `no ${type} lies within its bounds`)
  return candidate
}

export { SchemaError } from './document.ts'

/** Attempts to generate one value. */
const MAX_ATTEMPTS = 64
/** Repeated items in a row after which an array with unique items ends. */
const MAX_DUPLICATE_ITEMS = 200

/** The schemas of one value, and its place. */
interface GenerationContext extends GenerationPlan {
  readonly at: string
  readonly depth: number
  /** Whether each path through the branches has failed before. */
  readonly isRetry: boolean
}

/**
 * Returns a value that fits a schema. The same draws give the same value, and each value was validated.
 *
 * References are resolved within the schema. A value is built from all keywords of its type. If it then does not fit
 * (a second branch of `oneOf` fits too), other branches and other draws are tried, in bounded time.
 *
 * @param options `isObject`: whether the value has to be an object; `answers`: number of answers to the same request
 * @throws SchemaError with the place, if the schema is invalid or no value is found
 * @example generateValue({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }, draws)
 */
export function generateValue(
  schema: JsonSchema,
  draws: ValueDraws,
  { isObject = false, answers = 1 }: { readonly isObject?: boolean; readonly answers?: number | undefined } = {},
): JsonValue {
  try {
    const document = new SchemaDocument(schema)
    const parts = isObject ? [document.root, { type: ['object'] }] : [document.root]
    return new ValueGenerator(document, new Effort(draws, answers)).generate(parts, 0)
  } catch (error) {
    if (error instanceof RangeError)
      throw new SchemaError('', 'it is nested too deep, or leads into itself without end')
    throw error
  }
}

class ValueGenerator {
  readonly #document: SchemaDocument
  readonly #validator: SchemaValidator
  readonly #effort: Effort

  constructor(document: SchemaDocument, effort: Effort) {
    this.#document = document
    this.#effort = effort
    this.#validator = new SchemaValidator(document, steps => effort.countSteps(steps))
  }

  /** Returns a value that fits all of these schemas. Tries the paths through their branches one after the other. */
  generate(parts: readonly SchemaObject[], depth: number): JsonValue {
    const effort = this.#effort
    const at = this.#document.placeOf(parts[0])
    const { valueCount, characterCount } = effort
    const paths: Paths = { current: 0, count: 1, firstBranches: new Map() }
    const impossiblePaths = new Set<number>()
    let failure: SchemaError | undefined
    for (let attempt = 0; attempt < MAX_ATTEMPTS && impossiblePaths.size < paths.count; attempt++) {
      paths.current = attempt % paths.count
      if (impossiblePaths.has(paths.current)) continue
      Object.assign(effort, { valueCount, characterCount })
      effort.countSteps(20)
      let value: JsonValue = null
      let isUnchecked = depth === 0
      const problem = failureOf(() => {
        const plan = planGeneration(parts, this.#document, paths, effort, effort.isLargeEnough(depth))
        value = this.#generateBy({ ...plan, at, depth, isRetry: attempt >= paths.count }, parts)
        if (plan.type !== 'object' && plan.type !== 'array') effort.countCharacters(JSON.stringify(value).length, at)
        isUnchecked ||= plan.schemas.some(one => one.oneOf !== undefined)
      })
      if (problem !== undefined) impossiblePaths.add(paths.current)
      else if (!isUnchecked || this.#fits(parts, value)) return value
      failure ??= problem ?? new SchemaError(at, 'no value is known that fits, with only one branch of oneOf')
    }
    throw failure!
  }

  #generateBy(context: GenerationContext, parts: readonly SchemaObject[]): JsonValue {
    const { schemas, type, at } = context
    const effort = this.#effort
    effort.countValue(at)
    if (schemas.length === 0) return effort.drawWords(3)
    if (type === undefined) return this.#chooseListed(context, parts)
    if (type === 'object') return this.#object(context)
    if (type === 'array') return this.#array(context)
    if (type === 'string') return generateString(schemas, effort, at)
    if (type === 'boolean') return effort.drawInteger(2) === 1
    if (type === 'null') return null
    return generateNumber(schemas, type, effort, at)
  }

  /** Returns one of the values of `const` or `enum`. */
  #chooseListed({ schemas, at }: GenerationContext, parts: readonly SchemaObject[]): JsonValue {
    const constants = schemas.flatMap(one => (one.const === undefined ? [] : [one.const]))
    const listed = constants.length > 0 ? constants : schemas.find(one => one.enum !== undefined)!.enum!
    const first = constants.length > 0 ? 0 : this.#effort.drawInteger(listed.length)
    const value = [...listed.slice(first), ...listed.slice(0, first)].find(one => this.#fits(parts, one))
    if (value === undefined) throw new SchemaError(at, 'none of the values that it lists fits')
    return value
  }

  #object(context: GenerationContext): JsonValue {
    const { schemas, at, depth, isRetry } = context
    const effort = this.#effort
    if (depth > 3 * MAX_DEPTH) throw new SchemaError(at, 'it requires itself without end')
    const required = new Set(schemas.flatMap(one => one.required ?? []))
    const names = [...new Set([...schemas.flatMap(one => Object.keys(one.properties ?? {})), ...required])]
    const [minCount, maxCount] = countRange(schemas, 'Properties')
    if (required.size > maxCount)
      throw new SchemaError(at, `maxProperties is ${maxCount}, and it requires ${required.size}`)
    let optional = Math.min(maxCount, names.length) - required.size
    // Models fill in optional properties. Recursive schemas have to terminate.
    const isChosen = () => !effort.isLargeEnough(depth) && (!isRetry || effort.drawInteger(2) === 1) && optional-- > 0
    const object: Record<string, JsonValue> = {}
    for (const name of names.filter(one => required.has(one) || isChosen())) {
      // An optional property without a fitting value is left out.
      const failure = failureOf(() => this.#addProperty(context, object, name))
      if (failure !== undefined && required.has(name)) throw failure
    }
    const isOpen = ({ additionalProperties: one }: SchemaObject) => one !== undefined && !isNever(one)
    const isMap = schemas.some(one => one.patternProperties !== undefined || isOpen(one))
    // A map without named properties gets one entry, so that it is not empty.
    const isEmptyMap = names.length === 0 && minCount === 0 && maxCount > 0 && isMap && !effort.isLargeEnough(depth)
    const count = () => Object.keys(object).length
    const targetCount = isEmptyMap ? 1 : minCount
    let failure: SchemaError | undefined
    for (let index = 1; count() < targetCount && index < 3 * targetCount + 32; index++) {
      const problem = failureOf(() => {
        const name = this.#generateName(context, isEmptyMap ? 0 : index)
        if (!Object.hasOwn(object, name)) this.#addProperty(context, object, name)
      })
      failure ??= problem
    }
    if (count() >= minCount) return object
    throw failure ?? new SchemaError(at, `minProperties is ${minCount}, and it has fewer properties`)
  }

  #addProperty({ schemas, at, depth }: GenerationContext, object: Record<string, JsonValue>, name: string): void {
    if (!schemas.every(one => this.#validator.isValid(one.propertyNames ?? {}, name)))
      throw new SchemaError(at, `propertyNames does not allow ${JSON.stringify(name)}`)
    const valueSchemas = schemas.flatMap(one => this.#validator.propertySchemas(one, name))
    if (valueSchemas.some(isNever))
      throw new SchemaError(at, `${JSON.stringify(name)} is required, and nothing may stand there`)
    this.#effort.countCharacters(name.length + 4, at)
    const value = this.generate(valueSchemas, depth + 1)
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  }

  #generateName({ schemas, at, depth }: GenerationContext, index: number): string {
    const nameSchemas = schemas.flatMap(one => one.propertyNames ?? [])
    if (nameSchemas.length > 0) {
      const name = this.generate([...nameSchemas, { type: ['string'] }], depth + 1)
      // A name of any text reads better as a single word.
      if (nameSchemas.some(({ type: _, ...more }) => Object.values(more).some(one => one !== undefined)))
        return name as string
    }
    const [source] = schemas.flatMap(one => Object.keys(one.patternProperties ?? {}))
    if (source === undefined) return index === 0 ? this.#effort.drawWords(1).toLowerCase() : `key_${index}`
    const pattern = new Pattern(source, at)
    const name = generateString([{ pattern: source }], this.#effort, at)
    const longer = `${name}${this.#effort.drawWord()}`
    return longer.length <= pattern.maxLength && pattern.matches(longer) ? longer : name
  }

  #array({ schemas, at, depth }: GenerationContext): JsonValue {
    const effort = this.#effort
    const lengths = schemas.map(one => one.prefixItems?.length ?? 0)
    const tupleLength = Math.max(...lengths)
    const closedLengths = lengths.filter((_, nth) => isNever(schemas[nth]!.items))
    const [minCount, declaredMax] = countRange(schemas, 'Items')
    const maxCount = Math.min(declaredMax, ...closedLengths)
    if (minCount > maxCount) throw new SchemaError(at, `minItems is ${minCount}, and it has ${maxCount} items at most`)
    // A tuple without a schema for further items gets no further items.
    const isTuple = tupleLength > 0 && schemas.every(({ items }) => items === undefined)
    const hasMore = closedLengths.length === 0 && !isTuple
    const defaultLength = effort.isLargeEnough(depth) ? 0 : tupleLength + (hasMore ? 1 + effort.drawInteger(3) : 0)
    const length = Math.min(maxCount, Math.max(minCount, defaultLength))
    const isUnique = schemas.some(one => one.uniqueItems === true)
    const { span } = effort
    if (isUnique) effort.span = Math.max(span, 4 * length)
    const items = new Map<string, JsonValue>()
    let failure: SchemaError | undefined
    for (let tries = 0; items.size < length && tries <= MAX_DUPLICATE_ITEMS && failure === undefined; tries++) {
      effort.countCharacters(2, at)
      failure = failureOf(() => {
        const nth = items.size
        const itemSchemas = schemas.flatMap(one => one.prefixItems?.[nth] ?? one.items ?? [])
        const item = this.generate(itemSchemas, depth + 1)
        items.set(isUnique ? JSON.stringify(item) : String(nth), item)
        if (items.size > nth) tries = 0
      })
    }
    effort.span = span
    if (items.size < minCount) throw failure ?? new SchemaError(at, `there are no ${minCount} different items`)
    return [...items.values()]
  }

  #fits(parts: readonly SchemaObject[], value: JsonValue): boolean {
    return parts.every(one => this.#validator.isValid(one, value))
  }
}

/** Runs a step. Returns its error if it finds no value. */
function failureOf(step: () => void): SchemaError | undefined {
  try {
    step()
  } catch (error) {
    if (!(error instanceof SchemaError) || error instanceof EffortLimitError) throw error
    return error
  }
}

/** Returns whether a schema is `false`. */
const isNever = (schema: SchemaObject | undefined) => schema?.anyOf?.length === 0
