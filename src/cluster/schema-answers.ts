/** Values that fit a JSON Schema, drawn from a key: what a model says that was told to answer by one. */
import { type Chance, type Key, purpose } from '../kernel/random.ts'
import { answerText } from './answers.ts'
import { type Drawing, formatPattern } from './format-texts.ts'
import {
  EffortError,
  type JsonSchema,
  type JsonValue,
  SchemaDocument,
  SchemaError,
  type SchemaObject,
} from './schema-document.ts'
import { numberWithin } from './schema-numbers.ts'
import { type Part, type Plan, planOf } from './schema-plan.ts'
import { fittingText } from './schema-texts.ts'
import { dependentsOf, itemsOf, propertySchemas, SchemaValidator } from './schema-validator.ts'

export { type JsonSchema, type JsonValue, SchemaError } from './schema-document.ts'

const SHAPE = purpose('answer.shape')
/** How deep an answer goes where its schema refers to itself; beyond it everything optional is left out. */
const DEEPEST = 6
/** Values in an answer beyond which everything optional is left out. */
const AMPLE = 200
/** What the answers to one request have at most, about what the context of a model holds; an answer may have the second. */
const MOST_VALUES = [10_000, 1000] as const
const MOST_CHARACTERS = [100_000, 20_000] as const
/** Steps that may be spent on them, which take well under a second. */
const MOST_STEPS = [1_000_000, 50_000] as const
/** How often a value is made anew that does not fit. */
const MOST_ATTEMPTS = 64
/** The rounds of attempts, and that in which nothing is there that need not be. */
const ROUNDS = 8
const BARE_ROUND = 3
/** Items drawn in vain before there are taken to be no more different ones. */
const MOST_ITEMS_DRAWN = 200
/** Of how many steps a number is drawn that is bound on one side alone. */
const SPAN = 100

/**
 * A value that fits a schema, the same for the same key: whatever it returns was validated.
 *
 * It understands JSON Schema 2020-12, and draft 7 where that says it in another way; references lead within the schema.
 * A value is made by all that its schemas say of its type, and where it does not fit them in the end (`not`, `oneOf`,
 * conditions, …) by other branches, fewer properties and other draws, in bounded time.
 *
 * @param asked what it has to fit besides, and how many answers are made at once
 * @throws SchemaError for what it cannot fit, with the place
 * @example answerFor({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }, chance, key)
 */
export function answerFor(
  schema: JsonSchema,
  chance: Chance,
  key: Key,
  { within = true, answers = 1 }: { readonly within?: JsonSchema; readonly answers?: number | undefined } = {},
): JsonValue {
  try {
    return new Writer(schema, chance, key, answers).answer(within)
  } catch (error) {
    if (error instanceof RangeError)
      throw new SchemaError('', 'it is nested too deep, or leads into itself without end')
    throw error
  }
}

/** What is made, and where. */
interface Making extends Plan {
  readonly at: string
  readonly depth: number
  /** Rounds of attempts that failed before. */
  readonly round: number
}

