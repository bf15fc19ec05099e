/**
 * Maps the lines of batch files between neutral and vendor names. Files of a world have neutral rows, and an uploaded file
 * is kept as it was sent. Rows get vendor names when a client reads them, and lines get neutral names when a batch does.
 */

import { ByteHash } from '../../kernel/random.ts'
import { tryParseJson } from '../../lib/json-text.ts'
import type { BatchRecord } from '../../simulation/batches/batch-row.ts'
import { decodeLines, type FileContent, type FileHandle } from '../../simulation/batches/files.ts'
import type { BatchEndpoint, BatchError } from '../../simulation/batches/input-lines.ts'
import { JsonlWriter } from '../../simulation/batches/jsonl-writer.ts'
import type { FileNames } from '../api-scope.ts'
import { BatchRequestLine, BatchResultLine } from '../batch-lines.ts'
import type { AnyEndpoint, Operations } from '../endpoint.ts'
import { type EndpointMapping, SchemaMapping } from './endpoint-mapping.ts'
import type { Alias } from './free-sections.ts'
import type { Names } from './names-profile.ts'
import { outputShape, type SchemaShape } from './schema-shape.ts'

type Line = Readonly<Record<string, unknown>>

/** The bytes of a file as a client reads them. */
type ReadContent = Pick<FileContent, 'chunks' | 'bytes'>

/** The parts of a mapping that lines need. */
interface RequestNames {
  readonly names: Names
  readonly aliases: readonly Alias[]
  forEndpoint(endpoint: AnyEndpoint): EndpointMapping
}

const ENDPOINTS: readonly BatchEndpoint[] = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings']

/** The names of the lines of batch files under a names profile. */
export class LineNames implements FileNames {
  readonly #mapping: RequestNames
  readonly #operations: Operations
  readonly #requestMapping: SchemaMapping
  readonly #resultMapping: SchemaMapping
  /** The mapping of rows whose message is a text of the user. */
  readonly #quotedResultMapping: SchemaMapping
  /** Every `url` of a line that leads to an endpoint. */
  readonly #endpointsByUrl: ReadonlyMap<string, BatchEndpoint>
  readonly #bodyMappings = new Map<BatchEndpoint, EndpointMapping | undefined>()
  /** Contents with vendor names by the chunks with neutral ones, which never change. */
  readonly #vendorContents = new WeakMap<readonly Uint8Array[], ReadContent>()

