/**
 * Maps between neutral and vendor names. The places of neutral words are found once, in the declarations of the endpoints,
 * so free content is never changed.
 */
import { escapeRegExp } from '../../lib/escape-regexp.ts'
import { type AnyEndpoint, endpointPaths, type Operations, routeParamNames } from '../endpoint.ts'
import type { ValidationDetail } from '../http/validation-errors.ts'
import { createNamesError, type Names } from './names-profile.ts'
import { inputShape, outputShape, type SchemaShape } from './schema-shape.ts'

/** The mapping of one place in a body; undefined if nothing below it changes. */
interface MappingStep {
  /** Fields that are renamed or have a mapping below them, by their incoming names. */
  readonly fields: ReadonlyMap<string, { readonly name: string; readonly turn: MappingStep | undefined }>
  /** Neutral names that are ignored if the object has their vendor name too. */
  readonly replacedBy: ReadonlyMap<string, string>
  readonly additional: MappingStep | undefined
  readonly items: MappingStep | undefined
  readonly values: ReadonlyMap<string, string>
  readonly translateText: ((text: string) => string) | undefined
}

/** The mapping of one schema in both directions. */
export class SchemaMapping {
  readonly #shape: SchemaShape
  readonly #names: Names
  readonly #internalStep: MappingStep | undefined
  readonly #vendorStep: MappingStep | undefined

  constructor(shape: SchemaShape, names: Names) {
    this.#shape = shape
    this.#names = names
    this.#internalStep = createStep(shape, names, 'in')
    this.#vendorStep = createStep(shape, names, 'out')
  }