class Writer {
  readonly #schema: JsonSchema
  readonly #document: SchemaDocument
  readonly #validator: SchemaValidator
  readonly #chance: Chance
  readonly #key: Key
  readonly #drawing: Drawing = {
    below: count => this.#below(count),
    word: () => this.#words(2).split(/\W/)[0]!.toLowerCase(),
    hex: length => this.#hex(length),
  }
  readonly #mostValues: number
  readonly #mostCharacters: number
  readonly #mostSteps: number
  #drawn = 0
  #steps = 0
  #where = ''
  #span = SPAN
  #values = 0
  #characters = 0

  constructor(schema: JsonSchema, chance: Chance, key: Key, answers: number) {
    const share = ([all, one]: readonly [number, number]) => Math.max(one, Math.floor(all / answers))
    this.#mostValues = share(MOST_VALUES)
    this.#mostCharacters = share(MOST_CHARACTERS)
    this.#mostSteps = share(MOST_STEPS)
    this.#schema = schema
    this.#chance = chance
    this.#key = key
    this.#document = new SchemaDocument(schema)
    this.#validator = new SchemaValidator(this.#document, steps => this.#spend(steps))
  }

  answer(within: JsonSchema): JsonValue {
    const parts = [{ schema: this.#schema, at: '' }]
    return this.#value(within === true ? parts : [...parts, { schema: within, at: '' }], '', 0)
  }

  /** A value that fits all of these schemas: way by way through their branches, until one leads to it. */
  #value(parts: readonly Part[], at: string, depth: number): JsonValue {
    const firsts = new Map<unknown, number>()
    const first = (of: unknown, count: number) => {
      const drawn = firsts.get(of) ?? this.#below(count)
      firsts.set(of, drawn)
      return drawn
    }
    const [values, characters] = [this.#values, this.#characters]
    const dead = new Set<number>()
    let failure: SchemaError | undefined
    let ways = 1
    let attempts = 0
    const onWays = (count: number) => {
      ways = Math.max(ways, count)
    }
    for (let round = 0; round < ROUNDS && attempts < MOST_ATTEMPTS && dead.size < ways; round++) {
      for (let way = 0; way < ways && attempts < MOST_ATTEMPTS; way++) {
        if (dead.has(way)) continue
        attempts++
        this.#values = values
        this.#characters = characters
        this.#where = at
        this.#spend(20)
        try {
          const plan = planOf(parts, this.#document, { way, first, isPlain: this.#isEnough(depth), onWays })
          const value = this.#made({ ...plan, at, depth, round }, parts)
          const isSure = plan.hard.length === 0 && depth > 0 && typeof value === 'object' && value !== null
          if (isSure || this.#fits(parts, value)) return value
          const why = plan.hard.length > 0 ? plan.hard.join(', ') : 'what it says'
          failure ??= new SchemaError(at, `no value is known that fits ${why}`)
        } catch (error) {
          if (!(error instanceof SchemaError) || error instanceof EffortError) throw error
          failure ??= error
          dead.add(way)
        }
      }
    }
    throw failure!
  }

  #made(making: Making, whole: readonly Part[]): JsonValue {
    const { parts, type, at } = making
    this.#values++
    if (this.#values > this.#mostValues) throw new EffortError(at, `an answer has ${this.#mostValues} values at most`)
    if (parts.length === 0) return this.#words(3)
    switch (type) {
      case undefined:
        return this.#listed(making, whole)
      case 'object':
        return this.#object(making)
      case 'array':
        return this.#array(making)
      case 'string':
        return this.#string(making)
      case 'integer':
      case 'number':
        return numberWithin(schemasOf(making), type, count => this.#below(count), this.#span, at)
      case 'boolean':
        return this.#below(2) === 1
      default:
        return null
    }
  }

  /** One of the values that are listed. */
  #listed({ parts, at }: Making, whole: readonly Part[]): JsonValue {
    const { schema } =
      parts.find(part => part.schema.const !== undefined) ?? parts.find(part => part.schema.enum !== undefined)!
    const listed = schema.const !== undefined ? [schema.const as JsonValue] : (schema.enum as JsonValue[])
    const first = schema.const !== undefined ? 0 : this.#below(listed.length)
    const ordered = [...listed.slice(first), ...listed.slice(0, first)]
    const value = ordered.find(one => this.#fits(whole, one))
    if (value === undefined) throw new SchemaError(at, 'none of the values that it lists fits')
    this.#write(JSON.stringify(value).length, at)
    return value
  }

  #object(making: Making): JsonValue {
    const { at, depth } = making
    if (depth > 3 * DEEPEST) throw new SchemaError(at, 'it requires itself without end')
    const schemas = schemasOf(making)
    const named = schemas.flatMap(({ properties }) => Object.keys((properties ?? {}) as object))
    const required = withDependents(schemas, new Set(schemas.flatMap(one => (one.required ?? []) as string[])))
    const least = largestOf(schemas, 'minProperties', 0)
    const most = smallestOf(schemas, 'maxProperties')
    if (required.size > most) throw new SchemaError(at, `maxProperties is ${most}, and it requires ${required.size}`)
    if (least > this.#mostValues)
      throw new EffortError(at, `minProperties is ${least}: an answer has ${this.#mostValues} values at most`)
    const names = [...new Set([...named, ...required])]
    const wanted = this.#wanted(making, names, required, most)
    const found: Record<string, JsonValue> = {}
    for (const name of names) {
      if (!wanted.has(name)) continue
      try {
        this.#property(making, found, name)
      } catch (error) {
        if (required.has(name) || !(error instanceof SchemaError) || error instanceof EffortError) throw error
        // What nothing fits is left out where it may be.
      }
    }
    const more = schemas.some(
      one => typeof one.additionalProperties === 'object' || one.patternProperties !== undefined,
    )
    // A map without named properties says something all the same.
    const entries =
      names.length === 0 && least === 0 && most > 0 && more && !this.#isEnough(depth) && making.round === 0 ? 1 : 0
    this.#extended(making, found, Math.max(least, entries), least)
    if (making.round > BARE_ROUND) this.#contradicted(making, found, most)
    return found
  }

  /** The properties that are filled in: all, then some, then only those that must be there, then some again. */
  #wanted(
    { absent, depth, round }: Making,
    names: readonly string[],
    required: ReadonlySet<string>,
    most: number,
  ): Set<string> {
    let optional = Math.min(most, names.length) - required.size
    const wanted = names.filter(name => {
      if (required.has(name)) return true
      // A model that is asked by a schema fills in what it can, down to where it would never end.
      if (absent.has(name) || this.#isEnough(depth) || round === BARE_ROUND) return false
      return (round === 0 || this.#below(2) === 1) && optional-- > 0
    })
    return new Set(wanted)
  }

  /** Adds what may keep other branches from fitting: properties that they name, of some other type. */
  #contradicted({ others, absent, parts, at }: Making, found: Record<string, JsonValue>, most: number): void {
    for (const name of others) {
      const isFree = parts.every(
        ({ schema }) => propertySchemas(schema, name, source => this.#validator.pattern(source)).length === 0,
      )
      if (!isFree || Object.hasOwn(found, name) || absent.has(name) || Object.keys(found).length >= most) continue
      this.#write(name.length + 10, at)
      const value = [null, true, this.#below(100), this.#words(2)][this.#below(4)]!
      Object.defineProperty(found, name, { value, enumerable: true, configurable: true, writable: true })
    }
  }

  #property(making: Making, found: Record<string, JsonValue>, name: string): void {
    const { parts, at, depth, absent } = making
    if (absent.has(name)) throw new SchemaError(at, `${JSON.stringify(name)} is required, and must not be there`)
    const inner = parts.flatMap(({ schema, at: from }) =>
      propertySchemas(schema, name, source => this.#validator.pattern(source, from)).map(one => ({
        schema: one.schema,
        at: `${from}/${one.keyword}${one.keyword === 'additionalProperties' ? '' : `/${name}`}`,
      })),
    )
    for (const { schema, at: from } of parts) {
      if (schema.propertyNames !== undefined && !this.#validator.fits(schema.propertyNames as JsonSchema, name)) {
        throw new SchemaError(from, `propertyNames does not allow ${JSON.stringify(name)}`)
      }
      if (inner.length === 0 && schema.unevaluatedProperties !== undefined) {
        inner.push({ schema: schema.unevaluatedProperties as JsonSchema, at: `${from}/unevaluatedProperties` })
      }
    }
    if (inner.some(one => one.schema === false)) {
      throw new SchemaError(at, `${JSON.stringify(name)} is required, and nothing may stand there`)
    }
    this.#write(name.length + 4, at)
    const value = this.#value(inner, inner[0]?.at ?? `${at}/properties/${name}`, depth + 1)
    Object.defineProperty(found, name, { value, enumerable: true, configurable: true, writable: true })
  }

  /** Adds properties that have no name of their own, until there are enough. */
  #extended(making: Making, found: Record<string, JsonValue>, enough: number, least: number): void {
    const { parts, at, depth, absent } = making
    const limits = parts.flatMap(({ schema, at: from }) =>
      schema.propertyNames === undefined
        ? []
        : [{ schema: schema.propertyNames as JsonSchema, at: `${from}/propertyNames` }],
    )
    const patterns = parts.flatMap(({ schema }) => Object.keys((schema.patternProperties ?? {}) as object))
    let failure: SchemaError | undefined
    let count = Object.keys(found).length
    for (let nth = 1; count < enough && nth < 3 * enough + 32; nth++) {
      try {
        const name = this.#newName(limits, patterns, least === 0 ? 0 : nth, at, depth)
        if (Object.hasOwn(found, name) || absent.has(name)) continue
        this.#property(making, found, name)
        count++
      } catch (error) {
        if (!(error instanceof SchemaError) || error instanceof EffortError) throw error
        failure ??= error
      }
    }
    if (count < least) throw failure ?? new SchemaError(at, `minProperties is ${least}, and it has fewer properties`)
  }

  #newName(limits: readonly Part[], patterns: readonly string[], nth: number, at: string, depth: number): string {
    if (limits.length > 0 && nth % 3 !== 1) {
      const name = this.#value([...limits, { schema: { type: 'string' }, at }], limits[0]!.at, depth + 1)
      if (limits.some(({ schema }) => typeof schema === 'object' && Object.keys(schema).some(one => one !== 'type')))
        return name as string
    }
    if (patterns.length > 0 && nth % 3 !== 2) {
      const pattern = this.#validator.pattern(patterns[nth % patterns.length]!, at)
      const limits = { least: 0, most: this.#mostCharacters, patterns: [pattern], formats: [], at }
      const name = fittingText(limits, this.#drawing, source => this.#validator.pattern(source))
      const longer = `${name}${this.#drawing.word()}`
      return pattern.fits(longer) ? longer : name
    }
    return nth === 0 ? this.#words(1).toLowerCase() : `key_${nth}`
  }

  #array(making: Making): JsonValue {
    const { parts, at, depth, round } = making
    const schemas = schemasOf(making)
    const lists = parts.map(({ schema, at: from }) => ({ schema, at: from, ...itemsOf(schema) }))
    const first = Math.max(...lists.map(list => list.first.length))
    const isClosed = lists.some(
      ({ rest, schema }) => rest === false || (rest === undefined && schema.unevaluatedItems === false),
    )
    const least = largestOf(schemas, 'minItems', 0)
    const room = Math.min(
      ...lists.map(({ rest, first: own }) => (rest === false ? own.length : Number.POSITIVE_INFINITY)),
    )
    const most = Math.min(smallestOf(schemas, 'maxItems'), room)
    if (least > most) throw new SchemaError(at, `minItems is ${least}, and it has ${most} items at most`)
    if (least > this.#mostValues)
      throw new EffortError(at, `minItems is ${least}: an answer has ${this.#mostValues} values at most`)
    // What a tuple says nothing of is not there.
    const isTuple = first > 0 && lists.every(({ rest }) => rest === undefined)
    const usual =
      this.#isEnough(depth) || round === BARE_ROUND ? 0 : first + (isClosed || isTuple ? 0 : 1 + this.#below(3))
    const quotas = parts.flatMap(({ schema, at: from }) => {
      const { contains, minContains = 1 } = schema as { contains?: JsonSchema; minContains?: number }
      return contains === undefined ? [] : [{ schema: contains, at: `${from}/contains`, left: minContains }]
    })
    const contained = quotas.reduce((sum, { left }) => sum + left, 0)
    if (contained > this.#mostValues)
      throw new EffortError(at, `minContains is ${contained}: an answer has ${this.#mostValues} values at most`)
    const length = Math.min(
      most,
      Math.max(least, usual, contained === 0 ? 0 : contained + (round % 4 === 0 ? first : round % 4)),
    )
    const isUnique = schemas.some(one => one.uniqueItems === true)
    const inner = (nth: number) =>
      lists.flatMap(({ first: own, rest, schema, at: from }) => {
        const item = own[nth] ?? rest ?? (schema.unevaluatedItems as JsonSchema | undefined)
        return item === undefined ? [] : [{ schema: item, at: `${from}/items` }]
      })
    const span = this.#span
    if (isUnique) this.#span = Math.max(span, 4 * length)
    try {
      return this.#items({ at, depth, least, length, isUnique, inner, quotas })
    } finally {
      this.#span = span
    }
  }

  #items({ at, depth, least, length, isUnique, inner, quotas }: Items): JsonValue[] {
    const found: JsonValue[] = []
    const texts = new Set<string>()
    for (let tries = 0; found.length < length; ) {
      const any = inner(found.length)
      let item: { value: JsonValue; met: Quota | undefined }
      try {
        item = this.#item(any.length === 0 ? [{ schema: true, at: `${at}/items` }] : any, quotas, depth)
      } catch (error) {
        if (found.length < least || !(error instanceof SchemaError) || error instanceof EffortError) throw error
        break
      }
      if (isUnique) {
        const text = JSON.stringify(item.value)
        if (texts.has(text)) {
          if (tries++ < MOST_ITEMS_DRAWN) continue
          if (found.length >= least) break
          throw new SchemaError(at, `there are no ${least} different items`)
        }
        texts.add(text)
        tries = 0
      }
      if (item.met !== undefined) item.met.left--
      found.push(item.value)
    }
    return found
  }

  /** An item: one that the array has to contain, where that may stand here, or any. */
  #item(any: readonly Part[], quotas: readonly Quota[], depth: number): { value: JsonValue; met: Quota | undefined } {
    const { at } = any[0]!
    this.#write(2, at)
    for (const met of quotas) {
      if (met.left <= 0) continue
      try {
        return { value: this.#value([...any, met], at, depth + 1), met }
      } catch (error) {
        if (!(error instanceof SchemaError) || error instanceof EffortError) throw error
      }
    }
    return { value: this.#value(any, at, depth + 1), met: undefined }
  }

  #string(making: Making): string {
    const { parts, at } = making
    const schemas = schemasOf(making)
    const least = largestOf(schemas, 'minLength', 0)
    const most = smallestOf(schemas, 'maxLength')
    if (least > most) throw new SchemaError(at, `minLength is ${least} and maxLength ${most}`)
    if (least > this.#mostCharacters)
      throw new EffortError(at, `minLength is ${least}: an answer has ${this.#mostCharacters} characters at most`)
    const patterns = parts.flatMap(({ schema, at: from }) =>
      schema.pattern === undefined ? [] : [this.#validator.pattern(schema.pattern as string, from)],
    )
    const formats = schemas.flatMap(({ format }) =>
      formatPattern(String(format)) === undefined ? [] : [String(format)],
    )
    const text =
      patterns.length + formats.length > 0
        ? fittingText({ least, most, patterns, formats, at }, this.#drawing, source => this.#validator.pattern(source))
        : this.#prose(least, most)
    this.#write(text.length, at)
    return text
  }

  #prose(least: number, most: number): string {
    let text = this.#words(2 + this.#below(4)).replace(/\.$/, '')
    while (text.length < least) text += ` ${this.#words(4).toLowerCase()}`
    if (text.length <= most) return text
    return text.slice(0, most).trimEnd().padEnd(least, 'a')
  }

  #fits(parts: readonly Part[], value: JsonValue): boolean {
    return parts.every(({ schema }) => this.#validator.fits(schema, value))
  }

  /** Whether there is enough of an answer, so that it comes to its end. */
  #isEnough(depth: number): boolean {
    return depth >= DEEPEST || this.#values >= AMPLE
  }

  #write(characters: number, at: string): void {
    this.#characters += characters
    if (this.#characters > this.#mostCharacters) {
      throw new EffortError(at, `an answer has ${this.#mostCharacters} characters at most`)
    }
  }

  #spend(steps: number): void {
    this.#steps += steps
    if (this.#steps > this.#mostSteps)
      throw new EffortError(this.#where, 'no value is found that fits, however long one tries')
  }

  #below(count: number): number {
    this.#spend(1)
    return this.#chance.integer(count, this.#key, SHAPE, this.#drawn++)
  }

  #hex(length: number): string {
    this.#spend(20)
    return this.#chance.hex(length, this.#key, SHAPE + ++this.#drawn)
  }

  #words(count: number): string {
    this.#spend(20)
    const key = this.#chance.key('answer.words', this.#hex(16))
    return answerText(this.#chance, key, count).replace(/\.$/, '')
  }
}

/** What an array still has to contain. */
interface Quota extends Part {
  left: number
}

interface Items {
  readonly at: string
  readonly depth: number
  readonly least: number
  readonly length: number
  readonly isUnique: boolean
  /** What the item at this place has to fit. */
  readonly inner: (nth: number) => readonly Part[]
  readonly quotas: readonly Quota[]
}

function schemasOf({ parts }: Plan): readonly SchemaObject[] {
  return parts.map(({ schema }) => schema)
}

function largestOf(schemas: readonly SchemaObject[], keyword: string, otherwise: number): number {
  return schemas.reduce((found, one) => Math.max(found, (one[keyword] as number | undefined) ?? otherwise), otherwise)
}

function smallestOf(schemas: readonly SchemaObject[], keyword: string): number {
  return schemas.reduce(
    (found, one) => Math.min(found, (one[keyword] as number | undefined) ?? found),
    Number.POSITIVE_INFINITY,
  )
}

/** Names with those that they bring with them. */
function withDependents(schemas: readonly SchemaObject[], names: Set<string>): Set<string> {
  const needs = schemas.flatMap(dependentsOf)
  for (const name of names) {
    for (const [from, others] of needs) {
      if (from === name && Array.isArray(others)) for (const one of others) names.add(one)
    }
  }
  return names
}