  constructor(mapping: RequestNames, operations: Operations) {
    this.#mapping = mapping
    this.#operations = operations
    this.#requestMapping = new SchemaMapping(outputShape(BatchRequestLine), mapping.names, '')
    const resultShape = outputShape(BatchResultLine)
    this.#resultMapping = new SchemaMapping(resultShape, mapping.names, '')
    this.#quotedResultMapping = new SchemaMapping(withFreeMessage(resultShape), mapping.names, '')
    const aliases = mapping.aliases.map(({ path, operation }) => [path, operations[operation]!.path] as const)
    this.#endpointsByUrl = new Map([
      ...aliases.filter((one): one is readonly [string, BatchEndpoint] => isBatchEndpoint(one[1])),
      ...ENDPOINTS.flatMap(endpoint => [[endpoint, endpoint] as const, [this.#urlOf(endpoint), endpoint] as const]),
    ])
  }

  /**
   * Returns a line of an input file with neutral names.
   *
   * @param batchEndpoint the endpoint of its batch. Default: that of its `url`
   */
  toInternalLine(vendorLine: Line, batchEndpoint?: BatchEndpoint): Line {
    const line = this.#requestMapping.toInternal(vendorLine) as Line
    const endpoint = this.#endpointsByUrl.get(line.url as string)
    // A line of another endpoint is refused with the url that the client wrote.
    const isExpected = endpoint !== undefined && (batchEndpoint === undefined || endpoint === batchEndpoint)
    const body = this.#bodyMapping(batchEndpoint ?? endpoint)?.body?.toInternal(line.body) ?? line.body
    return { ...line, ...(isExpected && { url: endpoint }), ...(body !== undefined && { body }) }
  }

  /**
   * Returns the content of an upload with neutral names. It identifies the file, so that a world with vendor names and
   * one with neutral names have equal files. Lines without a vendor name stay as they are.
   */
  toInternalContent(content: FileContent): Pick<FileContent, 'bytes' | 'hash'> {
    let isChanged = false
    const lines: string[] = []
    for (const text of decodeLines(content.chunks)) {
      const parsed = tryParseJson(text)
      const internal = isObject(parsed) ? JSON.stringify(this.toInternalLine(parsed)) : undefined
      const isSame = internal === undefined || internal === text || internal === JSON.stringify(parsed)
      isChanged ||= !isSame
      lines.push(isSame ? text : internal)
    }
    if (!isChanged) return content
    const isEnded = content.chunks.at(-1)?.at(-1) === LINE_FEED
    const bytes = new TextEncoder().encode(`${lines.join('\n')}${isEnded ? '\n' : ''}`)
    const hash = new ByteHash()
    hash.update(bytes)
    return { bytes: bytes.length, hash: hash.digest() }
  }

  /** Returns the content of a file as a client reads it: rows of results have vendor names. */
  toVendorContent(file: FileHandle): ReadContent {
    const chunks = file.chunks()
    if (file.purpose !== 'batch_output') return { chunks, bytes: file.bytes }
    const cachedContent = this.#vendorContents.get(chunks)
    if (cachedContent !== undefined) return cachedContent
    const writer = new JsonlWriter()
    const quotedLines = new Set(file.quotedLines)
    let line = 0
    for (const text of decodeLines(chunks)) writer.push(this.#toVendorRow(text, quotedLines.has(line++)))
    const content = writer.finish()
    this.#vendorContents.set(chunks, content)
    return content
  }

  /** Returns a row that a client has read. Its own fields have neutral names, and the body of its answer stays. */
  toInternalRow(vendorRow: Line): Line {
    return this.#resultMapping.toInternal(vendorRow) as Line
  }

  /** Returns the record of a batch whose errors name the fields of the vendor. */
  nameErrors(record: BatchRecord): BatchRecord {
    const { errors } = record
    if (!errors) return record
    const endpoint = record.endpoint as BatchEndpoint
    return { ...record, errors: { ...errors, data: errors.data.map(error => this.#nameError(error, endpoint)) } }
  }

  #nameError(error: BatchError, endpoint: BatchEndpoint): BatchError {
    if (error.param === null) return error
    const isLong = error.param.startsWith(`${endpoint}.`)
    const field = isLong ? error.param.slice(endpoint.length + 1) : error.param
    const vendorField = this.#toVendorField(field, endpoint)
    const param = isLong ? `${this.#urlOf(endpoint)}.${vendorField}` : vendorField
    // These messages begin with the field.
    const isAboutField = error.message.startsWith(`${field} `)
    const message = isAboutField ? `${vendorField}${error.message.slice(field.length)}` : error.message
    const isAboutUrl = field === 'url' && message.endsWith(endpoint)
    return {
      ...error,
      param,
      message: isAboutUrl ? `${message.slice(0, -endpoint.length)}${this.#urlOf(endpoint)}` : message,
    }
  }

  /** Returns the vendor name of a field of a line, as in `body.max_tokens`. */
  #toVendorField(field: string, endpoint: BatchEndpoint): string {
    const [first = '', ...steps] = field.split('.')
    const inBody = first === 'body' ? this.#bodyMapping(endpoint)?.body?.toVendorFieldPath(steps) : undefined
    return [...this.#requestMapping.toVendorFieldPath([first]), ...(inBody ?? steps)].join('.')
  }

  #toVendorRow(text: string, isQuoted: boolean): string {
    const row = tryParseJson(text)
    if (!isObject(row)) return text
    const { response } = row
    const named = isObject(response) ? { ...row, response: this.#nameResponse(response) } : row
    const mapping = isQuoted ? this.#quotedResultMapping : this.#resultMapping
    const vendorText = JSON.stringify(mapping.toVendor(named))
    return vendorText === JSON.stringify(row) ? text : vendorText
  }

  #nameResponse(response: Line): Line {
    const mapping = isBatchEndpoint(response.endpoint) ? this.#bodyMapping(response.endpoint) : undefined
    return mapping === undefined ? response : { ...response, body: mapping.returns.toVendor(response.body) }
  }

  #bodyMapping(endpoint: BatchEndpoint | undefined): EndpointMapping | undefined {
    if (endpoint === undefined) return undefined
    if (this.#bodyMappings.has(endpoint)) return this.#bodyMappings.get(endpoint)
    const declared = Object.values(this.#operations as Operations<unknown>).find(
      one => one.path === endpoint && one.method === 'POST',
    )
    const mapping = declared && this.#mapping.forEndpoint(declared as AnyEndpoint)
    this.#bodyMappings.set(endpoint, mapping)
    return mapping
  }

  /** Returns the `url` of an endpoint in the words of the vendor. */
  #urlOf(endpoint: BatchEndpoint): string {
    return this.#mapping.names.toVendorValue(endpoint)
  }
}

const LINE_FEED = 10

/** Returns the shape of a row whose message is a text of the user. */
function withFreeMessage(shape: SchemaShape): SchemaShape {
  const error = shape.fields.get('error')!
  const message = { ...error.fields.get('message')!, textRole: undefined }
  const freeError = { ...error, fields: new Map([...error.fields, ['message', message]]) }
  return { ...shape, fields: new Map([...shape.fields, ['error', freeError]]) }
}

function isBatchEndpoint(path: unknown): path is BatchEndpoint {
  return ENDPOINTS.some(endpoint => endpoint === path)
}

function isObject(value: unknown): value is Line {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