  /** Returns a value with neutral names. If it has both names of a field, the vendor name counts. */
  toInternal(value: unknown): unknown {
    return applyStep(this.#internalStep, value)
  }

  /** Returns a value with vendor names. */
  toVendor(value: unknown): unknown {
    return applyStep(this.#vendorStep, value)
  }

  /** Returns a JSON text with vendor names. */
  toVendorJson(text: string): string {
    return this.#vendorStep === undefined ? text : JSON.stringify(this.toVendor(JSON.parse(text)))
  }

  /** Returns a path of fields and positions with vendor names. */
  toVendorFieldPath(steps: readonly string[]): string[] {
    let currentShape: SchemaShape | undefined = this.#shape
    return steps.map(step => {
      const field: SchemaShape | undefined = currentShape?.fields.get(step)
      currentShape =
        field ??
        (/^\d+$|^\[\]$/.test(step) ? (currentShape?.items ?? currentShape?.additional) : currentShape?.additional)
      return field === undefined ? step : (this.#names.fields.get(step) ?? step)
    })
  }
}

/** The mappings of one endpoint. */
export class EndpointMapping {
  readonly body: SchemaMapping | undefined
  readonly returns: SchemaMapping
  readonly query: SchemaMapping
  readonly params: SchemaMapping
  readonly form: SchemaMapping | undefined
  readonly names: Names

  constructor({ body, returns, query, params, upload, path }: AnyEndpoint, names: Names) {
    this.names = names
    this.body = body && new SchemaMapping(inputShape(body), names)
    this.returns = new SchemaMapping(outputShape(returns), names)
    this.query = new SchemaMapping(createFieldsShape(query), names)
    const free = Object.fromEntries(routeParamNames(path).map(name => [name, undefined]))
    this.params = new SchemaMapping(createFieldsShape({ ...free, ...params }), names)
    this.form = upload && new SchemaMapping(createFieldsShape((upload.fields ?? {}) as AnyEndpoint['query']), names)
  }

  /** Returns the issues of a 422 with places and messages in the vendor's words. */
  toVendorDetails(issues: readonly ValidationDetail[]): ValidationDetail[] {
    return issues.map(({ loc: [location, ...steps], msg, type }) => ({
      loc: [location!, ...this.#toVendorFieldPath(location!, steps)],
      msg: this.names.translateProse(msg),
      type,
    }))
  }

  /** Returns the body of a refusal with every text in the vendor's words. */
  toVendorRefusal(body: unknown): unknown {
    if (typeof body === 'string') return this.names.translateProse(body)
    if (Array.isArray(body)) return body.map(entry => this.toVendorRefusal(entry))
    if (typeof body !== 'object' || body === null) return body
    return Object.fromEntries(Object.entries(body).map(([key, inner]) => [key, this.toVendorRefusal(inner)]))
  }

  #toVendorFieldPath(location: string, steps: readonly string[]): readonly string[] {
    if (location === 'header') return steps.map(name => this.names.toVendorHeader(name))
    if (location === 'query') return this.query.toVendorFieldPath(steps)
    return location === 'body' ? ((this.body ?? this.form)?.toVendorFieldPath(steps) ?? steps) : steps
  }
}

/** The mappings of a names profile for some operations. */
export class VendorMapping {
  readonly names: Names
  readonly #operations: Operations
  readonly #endpointMappings = new WeakMap<AnyEndpoint, EndpointMapping>()

  /** @throws RangeError if a vendor name collides with another name of the interface */
  constructor(names: Names, operations: Operations) {
    this.names = names
    this.#operations = operations
    const problems = [...this.#findPathProblems(), ...this.#findFieldProblems()]
    if (problems.length > 0) throw createNamesError(names.label, [...new Set(problems)])
  }

  forEndpoint(endpoint: AnyEndpoint): EndpointMapping {
    const cachedMapping = this.#endpointMappings.get(endpoint)
    if (cachedMapping !== undefined) return cachedMapping
    const endpointMapping = new EndpointMapping(endpoint, this.names)
    this.#endpointMappings.set(endpoint, endpointMapping)
    return endpointMapping
  }

  /** Returns every path that serves the operation of this one. */
  servedPaths(path: string): string[] {
    return [...new Set([path, this.names.toVendorPath(path)])]
  }

  /** Returns an incoming path with neutral names. */
  toInternalPath(path: string, endpoint: Pick<AnyEndpoint, 'path' | 'mirror'>): string {
    // A mirror has one segment more than its original.
    const length = path.split('/').filter(segment => segment !== '').length
    const declaredPath =
      endpointPaths(endpoint).find(candidate => candidate.split('/').length === length + 1) ?? endpoint.path
    const vendorPath = this.names.toVendorPath(declaredPath)
    if (vendorPath === declaredPath) return path
    const [from, to] = [vendorPath.split('/'), declaredPath.split('/')]
    return path
      .split('/')
      .map((segment, i) => (segment === from[i] ? to[i] : segment))
      .join('/')
  }

  /** Returns a problem for each path that would serve two operations. */
  #findPathProblems(): string[] {
    const paths = [
      ...new Set(
        Object.values(this.#operations as Operations<unknown>).flatMap(one => endpointPaths(one as AnyEndpoint)),
      ),
    ]
    return paths.flatMap(path => {
      const vendorPath = this.names.toVendorPath(path)
      if (vendorPath === path) return []
      const conflictingPath = paths.find(
        other =>
          !doPathsOverlap(path, other) && this.servedPaths(other).some(spelled => doPathsOverlap(vendorPath, spelled)),
      )
      if (conflictingPath === undefined) return []
      const word = [...this.names.paths.keys()].find(one => path.split('/').includes(one))!
      const target = this.names.paths.get(word)
      return [
        `paths.${word}: '${target}' makes ${path} into ${vendorPath}, which is ${conflictingPath} already. Give it another.`,
      ]
    })
  }

  /** Returns a problem for each field or value that would equal another one beside it. */
  #findFieldProblems(): string[] {
    return Object.entries(this.#operations as Operations<unknown>).flatMap(([operation, one]) => {
      const endpoint = one as AnyEndpoint
      return listEndpointShapes(endpoint).flatMap(shape => this.#findShapeProblems(shape, operation))
    })
  }

  #findShapeProblems(shape: SchemaShape, operation: string): string[] {
    const { fields, values, variants } = this.names
    const problems: string[] = []
    for (const name of shape.fields.keys()) {
      const vendorName = fields.get(name)
      if (vendorName !== undefined && shape.fields.has(vendorName)) {
        problems.push(`fields.${name}: '${vendorName}' is a field beside it in ${operation} already. Give it another.`)
      }
    }
    for (const word of shape.allowedWords) {
      const named = values.get(word) ?? variants.get(word)
      if (named === undefined || !shape.allowedWords.some(other => other === named)) continue
      const location = values.has(word) ? `values.${word}` : `variants.${word.slice(0, word.indexOf('-') + 1)}`
      problems.push(`${location}: '${named}' is a value beside it in ${operation} already. Give it another.`)
    }
    const innerShapes = [...shape.fields.values(), shape.additional, shape.items]
    return [
      ...problems,
      ...innerShapes.flatMap(inner => (inner === undefined ? [] : this.#findShapeProblems(inner, operation))),
    ]
  }
}

/** Whether an address exists that both paths match. */
function doPathsOverlap(first: string, other: string): boolean {
  const pattern = (path: string) =>
    path
      .split('/')
      .map(step => {
        if (step === '{model_name}') return '[^/]+(?:/[^/]+)?'
        return step.startsWith('{') ? '[^/]+' : escapeRegExp(step)
      })
      .join('/')
  const sample = (path: string) => path.replaceAll(/\{\w+\}/g, 'any')
  return new RegExp(`^${pattern(first)}$`).test(sample(other)) || new RegExp(`^${pattern(other)}$`).test(sample(first))
}

function listEndpointShapes(endpoint: AnyEndpoint): SchemaShape[] {
  const { body, returns, query, params } = endpoint
  return [
    ...(body === undefined ? [] : [inputShape(body)]),
    outputShape(returns),
    createFieldsShape(query),
    createFieldsShape(params),
  ]
}

type MaybeFields = Readonly<Record<string, AnyEndpoint['returns'] | undefined>>

/** Returns the shape of a query, path or form: texts by name. */
function createFieldsShape(fields: MaybeFields): SchemaShape {
  const shapes = Object.entries(fields).map(
    ([name, schema]) => [name, schema ? outputShape(schema) : TEXT_SHAPE] as const,
  )
  return { ...TEXT_SHAPE, fields: new Map(shapes) }
}

const TEXT_SHAPE: SchemaShape = {
  fields: new Map(),
  allowsOtherFields: false,
  additional: undefined,
  items: undefined,
  allowedWords: [],
  textRole: undefined,
}

function createStep(shape: SchemaShape, names: Names, direction: 'in' | 'out'): MappingStep | undefined {
  const fields = new Map<string, { name: string; turn: MappingStep | undefined }>()
  const yields = new Map<string, string>()
  for (const [neutral, inner] of shape.fields) {
    const turn = createStep(inner, names, direction)
    const vendorName = names.fields.get(neutral)
    if (vendorName === undefined) {
      if (turn !== undefined) fields.set(neutral, { name: neutral, turn })
    } else if (direction === 'out') fields.set(neutral, { name: vendorName, turn })
    else {
      fields.set(vendorName, { name: neutral, turn })
      if (turn !== undefined) fields.set(neutral, { name: neutral, turn })
      yields.set(neutral, vendorName)
    }
  }
  const values = new Map<string, string>()
  for (const word of shape.allowedWords) {
    const named = names.toVendorValue(word)
    if (named !== word) values.set(direction === 'out' ? word : named, direction === 'out' ? named : word)
  }
  const rest = shape.additional && createStep(shape.additional, names, direction)
  const items = shape.items && createStep(shape.items, names, direction)
  const text = direction === 'out' ? createTextTranslator(shape, names) : undefined
  const isIdentity = fields.size === 0 && values.size === 0 && !rest && !items && !text
  return isIdentity ? undefined : { fields, replacedBy: yields, additional: rest, items, values, translateText: text }
}

function createTextTranslator({ textRole: holds }: SchemaShape, names: Names): ((text: string) => string) | undefined {
  if (holds === 'path') return text => names.toVendorPath(text)
  return holds === 'message' ? text => names.translateProse(text) : undefined
}

function applyStep(step: MappingStep | undefined, value: unknown): unknown {
  if (step === undefined) return value
  if (typeof value === 'string') return step.translateText?.(value) ?? step.values.get(value) ?? value
  if (Array.isArray(value)) return step.items === undefined ? value : value.map(entry => applyStep(step.items, entry))
  if (typeof value !== 'object' || value === null) return value
  const entries: [string, unknown][] = []
  for (const [key, inner] of Object.entries(value)) {
    const vendorName = step.replacedBy.get(key)
    if (vendorName !== undefined && Object.hasOwn(value, vendorName)) continue
    const field = step.fields.get(key)
    entries.push(
      field === undefined ? [key, applyStep(step.additional, inner)] : [field.name, applyStep(field.turn, inner)],
    )
  }
  // `fromEntries` defines every key as an own property, `__proto__` too.
  return Object.fromEntries(entries)
}
