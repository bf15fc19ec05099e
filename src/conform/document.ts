/** An OpenAPI document, 3.0 to 3.2: read, brought to one dialect, its references followed. */

export type Json = Readonly<Record<string, unknown>>

/** A part of a document and where it stands: a JSON pointer as a fragment, `#/paths/~1deploy~1list/get`. */
export interface DocumentPart {
  readonly value: Json
  readonly pointer: string
}

export interface DocumentOperation {
  /** As in `GET /deploy/list`. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly at: DocumentPart
  readonly parameters: readonly DocumentPart[]
  readonly body: DocumentPart | undefined
  /** By status: `200`, `4XX`, `default`. */
  readonly responses: ReadonlyMap<string, DocumentPart>
}

/** The file holds no document that could be looked at. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'] as const

export class OpenapiDocument {
  readonly root: Json
  /** The path of the first server's address, which its paths are below: `''` where that is the root. */
  readonly base: string
  readonly operations: readonly DocumentOperation[]

  /** @throws DocumentError for what is no OpenAPI document of 3.0 to 3.2, or points where nothing is */
  constructor(value: unknown) {
    if (!isObject(value)) throw new DocumentError('it is no OpenAPI document: there is no object in it.')
    const version = String(value.openapi ?? value.swagger ?? '')
    if (!/^3\.[0-2](\.|$)/.test(version)) {
      const found = version === '' ? "it has no field 'openapi'" : `it is of version ${version}`
      throw new DocumentError(`${found}. Give an OpenAPI document of 3.0, 3.1 or 3.2.`)
    }
    this.root = version.startsWith('3.0') ? (upgradeFrom30(value) as Json) : value
    this.base = basePathOf(this.root)
    this.operations = Object.keys(toObject(this.root.paths)).flatMap(path => this.#operationsOf(path))
    if (this.operations.length === 0) throw new DocumentError('it has no operations. Give one with paths.')
  }

  /** A part by its fields, with the reference followed where it is one. */
  partAt(part: DocumentPart, ...steps: readonly string[]): DocumentPart | undefined {
    let at: DocumentPart | undefined = part
    for (const step of steps) {
      const value: unknown = at === undefined ? undefined : at.value[step]
      if (!isObject(value)) return undefined
      at = this.follow({ value, pointer: `${at!.pointer}/${escapePointer(step)}` })
    }
    return at
  }

  /** What a reference leads to; the part itself where it is none. */
  follow(part: DocumentPart): DocumentPart {
    let at = part
    for (let steps = 0; typeof at.value.$ref === 'string'; steps++) {
      const { $ref } = at.value
      const found = $ref.startsWith('#') && steps < 100 ? this.#resolvePointer($ref) : undefined
      if (found === undefined) {
        throw new DocumentError(
          `${at.pointer}/$ref: '${$ref}' leads to nothing in this document. Bundle it into one file.`,
        )
      }
      at = found
    }
    return at
  }

  #resolvePointer(pointer: string): DocumentPart | undefined {
    let value: unknown = this.root
    for (const step of pointer.split('/').slice(1)) {
      value = isObject(value) || Array.isArray(value) ? (value as Json)[unescapePointer(step)] : undefined
    }
    return isObject(value) ? { value, pointer } : undefined
  }

  #operationsOf(path: string): DocumentOperation[] {
    const item = this.partAt({ value: this.root, pointer: '#' }, 'paths', path)
    if (item === undefined) return []
    return METHODS.flatMap(method => {
      const at = this.partAt(item, method)
      if (at === undefined) return []
      const responses = Object.keys(toObject(at.value.responses)).flatMap(status => {
        const response = this.partAt(at, 'responses', status)
        return response === undefined ? [] : [[status, response] as const]
      })
      return [
        {
          ...{ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, at },
          parameters: this.#parametersOf(item, at),
          body: this.partAt(at, 'requestBody'),
          responses: new Map(responses),
        },
      ]
    })
  }

  /** Those of the operation, and those of its path that it does not say anew. */
  #parametersOf(item: DocumentPart, operation: DocumentPart): DocumentPart[] {
    const listed = (part: DocumentPart) =>
      (Array.isArray(part.value.parameters) ? (part.value.parameters as unknown[]) : [])
        .filter(isObject)
        .map((value, i) => this.follow({ value, pointer: `${part.pointer}/parameters/${i}` }))
    const own = listed(operation)
    const isOverridden = ({ value }: DocumentPart) =>
      own.some(one => one.value.name === value.name && one.value.in === value.in)
    return [...own, ...listed(item).filter(one => !isOverridden(one))]
  }
}

/** The schema of a JSON body in a request body or a response; undefined where it has none. */
export function jsonSchemaOf(document: OpenapiDocument, part: DocumentPart): DocumentPart | undefined {
  const media = mediaTypesOf(part).find(type => /[/+]json\b/i.test(type) || type === '*/*')
  return media === undefined ? undefined : document.partAt(part, 'content', media, 'schema')
}

/** What a request body or a response says of a content type; undefined where it does not name it. */
export function contentOf(document: OpenapiDocument, part: DocumentPart, type: string): DocumentPart | undefined {
  const media = mediaTypesOf(part).find(one => !one.startsWith('*/') && matchesMediaType(one, type))
  return media === undefined ? undefined : document.partAt(part, 'content', media)
}

/** Whether a content type is one that a document names, ranges included. */
export function matchesMediaType(declared: string, type: string): boolean {
  const plain = declared.split(';', 1)[0]!.trim().toLowerCase()
  return plain === '*/*' || plain === type || (plain.endsWith('/*') && type.startsWith(plain.slice(0, -1)))
}

export function mediaTypesOf({ value }: DocumentPart): string[] {
  return Object.keys(toObject(value.content))
}

/** 3.0 said null and exclusive bounds by flags of their own. */
function upgradeFrom30(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(upgradeFrom30)
  if (!isObject(value)) return value
  const converted = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, DATA_KEYWORDS.includes(key) ? inner : upgradeFrom30(inner)]),
  ) as Record<string, unknown>
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
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

/** What stands below is an example, not a part of the document. */
const DATA_KEYWORDS = ['example', 'examples', 'default', 'enum', 'const']

function basePathOf({ servers }: Json): string {
  const [first] = Array.isArray(servers) ? (servers as unknown[]) : []
  const url = isObject(first) && typeof first.url === 'string' ? first.url : '/'
  const path = URL.canParse(url, 'http://any') ? new URL(url, 'http://any').pathname : '/'
  return path.replace(/\/+$/, '')
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function toObject(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function escapePointer(step: string): string {
  return encodeURI(step.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('#', '%23')
}

function unescapePointer(step: string): string {
  let plain = step
  try {
    plain = decodeURIComponent(step)
  } catch {
    // Not every writer escapes for an address.
  }
  return plain.replaceAll('~1', '/').replaceAll('~0', '~')
}
