/** Maps the input and the output of an endpoint between neutral and vendor names. */
import { DEPLOYMENT_STATUSES } from '../../data/records/enums.ts'
import type { AnyEndpoint, ErrorShape } from '../endpoint.ts'
import { words } from '../fields.ts'
import {
  describeAccepted,
  explainExtraField,
  type InputLocation,
  type ValidationDetail,
} from '../http/validation-errors.ts'
import type { Names } from './names-profile.ts'
import { fieldsShape, inputShape, outputShape, type SchemaShape } from './schema-shape.ts'
import { paramsShape } from './vocabulary.ts'

interface MappedField {
  readonly neutral: string
  readonly vendor: string
  readonly mapping: SchemaMapping
}

type Target = 'neutral' | 'vendor'

/** The names of a schema in both directions, as a tree along its shape. */
export class SchemaMapping {
  /** Whether both names are equal, also below. */
  readonly isIdentity: boolean
  readonly #byNeutral: ReadonlyMap<string, MappedField>
  readonly #byVendor: ReadonlyMap<string, MappedField>
  readonly #words: Readonly<Record<Target, ReadonlyMap<string, string>>>
  readonly #additional: SchemaMapping | undefined
  readonly #items: SchemaMapping | undefined
  readonly #isWordList: boolean
  /** Names a path, which only answers have. */
  readonly #toVendorText: ((text: string) => string) | undefined

