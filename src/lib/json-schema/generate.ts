/** Values that fit a JSON Schema, drawn from a key: what a model says that was told to answer by one. */
import { type GenerationPlan, type LocatedSchema, planGeneration } from './branches.ts'
import {
  EffortLimitError,
  type JsonSchema,
  type JsonValue,
  SchemaDocument,
  SchemaError,
  type SchemaObject,
} from './document.ts'
import { formatPattern, type TextSource } from './formats.ts'
import { generateNumber } from './numbers.ts'
import { generateString } from './strings.ts'
import { arrayItems, dependentEntries, propertySchemas, SchemaValidator } from './validate.ts'

export { type JsonSchema, type JsonValue, SchemaError } from './document.ts'

/** How deep an answer goes where its schema refers to itself; beyond it everything optional is left out. */
const MAX_DEPTH = 6
/** Values in an answer beyond which everything optional is left out. */
const MAX_VALUES_WITH_OPTIONAL = 200
/** What the answers to one request have at most, about what the context of a model holds; an answer may have the second. */
const MAX_VALUES = [10_000, 1000] as const
const MAX_CHARACTERS = [100_000, 20_000] as const
/** Steps that may be spent on them, which take well under a second. */
const MAX_STEPS = [1_000_000, 50_000] as const
/** How often a value is made anew that does not fit. */
const MAX_ATTEMPTS = 64
/** The rounds of attempts, and that in which nothing is there that need not be. */
const MAX_ROUNDS = 8
const REQUIRED_ONLY_ROUND = 3
/** Items drawn in vain before there are taken to be no more different ones. */
const MAX_DUPLICATE_ITEMS = 200
/** Of how many steps a number is drawn that is bound on one side alone. */
const DEFAULT_SPAN = 100

/** Draws of one value. Each gives the same result for the same arguments; `index` counts the draws of a value. */
export interface ValueDraws {
  /** Returns an integer from 0 to `count` - 1. */
  readonly integer: (count: number, index: number) => number
  /** Returns `length` hexadecimal digits. */
  readonly hex: (length: number, index: number) => string
  /** Returns a text of about `words` words; the same seed gives the same text. */
  readonly text: (words: number, seed: string) => string
}

/**
 * A value that fits a schema, the same for the same draws: whatever it returns was validated.
 *
 * It understands JSON Schema 2020-12, and draft 7 where that says it in another way; references lead within the schema.
 * A value is made by all that its schemas say of its type, and where it does not fit them in the end (`not`, `oneOf`,
 * conditions, …) by other branches, fewer properties and other draws, in bounded time.
 *
 * @param asked what it has to fit besides, and how many answers are made at once
 * @throws SchemaError for what it cannot fit, with the place
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

/** What is made, and where. */
interface GenerationContext extends GenerationPlan {
  readonly at: string
  readonly depth: number
  /** Rounds of attempts that failed before. */
  readonly round: number
}

