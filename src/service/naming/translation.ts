/**
 * Maps between neutral and vendor names. The places of neutral words are found once, in the declarations of the endpoints,
 * so free content is never changed.
 */
import { escapeRegExp } from '../../lib/escape-regexp.ts'
import { type AnyEndpoint, type ErrorShape, endpointPaths, type Operations, routeParamNames } from '../endpoint.ts'
import type { ValidationDetail } from '../http/validation-errors.ts'
import type { Alias } from './free-sections.ts'
import { applyStep, createStep, type MappingStep } from './mapping-step.ts'
import { createNamesError, type Names } from './names-profile.ts'
import { inputShape, outputShape, type SchemaShape } from './schema-shape.ts'
import { createFieldsShape, fullPlace, listEndpointShapes } from './vocabulary.ts'

/** The mapping of one schema in both directions. */
export class SchemaMapping {
  readonly #shape: SchemaShape
  readonly #names: Names
  readonly #operation: string
  readonly #internalStep: MappingStep | undefined
  readonly #vendorStep: MappingStep | undefined

  constructor(shape: SchemaShape, names: Names, operation: string) {
    this.#shape = shape
    this.#names = names
    this.#operation = operation
    this.#internalStep = createStep(shape, names, operation, 'in')
    this.#vendorStep = createStep(shape, names, operation, 'out')
  }

  /** Returns a value with neutral names. If it has both names of a field, the vendor name counts. */
  toInternal(value: unknown): unknown {
    return applyStep(this.#internalStep, value)
  }

  /** Returns a value with vendor names. */
  toVendor(value: unknown): unknown {
    return applyStep(this.#vendorStep, value)
  }

  /** Whether an answer has the same names in both. */
  get isIdentity(): boolean {
    return this.#vendorStep === undefined
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
      const places = currentShape?.places.get(step)
      currentShape =
        field ??
        (/^\d+$|^\[\]$/.test(step) ? (currentShape?.items ?? currentShape?.additional) : currentShape?.additional)
      return field === undefined ? step : (this.#names.fieldName(step, places, this.#operation) ?? step)
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
  /** The events of its stream. */
  readonly event: SchemaMapping | undefined
  readonly names: Names
  readonly operation: string
  /** The shape of its errors, if the profile names one. */
  readonly errorShape: ErrorShape | undefined

  constructor(endpoint: AnyEndpoint, names: Names, operation: string) {
    const { body, returns, query, params, upload, path, streamEvent, route } = endpoint
    const mappingOf = (shape: SchemaShape) => new SchemaMapping(shape, names, operation)
    this.names = names
    this.operation = operation
    this.errorShape = names.errorShape(operation, route)
    this.body = body && mappingOf(inputShape(body))
    this.returns = mappingOf(outputShape(returns))
    this.event = streamEvent && mappingOf(outputShape(streamEvent))
    this.query = mappingOf(createFieldsShape(query))
    const free = Object.fromEntries(routeParamNames(path).map(name => [name, undefined]))
    this.params = mappingOf(createFieldsShape({ ...free, ...params }))
    this.form = upload && mappingOf(createFieldsShape((upload.fields ?? {}) as AnyEndpoint['query']))
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
    if (location === 'path') return steps.map(name => this.names.fields.get(name) ?? name)
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
    const problems = [...this.#findPathProblems(), ...this.#findAliasProblems(), ...this.#findFieldProblems()]
    if (problems.length > 0) throw createNamesError(names.label, [...new Set(problems)])
  }

  forEndpoint(endpoint: AnyEndpoint): EndpointMapping {
    const cachedMapping = this.#endpointMappings.get(endpoint)
    if (cachedMapping !== undefined) return cachedMapping
    const [operation = ''] = Object.entries(this.#operations).find(([, one]) => one === endpoint) ?? []
    const endpointMapping = new EndpointMapping(endpoint, this.names, operation)
    this.#endpointMappings.set(endpoint, endpointMapping)
    return endpointMapping
  }

  /** Returns every path that serves the operation of this one. */
  servedPaths(path: string): string[] {
    return [...new Set([path, this.names.toVendorPath(path)])]
  }

  /** Returns the further routes of the operations. */
  get aliases(): readonly Alias[] {
    return this.names.aliases.filter(({ operation }) => Object.hasOwn(this.#operations, operation))
  }

  /** Returns the paths of the further routes to the operations with this path. */
  aliasPaths(path: string): string[] {
    const isOfPath = ({ operation }: Alias) => (this.#operations[operation] as AnyEndpoint).path === path
    return this.aliases.filter(isOfPath).map(alias => alias.path)
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

  /** Returns a problem for each alias that another route has already. */
  #findAliasProblems(): string[] {
    const served = Object.values(this.#operations as Operations<unknown>)
      .flatMap(one => endpointPaths(one as AnyEndpoint))
      .flatMap(path => this.servedPaths(path))
    return this.aliases.flatMap(({ path, route, method }, nth) => {
      const others = this.aliases.slice(0, nth)
      const taken =
        served.find(other => doPathsOverlap(path, other)) ??
        others.find(other => other.method === method && haveEqualSegments(path, other.path))?.path
      return taken === undefined
        ? []
        : [`aliases.${route}: the path '${path}' leads to ${taken} already. Give another path.`]
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
    const wordsByTarget = new Map<string, string>()
    for (const name of shape.fields.keys()) {
      const places = shape.places.get(name)
      const vendorName = this.names.fieldName(name, places, operation)
      if (vendorName === undefined) continue
      const word = (places ?? []).map(place => fullPlace(place, operation)).find(place => fields.has(place)) ?? name
      const taken = wordsByTarget.get(vendorName)
      wordsByTarget.set(vendorName, word)
      if (taken !== undefined) {
        problems.push(
          `fields.${word}: '${vendorName}' is the name of fields.${taken} beside it in ${operation}. Give it another.`,
        )
      } else if (shape.fields.has(vendorName)) {
        problems.push(`fields.${word}: '${vendorName}' is a field beside it in ${operation} already. Give it another.`)
      }
    }
    const innerShapes = [...shape.fields].map(([name, inner]) => [inner, shape.places.get(name) ?? []] as const)
    for (const [inner, places] of [...innerShapes, [shape, []] as const]) {
      for (const word of inner.allowedWords) {
        const named = this.names.toVendorValue(word, places, operation)
        if (named === word || !inner.allowedWords.some(other => other === named)) continue
        const prefix = `variants.${word.slice(0, word.indexOf('-') + 1)}`
        const isVariant = variants.has(word) && !values.has(word)
        problems.push(
          `${isVariant ? prefix : `values.${word}`}: '${named}' is a value beside it in ${operation} already. Give it another.`,
        )
      }
    }
    const nested = [...shape.fields.values(), shape.additional, shape.items]
    return [
      ...problems,
      ...nested.flatMap(inner => (inner === undefined ? [] : this.#findShapeProblems(inner, operation))),
    ]
  }
}

/** Whether two paths differ in the names of parameters at most. */
function haveEqualSegments(first: string, other: string): boolean {
  return first.replaceAll(/\{\w+\}/g, '{}') === other.replaceAll(/\{\w+\}/g, '{}')
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
