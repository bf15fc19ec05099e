/**
 * Maps between neutral and vendor names. The places of neutral words are found once, in the declarations of the endpoints,
 * so free content is never changed.
 */
import { escapeRegExp } from '../../lib/escape-regexp.ts'
import { type AnyEndpoint, endpointPaths, type Operations } from '../endpoint.ts'
import { EndpointMapping } from './endpoint-mapping.ts'
import type { Alias } from './free-sections.ts'
import { LineNames } from './line-names.ts'
import { createNamesError, type Names } from './names-profile.ts'
import type { SchemaShape } from './schema-shape.ts'
import { fullPlace, listEndpointShapes } from './vocabulary.ts'

/** The mappings of a names profile for some operations. */
export class VendorMapping {
  readonly names: Names
  readonly #operations: Operations
  readonly #endpointMappings = new WeakMap<AnyEndpoint, EndpointMapping>()
  #lines: LineNames | undefined

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

  /** The names of the lines of batch files. Their mappings are created with the first line. */
  get lines(): LineNames {
    this.#lines ??= new LineNames(this, this.#operations)
    return this.#lines
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
