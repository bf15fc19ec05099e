import type { LocatedSchema } from './branches.ts'
import { EffortLimitError, type JsonSchema, type JsonValue, SchemaError, type SchemaObject } from './document.ts'
import { MAX_DEPTH } from './effort.ts'
import {
  type Generation,
  type GenerationContext,
  maxOfKeyword,
  minOfKeyword,
  REQUIRED_ONLY_ROUND,
  schemasOf,
} from './generation.ts'
import { generateString } from './strings.ts'
import { dependentEntries, propertySchemas } from './validate.ts'

/** Generates objects: their properties by name, by pattern and without a name. */
export class ObjectGenerator {
  readonly #generation: Generation

  constructor(generation: Generation) {
    this.#generation = generation
  }

  generate(context: GenerationContext): JsonValue {
    const { at, depth } = context
    if (depth > 3 * MAX_DEPTH) throw new SchemaError(at, 'it requires itself without end')
    const schemas = schemasOf(context)
    const declared = schemas.flatMap(({ properties }) => Object.keys((properties ?? {}) as object))
    const required = addDependents(schemas, new Set(schemas.flatMap(one => (one.required ?? []) as string[])))
    const minCount = maxOfKeyword(schemas, 'minProperties', 0)
    const maxCount = minOfKeyword(schemas, 'maxProperties')
    if (required.size > maxCount)
      throw new SchemaError(at, `maxProperties is ${maxCount}, and it requires ${required.size}`)
    if (minCount > this.#generation.effort.maxValues)
      throw new EffortLimitError(
        at,
        `minProperties is ${minCount}: an answer has ${this.#generation.effort.maxValues} values at most`,
      )
    const names = [...new Set([...declared, ...required])]
    const chosenNames = this.#chooseProperties(context, names, required, maxCount)
    const object: Record<string, JsonValue> = {}
    for (const name of names) {
      if (!chosenNames.has(name)) continue
      try {
        this.#addProperty(context, object, name)
      } catch (error) {
        if (required.has(name) || !(error instanceof SchemaError) || error instanceof EffortLimitError) throw error
        // An optional property without a fitting value is left out.
      }
    }
    const allowsMore = schemas.some(
      one => typeof one.additionalProperties === 'object' || one.patternProperties !== undefined,
    )
    // A map without named properties gets one entry, so that it is not empty.
    const extraCount =
      names.length === 0 &&
      minCount === 0 &&
      maxCount > 0 &&
      allowsMore &&
      !this.#generation.effort.isLargeEnough(depth) &&
      context.round === 0
        ? 1
        : 0
    this.#addUnnamedProperties(context, object, Math.max(minCount, extraCount), minCount)
    if (context.round > REQUIRED_ONLY_ROUND) this.#addConflictingProperties(context, object, maxCount)
    return object
  }

  /**
   * Chooses the properties: all in the first round, required ones in one round, and random ones in the other rounds.
   */
  #chooseProperties(
    { forbiddenNames, depth, round }: GenerationContext,
    names: readonly string[],
    required: ReadonlySet<string>,
    maxCount: number,
  ): Set<string> {
    let optional = Math.min(maxCount, names.length) - required.size
    const chosenNames = names.filter(name => {
      if (required.has(name)) return true
      // Models fill in optional properties. Recursive schemas have to terminate.
      if (forbiddenNames.has(name) || this.#generation.effort.isLargeEnough(depth) || round === REQUIRED_ONLY_ROUND)
        return false
      return (round === 0 || this.#generation.effort.drawInteger(2) === 1) && optional-- > 0
    })
    return new Set(chosenNames)
  }

  /** Adds properties that other branches name, of another type, so that these branches do not fit. */
  #addConflictingProperties(
    { unchosenNames, forbiddenNames, locatedSchemas, at }: GenerationContext,
    object: Record<string, JsonValue>,
    maxCount: number,
  ): void {
    for (const name of unchosenNames) {
      const isFree = locatedSchemas.every(
        ({ schema }) =>
          propertySchemas(schema, name, source => this.#generation.validator.pattern(source)).length === 0,
      )
      if (!isFree || Object.hasOwn(object, name) || forbiddenNames.has(name) || Object.keys(object).length >= maxCount)
        continue
      this.#generation.effort.countCharacters(name.length + 10, at)
      const value = [null, true, this.#generation.effort.drawInteger(100), this.#generation.effort.drawWords(2)][
        this.#generation.effort.drawInteger(4)
      ]!
      Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
    }
  }

  #addProperty(context: GenerationContext, object: Record<string, JsonValue>, name: string): void {
    const { locatedSchemas, at, depth, forbiddenNames } = context
    if (forbiddenNames.has(name))
      throw new SchemaError(at, `${JSON.stringify(name)} is required, and must not be there`)
    const valueSchemas = locatedSchemas.flatMap(({ schema, at: from }) =>
      propertySchemas(schema, name, source => this.#generation.validator.pattern(source, from)).map(one => ({
        schema: one.schema,
        at: `${from}/${one.keyword}${one.keyword === 'additionalProperties' ? '' : `/${name}`}`,
      })),
    )
    for (const { schema, at: from } of locatedSchemas) {
      if (
        schema.propertyNames !== undefined &&
        !this.#generation.validator.isValid(schema.propertyNames as JsonSchema, name)
      ) {
        throw new SchemaError(from, `propertyNames does not allow ${JSON.stringify(name)}`)
      }
      if (valueSchemas.length === 0 && schema.unevaluatedProperties !== undefined) {
        valueSchemas.push({ schema: schema.unevaluatedProperties as JsonSchema, at: `${from}/unevaluatedProperties` })
      }
    }
    if (valueSchemas.some(one => one.schema === false)) {
      throw new SchemaError(at, `${JSON.stringify(name)} is required, and nothing may stand there`)
    }
    this.#generation.effort.countCharacters(name.length + 4, at)
    const value = this.#generation.value(valueSchemas, valueSchemas[0]?.at ?? `${at}/properties/${name}`, depth + 1)
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  }

  /** Adds properties that the schema does not name, until there are enough. */
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
      const name = this.#generation.value(
        [...nameSchemas, { schema: { type: 'string' }, at }],
        nameSchemas[0]!.at,
        depth + 1,
      )
      if (
        nameSchemas.some(({ schema }) => typeof schema === 'object' && Object.keys(schema).some(one => one !== 'type'))
      )
        return name as string
    }
    if (patterns.length > 0 && index % 3 !== 2) {
      const pattern = this.#generation.validator.pattern(patterns[index % patterns.length]!, at)
      const limits = {
        minLength: 0,
        maxLength: this.#generation.effort.maxCharacters,
        patterns: [pattern],
        formats: [],
        at,
      }
      const name = generateString(limits, this.#generation.effort.textSource, source =>
        this.#generation.validator.pattern(source),
      )
      const longer = `${name}${this.#generation.effort.textSource.word()}`
      return pattern.matches(longer) ? longer : name
    }
    return index === 0 ? this.#generation.effort.drawWords(1).toLowerCase() : `key_${index}`
  }
}

/** Adds the names that `dependentRequired` adds to these names. */
function addDependents(schemas: readonly SchemaObject[], names: Set<string>): Set<string> {
  const dependencies = schemas.flatMap(dependentEntries)
  for (const name of names) {
    for (const [from, others] of dependencies) {
      if (from === name && Array.isArray(others)) for (const one of others) names.add(one)
    }
  }
  return names
}