  constructor(shape: SchemaShape, names: Names, operation: string) {
    const mappingOf = (inner: SchemaShape) => new SchemaMapping(inner, names, operation)
    const fields = Array.from(shape.fields, ([neutral, inner]) => {
      return { neutral, vendor: names.fieldName(neutral, inner.places, operation), mapping: mappingOf(inner) }
    })
    const pairs = listWords(shape, names, operation).filter(([neutral, vendor]) => neutral !== vendor)
    this.#byNeutral = new Map(fields.map(field => [field.neutral, field]))
    this.#byVendor = new Map(fields.map(field => [field.vendor, field]))
    this.#words = { neutral: new Map(pairs.map(([neutral, vendor]) => [vendor, neutral])), vendor: new Map(pairs) }
    this.#additional = shape.additional && mappingOf(shape.additional)
    this.#items = shape.items && mappingOf(shape.items)
    this.#isWordList = shape.textRole === 'statuses'
    if (shape.textRole === 'path') this.#toVendorText = text => names.toVendorPath(text)
    if (shape.textRole === 'endpoint') this.#toVendorText = text => names.toVendorValue(text)
    this.isIdentity =
      pairs.length === 0 &&
      this.#toVendorText === undefined &&
      fields.every(({ neutral, vendor, mapping }) => neutral === vendor && mapping.isIdentity) &&
      [this.#additional, this.#items].every(inner => inner?.isIdentity !== false)
  }

  /** Returns a value with neutral names. If it has both names of a field, the vendor name counts. */
  toInternal(value: unknown): unknown {
    return this.#map(value, 'neutral')
  }

  /** Returns a value with vendor names. */
  toVendor(value: unknown): unknown {
    return this.#map(value, 'vendor')
  }

  /** Returns a JSON text with vendor names. */
  toVendorJson(text: string): string {
    return this.isIdentity ? text : JSON.stringify(this.toVendor(JSON.parse(text)))
  }

  /** Returns a path of fields and positions with vendor names. */
  toVendorFieldPath([step, ...rest]: readonly string[]): string[] {
    if (step === undefined) return []
    const named = this.#byNeutral.get(step)?.vendor ?? step
    return [named, ...(this.#stepInto(step)?.toVendorFieldPath(rest) ?? rest)]
  }

  /** Returns the vendor name of a word that the field at a path can have. */
  toVendorWord([step, ...rest]: readonly string[], word: unknown): unknown {
    if (step === undefined) return this.#words.vendor.get(word as string) ?? word
    return this.#stepInto(step)?.toVendorWord(rest, word) ?? word
  }

  /** Yields the neutral and the vendor name of each field and word that a profile renames, also below. */
  *renamed(): Generator<readonly [neutral: string, vendor: string]> {
    if (this.isIdentity) return
    for (const { neutral, vendor } of this.#byNeutral.values()) if (neutral !== vendor) yield [neutral, vendor]
    yield* this.#words.vendor
    const inner = [...Array.from(this.#byNeutral.values(), field => field.mapping), this.#additional, this.#items]
    for (const mapping of inner) if (mapping !== undefined) yield* mapping.renamed()
  }

  #stepInto(step: string): SchemaMapping | undefined {
    return this.#byNeutral.get(step)?.mapping ?? this.#items ?? this.#additional
  }

  #map(value: unknown, target: Target): unknown {
    if (this.isIdentity) return value
    if (typeof value === 'string') return this.#mapText(value, target)
    if (Array.isArray(value)) return value.map(entry => (this.#items ? this.#items.#map(entry, target) : entry))
    if (typeof value !== 'object' || value === null) return value
    const entries: [string, unknown][] = []
    for (const [key, inner] of Object.entries(value)) {
      const field = (target === 'neutral' ? this.#byVendor.get(key) : undefined) ?? this.#byNeutral.get(key)
      if (target === 'neutral' && field !== undefined && key !== field.vendor && Object.hasOwn(value, field.vendor)) {
        continue
      }
      const mapping = field === undefined ? this.#additional : field.mapping
      entries.push([field?.[target] ?? key, mapping === undefined ? inner : mapping.#map(inner, target)])
    }
    // `fromEntries` defines every key as an own property, `__proto__` too.
    return Object.fromEntries(entries)
  }

  #mapText(text: string, target: Target): string {
    const nameOf = (word: string) => this.#words[target].get(word) ?? word
    if (this.#isWordList) return words(text).map(nameOf).join(',')
    return target === 'vendor' && this.#toVendorText !== undefined ? this.#toVendorText(text) : nameOf(text)
  }
}

/** Returns the words that a text is one of, each with its vendor name. */
function listWords(
  { textRole, allowedWords, places }: SchemaShape,
  names: Names,
  operation: string,
): (readonly [neutral: string, vendor: string])[] {
  if (textRole === 'tag') return [...names.tags]
  if (textRole === 'statuses') {
    return DEPLOYMENT_STATUSES.map(word => [word, names.toVendorValue(word, ['Deployment.status'])])
  }
  return allowedWords.map(word => [word, names.toVendorValue(word, places, operation)])
}

/** A path, or words with dots between them outside of paths and names of models. */
const WORD_OR_PATH = /(?<![\w/.-])(?:\/[\w./{}-]+|\w+(?:[.-]\w+)*(?![\w/-]))/g

/** The mappings of one endpoint. */
export class EndpointMapping {
  /** The body, or the fields of a form. */
  readonly body: SchemaMapping | undefined
  readonly query: SchemaMapping
  /** The parameters of the path. */
  readonly path: SchemaMapping
  readonly returns: SchemaMapping
  /** The events of its stream. */
  readonly event: SchemaMapping | undefined
  readonly names: Names
  readonly operation: string
  /** The shape of its errors, if the profile names one. */
  readonly errorShape: ErrorShape | undefined
  #namesByWord: ReadonlyMap<string, string> | undefined

  constructor(endpoint: AnyEndpoint, names: Names, operation: string) {
    const { body, upload, returns, query, streamEvent, route } = endpoint
    const mappingOf = (shape: SchemaShape) => new SchemaMapping(shape, names, operation)
    const bodyShape = upload === undefined ? body && inputShape(body) : fieldsShape(upload.fields ?? {})
    this.body = bodyShape && mappingOf(bodyShape)
    this.query = mappingOf(fieldsShape(query))
    this.path = mappingOf(paramsShape(endpoint))
    this.returns = mappingOf(outputShape(returns))
    this.event = streamEvent && mappingOf(outputShape(streamEvent))
    this.names = names
    this.operation = operation
    this.errorShape = names.errorShape(operation, route)
  }

  /**
   * Returns a message with the vendor names of the fields, words and paths in it.
   *
   * @param names the names by their neutral words. Default: those of the operation
   */
  nameMessage(message: string, names = this.#namesOfOperation()): string {
    return message.replaceAll(WORD_OR_PATH, found => {
      const named = names.get(found)
      if (named !== undefined) return named
      if (found.startsWith('/')) return this.names.toVendorPath(found)
      return found.replaceAll(/[^.]+/g, step => names.get(step) ?? step)
    })
  }

  #namesOfOperation(): ReadonlyMap<string, string> {
    // Of equal words, that of the request counts: the client sends it.
    const mappings = [this.event, this.returns, this.path, this.query, this.body]
    this.#namesByWord ??= new Map(mappings.flatMap(mapping => [...(mapping?.renamed() ?? [])]))
    return this.#namesByWord
  }

  /** Returns the issues of a 422 with the vendor names of their places, and of what these places accept. */
  toVendorDetails(issues: readonly ValidationDetail[]): ValidationDetail[] {
    return issues.map(issue => {
      const [location, ...steps] = issue.loc as [InputLocation, ...string[]]
      const mapping = location === 'header' ? undefined : this[location]
      if (mapping === undefined) return issue
      const { accepted } = issue
      const loc = [location, ...mapping.toVendorFieldPath(steps)]
      const named = { ...issue, loc, msg: this.nameMessage(issue.msg, new Map(mapping.renamed())) }
      if (accepted === undefined) return named
      if (issue.type !== 'extra_forbidden') {
        return { ...named, ...describeAccepted(accepted.map(word => mapping.toVendorWord(steps, word))) }
      }
      const known = accepted.map(name => mapping.toVendorFieldPath([...steps.slice(0, -1), String(name)]).at(-1)!)
      return { ...named, ...explainExtraField(steps.at(-1)!, known) }
    })
  }
}
