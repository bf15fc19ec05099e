/**
 * Maps between neutral and vendor names. The places of neutral words are found once, in the declarations of the endpoints,
 * so free content is never changed.
 */

import { oncePer } from '../../lib/once.ts'
import { escapeRegExp } from '../../lib/patterns.ts'
import type { VendorNames } from '../api-scope.ts'
import { type AnyEndpoint, endpointPaths, type Operations } from '../endpoint.ts'
import type { Json } from '../openapi/json-schema.ts'
import { EndpointMapping } from './endpoint-mapping.ts'
import { LineNames } from './line-names.ts'
import { createNamesError, type Names } from './names-profile.ts'
import { nameSchema } from './schema-naming.ts'
import type { SchemaShape } from './schema-shape.ts'
import type { Alias } from './sections.ts'
import { listShapes } from './vocabulary.ts'

/** The mappings of a names profile for some operations. */
export class VendorMapping implements VendorNames {
  readonly names: Names
  readonly operations: Operations
  readonly forEndpoint = oncePer((endpoint: AnyEndpoint): EndpointMapping => {
    const [operation = ''] = Object.entries(this.operations).find(([, one]) => one === endpoint) ?? []
    return new EndpointMapping(endpoint, this.names, operation)
  })
  #lines: LineNames | undefined

  /** @throws RangeError if a vendor name collides with another name of the interface */
  constructor(names: Names, operations: Operations) {
    this.names = names
    this.operations = operations
    const paths = (Object.values(operations) as AnyEndpoint[]).flatMap(endpointPaths)
    const problems = [
      ...this.#findPathProblems(paths),
      ...this.#findAliasProblems(paths),
      ...[...listShapes(operations)].flatMap(({ operation, shape }) => findShapeProblems(shape, names, operation)),
    ]
    if (problems.length > 0) throw createNamesError(names.label, [...new Set(problems)])
  }

  /** The names of the lines of batch files. Their mappings are created with the first line. */
  get lines(): LineNames {
    this.#lines ??= new LineNames(this, this.operations)
    return this.#lines
  }

  /** Returns the JSON Schema of a part of an endpoint, which needs no other document, with vendor names. */
  nameSchema(schema: Json, endpoint: AnyEndpoint): Json {
    const { id = this.forEndpoint(endpoint).operation } = schema
    return nameSchema(schema, this.names, String(id))
  }

  /** Returns every path that serves the operation of this one. */
  servedPaths(path: string): string[] {
    return [...new Set([path, this.names.toVendorPath(path)])]
  }

  /** Returns the further routes of the operations. */
  get aliases(): readonly Alias[] {
    return this.names.aliases.filter(({ operation }) => Object.hasOwn(this.operations, operation))
  }

  /** Returns the paths of the further routes to the operations with this path. */
  aliasPaths(path: string): string[] {
    return this.aliases.filter(({ operation }) => this.operations[operation]!.path === path).map(alias => alias.path)
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
  #findPathProblems(paths: readonly string[]): string[] {
    return paths.flatMap(path => {
      const vendorPath = this.names.toVendorPath(path)
      if (vendorPath === path) return []
      const conflictingPath = paths.find(
        other =>
          !doPathsOverlap(path, other) && this.servedPaths(other).some(spelled => doPathsOverlap(vendorPath, spelled)),
      )
      if (conflictingPath === undefined) return []
      const word = [...this.names.paths.keys()].find(one => path.split('/').includes(one))!
      return [
        `paths.${word}: '${this.names.paths.get(word)}' makes ${path} into ${vendorPath}, which is ${conflictingPath} already. Give it another.`,
      ]
    })
  }

  /** Returns a problem for each alias that another route has already. */
  #findAliasProblems(paths: readonly string[]): string[] {
    const served = paths.flatMap(path => this.servedPaths(path))
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
}

/** Returns a problem for each field or value of a shape that would equal another one beside it. */
function findShapeProblems({ fields, allowedWords, places }: SchemaShape, names: Names, operation: string): string[] {
  const namedFields = Array.from(fields, ([name, inner]) => {
    const word = names.fieldWord(name, inner.places, operation)
    return { name, named: names.fields.get(word) ?? name, place: `fields.${word}` }
  })
  const namedValues = allowedWords.map(name => {
    const word = names.valueWord(name, places, operation)
    return { name, named: names.toVendorValue(name, places, operation), place: `values.${word}` }
  })
  return [...findTaken(namedFields, 'field'), ...findTaken(namedValues, 'value')].map(
    problem => `${problem} beside it in ${operation} already. Give it another.`,
  )
}

function findTaken(all: readonly { name: string; named: string; place: string }[], noun: string): string[] {
  return all
    .filter(({ name, named }, nth) => {
      const isTaken = all.some((other, i) => other.name === named || (i < nth && other.named === named))
      return name !== named && isTaken
    })
    .map(({ named, place }) => `${place}: '${named}' is a ${noun}`)
}

/** Whether two paths differ in the names of parameters at most. */
function haveEqualSegments(first: string, other: string): boolean {
  return first.replaceAll(/\{\w+\}/g, '{}') === other.replaceAll(/\{\w+\}/g, '{}')
}

/** Whether an address exists that both paths match. */
function doPathsOverlap(first: string, other: string): boolean {
  const matches = (path: string, declared: string) => {
    const steps = declared.split('/').map(step => {
      if (step === '{model_name}') return '[^/]+(?:/[^/]+)?'
      return step.startsWith('{') ? '[^/]+' : escapeRegExp(step)
    })
    return new RegExp(`^${steps.join('/')}$`).test(path.replaceAll(/\{\w+\}/g, 'any'))
  }
  return matches(other, first) || matches(first, other)
}
