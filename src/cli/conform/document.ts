/** Reads OpenAPI documents of 3.0 to 3.2, converts them to one dialect and follows their references. */
import { readFileSync, statSync } from 'node:fs'
import { isRecord } from '../../lib/json-text.ts'
import { once } from '../../lib/once.ts'
import { DocumentError, parseDocumentText } from '../files/data-file.ts'

export type Json = Readonly<Record<string, unknown>>

/** A part of a document and its place, a JSON pointer as a fragment: `#/paths/~1deploy~1list/get`. */
export interface DocumentPart {
  readonly value: Json
  readonly pointer: string
}

export interface DocumentOperation {
  /** As in `GET /deploy/list`. */
  readonly name: string
  readonly method: string
  readonly path: string
  /** Paths of the URLs of its servers, prefixes of its path; `''` for the root. */
  readonly bases: readonly string[]
  readonly at: DocumentPart
  readonly parameters: readonly DocumentPart[]
  readonly body: DocumentPart | undefined
  /** By status: `200`, `4XX`, `default`. */
  readonly responses: ReadonlyMap<string, DocumentPart>
}

/** @throws DocumentError if the file is missing or invalid */
export function readDocument(path: string): unknown {
  const entry = statSync(path, { throwIfNoEntry: false })
  if (!entry?.isFile()) {
    throw new DocumentError(`${entry ? 'it is not a file' : 'the file is missing'}. Give an OpenAPI document.`)
  }
  return parseDocumentText(readFileSync(path, 'utf8'))
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'] as const

export const EVENT_STREAM = 'text/event-stream'

export class OpenapiDocument {
  readonly root: Json
  readonly operations: readonly DocumentOperation[]
  /** Pointers by object. An object that YAML has at several places has the first of them. */
  readonly #pointers = once(() => collectPointers(this.root))

  /** @throws DocumentError if it is not an OpenAPI document of 3.0 to 3.2, or a reference is invalid */
  constructor(value: unknown) {
    if (!isRecord(value))
      throw new DocumentError('not an OpenAPI document: it is not an object. Give an OpenAPI document.')
    const version = String(value.openapi ?? value.swagger ?? '')
    if (!/^3\.[0-2](\.|$)/.test(version)) {
      const found = version === '' ? "the field 'openapi' is missing" : `version ${version} is unsupported`
      throw new DocumentError(`${found}. Give an OpenAPI document of 3.0, 3.1 or 3.2.`)
    }
    this.root = version.startsWith('3.0') ? (upgradeFrom30(value) as Json) : value
    this.operations = Object.keys(toObject(this.root.paths)).flatMap(path => this.#operationsOf(path))
    if (this.operations.length === 0) throw new DocumentError('it has no operations. Give a document with paths.')
  }

  /** Returns the part at a path of fields, and follows references. */
  partAt(part: DocumentPart, ...steps: readonly string[]): DocumentPart | undefined {
    let at: DocumentPart | undefined = part
    for (const step of steps) {
      const value: unknown = at === undefined ? undefined : at.value[step]
      if (!isRecord(value)) return undefined
      at = this.follow({ value, pointer: `${at!.pointer}/${escapePointer(step)}` })
    }
    return at
  }

  /** Returns the target of a reference, or the part itself if it is not a reference. */
  follow(part: DocumentPart): DocumentPart {
    let at = part
    for (let steps = 0; typeof at.value.$ref === 'string'; steps++) {
      const { $ref } = at.value
      if (steps >= 100)
        throw new DocumentError(`${part.pointer}: its references lead in a circle. Give one of them a schema.`)
      const found = $ref.startsWith('#') ? this.#resolvePointer($ref) : undefined
      if (found === undefined) {
        throw new DocumentError(`${at.pointer}/$ref: unknown reference '${$ref}'. Bundle the document into one file.`)
      }
      at = found
    }
    return at
  }

  /** Returns the pointer of an object of this document, or undefined. */
  pointerOf(value: unknown): string | undefined {
    return this.#pointers().get(value)
  }

  /** Returns the first object of this document that fits. */
  find(fits: (value: Json) => boolean): DocumentPart | undefined {
    for (const [value, pointer] of this.#pointers()) if (isRecord(value) && fits(value)) return { value, pointer }
    return undefined
  }

  /** Returns the names, in lower case, of the headers that carry a key of an operation by its security schemes. */
  keyHeadersOf({ at }: DocumentOperation): ReadonlySet<string> {
    const security = at.value.security ?? this.root.security
    const names = (Array.isArray(security) ? (security as unknown[]) : []).flatMap(one => Object.keys(toObject(one)))
    const root = { value: this.root, pointer: '#' }
    const headers = names.flatMap(name => {
      const scheme = this.partAt(root, 'components', 'securitySchemes', name)?.value
      return scheme?.in === 'header' ? [String(scheme.name).toLowerCase()] : []
    })
    return new Set(headers)
  }

  #resolvePointer(pointer: string): DocumentPart | undefined {
    const anchor = pointer.slice(1)
    if (!/^(?:\/|$)/.test(anchor)) return this.find(part => part.$anchor === anchor || part.$dynamicAnchor === anchor)
    let value: unknown = this.root
    for (const step of pointer.split('/').slice(1)) {
      value = isRecord(value) || Array.isArray(value) ? (value as Json)[unescapePointer(step)] : undefined
    }
    return isRecord(value) ? { value, pointer } : undefined
  }

  #operationsOf(path: string): DocumentOperation[] {
    const item = this.partAt({ value: this.root, pointer: '#' }, 'paths', path)
    if (item === undefined) return []
    const more = Object.keys(toObject(item.value.additionalOperations)).map(method => ['additionalOperations', method])
    return [...METHODS.map(method => [method]), ...more].flatMap(steps => {
      const method = steps.at(-1)!
      const at = this.partAt(item, ...steps)
      if (at === undefined) return []
      const responses = Object.keys(toObject(at.value.responses)).flatMap(status => {
        const response = this.partAt(at, 'responses', status)
        return response === undefined ? [] : [[status, response] as const]
      })
      return [
        {
          ...{ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, at },
          bases: basePathsOf([at.value, item.value, this.root]),
          parameters: this.#parametersOf(item, at),
          body: this.partAt(at, 'requestBody'),
          responses: new Map(responses),
        },
      ]
    })
  }

  /** Returns the parameters of the operation, and those of its path that it does not override. */
  #parametersOf(item: DocumentPart, operation: DocumentPart): DocumentPart[] {
    const listed = (part: DocumentPart) =>
      (Array.isArray(part.value.parameters) ? (part.value.parameters as unknown[]) : [])
        .filter(isRecord)
        .map((value, i) => {
          const parameter = this.follow({ value, pointer: `${part.pointer}/parameters/${i}` })
          if (typeof parameter.value.name === 'string') return parameter
          throw new DocumentError(`${parameter.pointer}: the parameter has no name. Give it a 'name'.`)
        })
    const own = listed(operation)
    const isOverridden = ({ value }: DocumentPart) =>
      own.some(one => one.value.name === value.name && one.value.in === value.in)
    return [...own, ...listed(item).filter(one => !isOverridden(one))]
  }
}

