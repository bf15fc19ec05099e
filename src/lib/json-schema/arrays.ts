import type { LocatedSchema } from './branches.ts'
import { EffortLimitError, type JsonSchema, type JsonValue, SchemaError } from './document.ts'
import {
  type Generation,
  type GenerationContext,
  maxOfKeyword,
  minOfKeyword,
  REQUIRED_ONLY_ROUND,
  schemasOf,
} from './generation.ts'
import { arrayItems } from './validate.ts'

/** Repeated items in a row after which an array with unique items ends. */
const MAX_DUPLICATE_ITEMS = 200

/** The number of items that an array still has to contain by `contains`. */
interface ContainsQuota extends LocatedSchema {
  remaining: number
}

interface ItemsPlan {
  readonly at: string
  readonly depth: number
  readonly minCount: number
  readonly length: number
  readonly isUnique: boolean
  /** Returns the schemas of the item at this index. */
  readonly schemasOfItem: (nth: number) => readonly LocatedSchema[]
  readonly quotas: readonly ContainsQuota[]
}

/** Generates arrays: tuples, lists, unique items and items that the array has to contain. */
export class ArrayGenerator {
  readonly #generation: Generation

  constructor(generation: Generation) {
    this.#generation = generation
  }

  generate(context: GenerationContext): JsonValue {
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
    if (minCount > this.#generation.effort.maxValues)
      throw new EffortLimitError(
        at,
        `minItems is ${minCount}: an answer has ${this.#generation.effort.maxValues} values at most`,
      )
    // A tuple without a schema for further items gets no further items.
    const isTuple = tupleLength > 0 && lists.every(({ rest }) => rest === undefined)
    const defaultLength =
      this.#generation.effort.isLargeEnough(depth) || round === REQUIRED_ONLY_ROUND
        ? 0
        : tupleLength + (isClosed || isTuple ? 0 : 1 + this.#generation.effort.drawInteger(3))
    const quotas = locatedSchemas.flatMap(({ schema, at: from }) => {
      const { contains, minContains = 1 } = schema as { contains?: JsonSchema; minContains?: number }
      return contains === undefined ? [] : [{ schema: contains, at: `${from}/contains`, remaining: minContains }]
    })
    const requiredContains = quotas.reduce((sum, { remaining }) => sum + remaining, 0)
    if (requiredContains > this.#generation.effort.maxValues)
      throw new EffortLimitError(
        at,
        `minContains is ${requiredContains}: an answer has ${this.#generation.effort.maxValues} values at most`,
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
    const span = this.#generation.effort.span
    if (isUnique) this.#generation.effort.span = Math.max(span, 4 * length)
    try {
      return this.#items({ at, depth, minCount, length, isUnique, schemasOfItem, quotas })
    } finally {
      this.#generation.effort.span = span
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

  /** Returns an item that `contains` requires, if one fits here, or any item. */
  #item(
    itemSchemas: readonly LocatedSchema[],
    quotas: readonly ContainsQuota[],
    depth: number,
  ): { value: JsonValue; quota: ContainsQuota | undefined } {
    const { at } = itemSchemas[0]!
    this.#generation.effort.countCharacters(2, at)
    for (const met of quotas) {
      if (met.remaining <= 0) continue
      try {
        return { value: this.#generation.value([...itemSchemas, met], at, depth + 1), quota: met }
      } catch (error) {
        if (!(error instanceof SchemaError) || error instanceof EffortLimitError) throw error
      }
    }
    return { value: this.#generation.value(itemSchemas, at, depth + 1), quota: undefined }
  }
}
