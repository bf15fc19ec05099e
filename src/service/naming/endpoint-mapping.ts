/** Maps the input and the output of an endpoint between neutral and vendor names. */
import { type AnyEndpoint, type ErrorShape, routeParamNames } from '../endpoint.ts'
import type { ValidationDetail } from '../http/validation-errors.ts'
import { applyStep, createStep, type MappingStep } from './mapping-step.ts'
import type { Names } from './names-profile.ts'
import { inputShape, outputShape, type SchemaShape } from './schema-shape.ts'
import { createFieldsShape } from './vocabulary.ts'

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