class ValueGenerator {
  readonly #schema: JsonSchema
  readonly #document: SchemaDocument
  readonly #validator: SchemaValidator
  readonly #draws: ValueDraws
  readonly #textSource: TextSource = {
    below: count => this.#drawInteger(count),
    word: () => this.#drawWords(2).split(/\W/)[0]!.toLowerCase(),
    hex: length => this.#drawHex(length),
  }
  readonly #maxValues: number
  readonly #maxCharacters: number
  readonly #maxSteps: number
  #drawCount = 0
  #stepCount = 0
  #currentPointer = ''
  #span = DEFAULT_SPAN
  #valueCount = 0
  #characterCount = 0

  constructor(schema: JsonSchema, draws: ValueDraws, answers: number) {
    const share = ([all, one]: readonly [number, number]) => Math.max(one, Math.floor(all / answers))
    this.#maxValues = share(MAX_VALUES)
    this.#maxCharacters = share(MAX_CHARACTERS)
    this.#maxSteps = share(MAX_STEPS)
    this.#schema = schema
    this.#draws = draws
    this.#document = new SchemaDocument(schema)
    this.#validator = new SchemaValidator(this.#document, steps => this.#countSteps(steps))
  }

  generate(within: JsonSchema): JsonValue {
    const parts = [{ schema: this.#schema, at: '' }]
    return this.#value(within === true ? parts : [...parts, { schema: within, at: '' }], '', 0)
  }

  /** A value that fits all of these schemas: way by way through their branches, until one leads to it. */
  #value(parts: readonly LocatedSchema[], at: string, depth: number): JsonValue {
    const firstBranches = new Map<unknown, number>()
    const firstBranch = (of: unknown, count: number) => {
      const drawn = firstBranches.get(of) ?? this.#drawInteger(count)
      firstBranches.set(of, drawn)
      return drawn
    }
    const [values, characters] = [this.#valueCount, this.#characterCount]
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
        this.#valueCount = values
        this.#characterCount = characters
        this.#currentPointer = at
        this.#countSteps(20)
        try {
          const plan = planGeneration(parts, this.#document, {
            path,
            firstBranch,
            prefersPlain: this.#isLargeEnough(depth),
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
    this.#valueCount++
    if (this.#valueCount > this.#maxValues)
      throw new EffortLimitError(at, `an answer has ${this.#maxValues} values at most`)
    if (locatedSchemas.length === 0) return this.#drawWords(3)
    switch (type) {
      case undefined:
        return this.#chooseListed(context, schemas)
      case 'object':
        return this.#object(context)
      case 'array':
        return this.#array(context)
      case 'string':
        return this.#string(context)
      case 'integer':
      case 'number':
        return generateNumber(schemasOf(context), type, count => this.#drawInteger(count), this.#span, at)
      case 'boolean':
        return this.#drawInteger(2) === 1
      default:
        return null
    }
  }

  /** One of the values that are listed. */
  #chooseListed({ locatedSchemas, at }: GenerationContext, schemas: readonly LocatedSchema[]): JsonValue {
    const { schema } =
      locatedSchemas.find(part => part.schema.const !== undefined) ??
      locatedSchemas.find(part => part.schema.enum !== undefined)!
    const listed = schema.const !== undefined ? [schema.const as JsonValue] : (schema.enum as JsonValue[])
    const first = schema.const !== undefined ? 0 : this.#drawInteger(listed.length)
    const candidates = [...listed.slice(first), ...listed.slice(0, first)]
    const value = candidates.find(one => this.#fits(schemas, one))
    if (value === undefined) throw new SchemaError(at, 'none of the values that it lists fits')
    this.#countCharacters(JSON.stringify(value).length, at)
    return value
  }

  #object(context: GenerationContext): JsonValue {
    const { at, depth } = context
    if (depth > 3 * MAX_DEPTH) throw new SchemaError(at, 'it requires itself without end')
    const schemas = schemasOf(context)
    const declared = schemas.flatMap(({ properties }) => Object.keys((properties ?? {}) as object))
    const required = addDependents(schemas, new Set(schemas.flatMap(one => (one.required ?? []) as string[])))
    const minCount = maxOfKeyword(schemas, 'minProperties', 0)
    const maxCount = minOfKeyword(schemas, 'maxProperties')
    if (required.size > maxCount)
      throw new SchemaError(at, `maxProperties is ${maxCount}, and it requires ${required.size}`)
    if (minCount > this.#maxValues)
      throw new EffortLimitError(at, `minProperties is ${minCount}: an answer has ${this.#maxValues} values at most`)
    const names = [...new Set([...declared, ...required])]
    const chosenNames = this.#chooseProperties(context, names, required, maxCount)
    const object: Record<string, JsonValue> = {}
    for (const name of names) {
      if (!chosenNames.has(name)) continue
      try {
        this.#addProperty(context, object, name)
      } catch (error) {
        if (required.has(name) || !(error instanceof SchemaError) || error instanceof EffortLimitError) throw error
        // What nothing fits is left out where it may be.
      }
    }
    const allowsMore = schemas.some(
      one => typeof one.additionalProperties === 'object' || one.patternProperties !== undefined,
    )
    // A map without named properties says something all the same.
    const extraCount =
      names.length === 0 &&
      minCount === 0 &&
      maxCount > 0 &&
      allowsMore &&
      !this.#isLargeEnough(depth) &&
      context.round === 0
        ? 1
        : 0
    this.#addUnnamedProperties(context, object, Math.max(minCount, extraCount), minCount)
    if (context.round > REQUIRED_ONLY_ROUND) this.#addConflictingProperties(context, object, maxCount)
    return object
  }

  /** The properties that are filled in: all, then some, then only those that must be there, then some again. */
  #chooseProperties(
    { forbiddenNames, depth, round }: GenerationContext,
    names: readonly string[],
    required: ReadonlySet<string>,
    maxCount: number,
  ): Set<string> {
    let optional = Math.min(maxCount, names.length) - required.size
    const chosenNames = names.filter(name => {
      if (required.has(name)) return true
      // A model that is asked by a schema fills in what it can, down to where it would never end.
      if (forbiddenNames.has(name) || this.#isLargeEnough(depth) || round === REQUIRED_ONLY_ROUND) return false
      return (round === 0 || this.#drawInteger(2) === 1) && optional-- > 0
    })
    return new Set(chosenNames)
  }

  /** Adds what may keep other branches from fitting: properties that they name, of some other type. */
  #addConflictingProperties(
    { unchosenNames, forbiddenNames, locatedSchemas, at }: GenerationContext,
    object: Record<string, JsonValue>,
    maxCount: number,
  ): void {
    for (const name of unchosenNames) {
      const isFree = locatedSchemas.every(
        ({ schema }) => propertySchemas(schema, name, source => this.#validator.pattern(source)).length === 0,
      )
      if (!isFree || Object.hasOwn(object, name) || forbiddenNames.has(name) || Object.keys(object).length >= maxCount)
        continue
      this.#countCharacters(name.length + 10, at)
      const value = [null, true, this.#drawInteger(100), this.#drawWords(2)][this.#drawInteger(4)]!
      Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
    }
  }

  #addProperty(context: GenerationContext, object: Record<string, JsonValue>, name: string): void {
    const { locatedSchemas, at, depth, forbiddenNames } = context
    if (forbiddenNames.has(name))
      throw new SchemaError(at, `${JSON.stringify(name)} is required, and must not be there`)
    const valueSchemas = locatedSchemas.flatMap(({ schema, at: from }) =>
      propertySchemas(schema, name, source => this.#validator.pattern(source, from)).map(one => ({
        schema: one.schema,
        at: `${from}/${one.keyword}${one.keyword === 'additionalProperties' ? '' : `/${name}`}`,
      })),
    )
    for (const { schema, at: from } of locatedSchemas) {
      if (schema.propertyNames !== undefined && !this.#validator.isValid(schema.propertyNames as JsonSchema, name)) {
        throw new SchemaError(from, `propertyNames does not allow ${JSON.stringify(name)}`)
      }
      if (valueSchemas.length === 0 && schema.unevaluatedProperties !== undefined) {
        valueSchemas.push({ schema: schema.unevaluatedProperties as JsonSchema, at: `${from}/unevaluatedProperties` })
      }
    }
    if (valueSchemas.some(one => one.schema === false)) {
      throw new SchemaError(at, `${JSON.stringify(name)} is required, and nothing may stand there`)
    }
    this.#countCharacters(name.length + 4, at)
    const value = this.#value(valueSchemas, valueSchemas[0]?.at ?? `${at}/properties/${name}`, depth + 1)
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  }

  /** Adds properties that have no name of their own, until there are enough. */
  #addUnnamedProperties(
    context: GenerationContext,
    object: Record<string, JsonValue>,
    targetCount: number,
    minCount: number,
  ): void {
    const { locatedSchemas, at, depth, forbiddenNames } = context
    const nameSchemas = locatedSchemas.flatMap(({ schema, at: from }) =>
      schema.propertyNames === undefined
        ? []
        : [{ schema: schema.propertyNames as JsonSchema, at: `${from}/propertyNames` }],
    )
    const patterns = locatedSchemas.flatMap(({ schema }) => Object.keys((schema.patternProperties ?? {}) as object))
    let failure: SchemaError | undefined
    let count = Object.keys(object).length
    for (let index = 1; count < targetCount && index < 3 * targetCount + 32; index++) {
      try {
        const name = this.#generateName(nameSchemas, patterns, minCount === 0 ? 0 : index, at, depth)
        if (Object.hasOwn(object, name) || forbiddenNames.has(name)) continue
        this.#addProperty(context, object, name)
        count++
      } catch (error) {
        if (!(error instanceof SchemaError) || error instanceof EffortLimitError) throw error
        failure ??= error
      }
    }
    if (count < minCount)
      throw failure ?? new SchemaError(at, `minProperties is ${minCount}, and it has fewer properties`)
  }

  #generateName(
    nameSchemas: readonly LocatedSchema[],
    patterns: readonly string[],
    index: number,
    at: string,
    depth: number,
  ): string {
    if (nameSchemas.length > 0 && index % 3 !== 1) {
      const name = this.#value([...nameSchemas, { schema: { type: 'string' }, at }], nameSchemas[0]!.at, depth + 1)
      if (
        nameSchemas.some(({ schema }) => typeof schema === 'object' && Object.keys(schema).some(one => one !== 'type'))
      )
        return name as string
    }
    if (patterns.length > 0 && index % 3 !== 2) {
      const pattern = this.#validator.pattern(patterns[index % patterns.length]!, at)
      const limits = { minLength: 0, maxLength: this.#maxCharacters, patterns: [pattern], formats: [], at }
      const name = generateString(limits, this.#textSource, source => this.#validator.pattern(source))
      const longer = `${name}${this.#textSource.word()}`
      return pattern.matches(longer) ? longer : name
    }
    return index === 0 ? this.#drawWords(1).toLowerCase() : `key_${index}`
  }

  #array(context: GenerationContext): JsonValue {
    const { locatedSchemas, at, depth, round } = context
    const schemas = schemasOf(context)
    const lists = locatedSchemas.map(({ schema, at: from }) => ({ schema, at: from, ...arrayItems(schema) }))
    const tupleLength = Math.max(...lists.map(list => list.first.length))
    const isClosed = lists.some(
      ({ rest, schema }) => rest === false || (rest === undefined && schema.unevaluatedItems === false),
    )
    const minCount = maxOfKeyword(schemas, 'minItems', 0)
    const maxPrefixLength = Math.min(
      ...lists.map(({ rest, first: own }) => (rest === false ? own.length : Number.POSITIVE_INFINITY)),
    )
    const maxCount = Math.min(minOfKeyword(schemas, 'maxItems'), maxPrefixLength)
    if (minCount > maxCount) throw new SchemaError(at, `minItems is ${minCount}, and it has ${maxCount} items at most`)
    if (minCount > this.#maxValues)
      throw new EffortLimitError(at, `minItems is ${minCount}: an answer has ${this.#maxValues} values at most`)
    // What a tuple says nothing of is not there.
    const isTuple = tupleLength > 0 && lists.every(({ rest }) => rest === undefined)
    const defaultLength =
      this.#isLargeEnough(depth) || round === REQUIRED_ONLY_ROUND
        ? 0
        : tupleLength + (isClosed || isTuple ? 0 : 1 + this.#drawInteger(3))
    const quotas = locatedSchemas.flatMap(({ schema, at: from }) => {
      const { contains, minContains = 1 } = schema as { contains?: JsonSchema; minContains?: number }
      return contains === undefined ? [] : [{ schema: contains, at: `${from}/contains`, remaining: minContains }]
    })
    const requiredContains = quotas.reduce((sum, { remaining }) => sum + remaining, 0)
    if (requiredContains > this.#maxValues)
      throw new EffortLimitError(
        at,
        `minContains is ${requiredContains}: an answer has ${this.#maxValues} values at most`,
      )
    const length = Math.min(
      maxCount,
      Math.max(
        minCount,
        defaultLength,
        requiredContains === 0 ? 0 : requiredContains + (round % 4 === 0 ? tupleLength : round % 4),
      ),
    )
    const isUnique = schemas.some(one => one.uniqueItems === true)
    const schemasOfItem = (nth: number) =>
      lists.flatMap(({ first: own, rest, schema, at: from }) => {
        const item = own[nth] ?? rest ?? (schema.unevaluatedItems as JsonSchema | undefined)
        return item === undefined ? [] : [{ schema: item, at: `${from}/items` }]
      })
    const span = this.#span
    if (isUnique) this.#span = Math.max(span, 4 * length)
    try {
      return this.#items({ at, depth, minCount, length, isUnique, schemasOfItem, quotas })
    } finally {
      this.#span = span
    }
  }

  #items({ at, depth, minCount, length, isUnique, schemasOfItem, quotas }: ItemsPlan): JsonValue[] {
    const items: JsonValue[] = []
    const knownItems = new Set<string>()
    for (let duplicates = 0; items.length < length; ) {
      const itemSchemas = schemasOfItem(items.length)
      let item: { value: JsonValue; quota: ContainsQuota | undefined }
      try {
        item = this.#item(itemSchemas.length === 0 ? [{ schema: true, at: `${at}/items` }] : itemSchemas, quotas, depth)
      } catch (error) {
        if (items.length < minCount || !(error instanceof SchemaError) || error instanceof EffortLimitError) throw error
        break
      }
      if (isUnique) {
        const text = JSON.stringify(item.value)
        if (knownItems.has(text)) {
          if (duplicates++ < MAX_DUPLICATE_ITEMS) continue
          if (items.length >= minCount) break
          throw new SchemaError(at, `there are no ${minCount} different items`)
        }
        knownItems.add(text)
        duplicates = 0
      }
      if (item.quota !== undefined) item.quota.remaining--
      items.push(item.value)
    }
    return items
  }

  /** An item: one that the array has to contain, where that may stand here, or any. */
  #item(
    itemSchemas: readonly LocatedSchema[],
    quotas: readonly ContainsQuota[],
    depth: number,
  ): { value: JsonValue; quota: ContainsQuota | undefined } {
    const { at } = itemSchemas[0]!
    this.#countCharacters(2, at)
    for (const met of quotas) {
      if (met.remaining <= 0) continue
      try {
        return { value: this.#value([...itemSchemas, met], at, depth + 1), quota: met }
      } catch (error) {
        if (!(error instanceof SchemaError) || error instanceof EffortLimitError) throw error
      }
    }
    return { value: this.#value(itemSchemas, at, depth + 1), quota: undefined }
  }

  #string(context: GenerationContext): string {
    const { locatedSchemas, at } = context
    const schemas = schemasOf(context)
    const minLength = maxOfKeyword(schemas, 'minLength', 0)
    const maxLength = minOfKeyword(schemas, 'maxLength')
    if (minLength > maxLength) throw new SchemaError(at, `minLength is ${minLength} and maxLength ${maxLength}`)
    if (minLength > this.#maxCharacters)
      throw new EffortLimitError(
        at,
        `minLength is ${minLength}: an answer has ${this.#maxCharacters} characters at most`,
      )
    const patterns = locatedSchemas.flatMap(({ schema, at: from }) =>
      schema.pattern === undefined ? [] : [this.#validator.pattern(schema.pattern as string, from)],
    )
    const formats = schemas.flatMap(({ format }) =>
      formatPattern(String(format)) === undefined ? [] : [String(format)],
    )
    const text =
      patterns.length + formats.length > 0
        ? generateString({ minLength, maxLength, patterns, formats, at }, this.#textSource, source =>
            this.#validator.pattern(source),
          )
        : this.#prose(minLength, maxLength)
    this.#countCharacters(text.length, at)
    return text
  }

  #prose(minLength: number, maxLength: number): string {
    let text = this.#drawWords(2 + this.#drawInteger(4)).replace(/\.$/, '')
    while (text.length < minLength) text += ` ${this.#drawWords(4).toLowerCase()}`
    if (text.length <= maxLength) return text
    return text.slice(0, maxLength).trimEnd().padEnd(minLength, 'a')
  }

  #fits(parts: readonly LocatedSchema[], value: JsonValue): boolean {
    return parts.every(({ schema }) => this.#validator.isValid(schema, value))
  }

  /** Whether there is enough of an answer, so that it comes to its end. */
  #isLargeEnough(depth: number): boolean {
    return depth >= MAX_DEPTH || this.#valueCount >= MAX_VALUES_WITH_OPTIONAL
  }

  #countCharacters(characters: number, at: string): void {
    this.#characterCount += characters
    if (this.#characterCount > this.#maxCharacters) {
      throw new EffortLimitError(at, `an answer has ${this.#maxCharacters} characters at most`)
    }
  }

  #countSteps(steps: number): void {
    this.#stepCount += steps
    if (this.#stepCount > this.#maxSteps)
      throw new EffortLimitError(this.#currentPointer, 'no value is found that fits, however long one tries')
  }

  #drawInteger(count: number): number {
    this.#countSteps(1)
    return this.#draws.integer(count, this.#drawCount++)
  }

  #drawHex(length: number): string {
    this.#countSteps(20)
    return this.#draws.hex(length, ++this.#drawCount)
  }

  #drawWords(count: number): string {
    this.#countSteps(20)
    return this.#draws.text(count, this.#drawHex(16)).replace(/\.$/, '')
  }
}

/** What an array still has to contain. */
interface ContainsQuota extends LocatedSchema {
  remaining: number
}

interface ItemsPlan {
  readonly at: string
  readonly depth: number
  readonly minCount: number
  readonly length: number
  readonly isUnique: boolean
  /** What the item at this place has to fit. */
  readonly schemasOfItem: (nth: number) => readonly LocatedSchema[]
  readonly quotas: readonly ContainsQuota[]
}

function schemasOf({ locatedSchemas }: GenerationPlan): readonly SchemaObject[] {
  return locatedSchemas.map(({ schema }) => schema)
}

function maxOfKeyword(schemas: readonly SchemaObject[], keyword: string, fallback: number): number {
  return schemas.reduce((largest, one) => Math.max(largest, (one[keyword] as number | undefined) ?? fallback), fallback)
}

function minOfKeyword(schemas: readonly SchemaObject[], keyword: string): number {
  return schemas.reduce(
    (smallest, one) => Math.min(smallest, (one[keyword] as number | undefined) ?? smallest),
    Number.POSITIVE_INFINITY,
  )
}

/** Names with those that they bring with them. */
function addDependents(schemas: readonly SchemaObject[], names: Set<string>): Set<string> {
  const dependencies = schemas.flatMap(dependentEntries)
  for (const name of names) {
    for (const [from, others] of dependencies) {
      if (from === name && Array.isArray(others)) for (const one of others) names.add(one)
    }
  }
  return names
}