/**
 * Tells whether a response has only JSON with an empty schema. Frameworks write that for an answer whose content they do
 * not know, for example a file.
 */
export function hasOpenContent(document: OpenapiDocument, part: DocumentPart): boolean {
  const content = contentOf(document, part, 'application/json')
  const schema = content && document.partAt(content, 'schema')
  return mediaTypesOf(part).length === 1 && schema !== undefined && Object.keys(schema.value).length === 0
}

/** Returns the content of one type in a request body or a response, or undefined. The exact type comes before a range. */
export function contentOf(document: OpenapiDocument, part: DocumentPart, type: string): DocumentPart | undefined {
  // Any content may be a stream of events. That does not declare one.
  const types = mediaTypesOf(part).filter(one => type !== EVENT_STREAM || !one.startsWith('*/'))
  const covering = types.filter(one => matchesMediaType(one, type))
  const media = covering.find(one => !one.includes('*')) ?? covering.find(one => !one.startsWith('*')) ?? covering[0]
  return media === undefined ? undefined : document.partAt(part, 'content', media)
}

/** Returns whether a declared content type, maybe a range, covers a type. */
export function matchesMediaType(declared: string, type: string): boolean {
  const plain = declared.split(';', 1)[0]!.trim().toLowerCase()
  return plain === '*/*' || plain === type || (plain.endsWith('/*') && type.startsWith(plain.slice(0, -1)))
}

/** Returns the response of an operation that covers a status. */
export function findResponse({ responses }: DocumentOperation, status: number): DocumentPart | undefined {
  return responses.get(String(status)) ?? responses.get(`${Math.floor(status / 100)}XX`) ?? responses.get('default')
}

/** Returns the part of a document that declares an operation's answer as a stream of events. */
export function streamOf(document: OpenapiDocument, operation: DocumentOperation): DocumentPart | undefined {
  const response = findResponse(operation, 200)
  return response && contentOf(document, response, EVENT_STREAM)
}

export function mediaTypesOf({ value }: DocumentPart): string[] {
  return Object.keys(toObject(value.content))
}

/** Converts the flags of 3.0 for null and exclusive bounds, and removes the fields beside a reference. */
function upgradeFrom30(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(upgradeFrom30)
  if (!isRecord(value)) return value
  if (typeof value.$ref === 'string') return { $ref: value.$ref }
  const converted = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, DATA_KEYWORDS.includes(key) ? inner : upgradeFrom30(inner)]),
  ) as Record<string, unknown>
  for (const end of ['Minimum', 'Maximum']) {
    const [flag, bound] = [`exclusive${end}`, end.toLowerCase()] as const
    if (typeof converted[flag] !== 'boolean') continue
    if (converted[flag] && typeof converted[bound] === 'number') {
      converted[flag] = converted[bound]
      delete converted[bound]
    } else delete converted[flag]
  }
  if (converted.nullable !== true) return converted
  const { nullable: _, ...bare } = converted
  if (typeof bare.type !== 'string') return { anyOf: [bare, { type: 'null' }] }
  return { ...bare, type: [bare.type, 'null'], ...(Array.isArray(bare.enum) && { enum: [...bare.enum, null] }) }
}

/** Keywords whose values are data, not schemas. */
const DATA_KEYWORDS = ['example', 'examples', 'default', 'enum', 'const']

/** @param parts the operation, its path item and the document. The first one with servers counts. */
function basePathsOf(parts: readonly Json[]): string[] {
  const lists = parts.map(({ servers }) => (Array.isArray(servers) ? (servers as unknown[]) : []))
  return (lists.find(({ length }) => length > 0) ?? []).map(server => {
    const { url: template = '/', variables } = toObject(server)
    const url = String(template).replaceAll(/\{([^{}]*)\}/g, (_, name) =>
      String(toObject(toObject(variables)[name]).default),
    )
    const path = URL.canParse(url, 'http://any') ? new URL(url, 'http://any').pathname : '/'
    return path.replace(/\/+$/, '')
  })
}

function collectPointers(value: unknown, pointer = '#', known = new Map<unknown, string>()): Map<unknown, string> {
  if (typeof value !== 'object' || value === null || known.has(value)) return known
  known.set(value, pointer)
  for (const [key, inner] of Object.entries(value)) collectPointers(inner, `${pointer}/${escapePointer(key)}`, known)
  return known
}

export function toObject(value: unknown): Json {
  return isRecord(value) ? value : {}
}

export function escapePointer(step: string): string {
  return encodeURI(step.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('#', '%23')
}

function unescapePointer(step: string): string {
  let plain = step
  try {
    plain = decodeURIComponent(step)
  } catch {
    // Some writers do not percent-encode.
  }
  return plain.replaceAll('~1', '/').replaceAll('~0', '~')
}
