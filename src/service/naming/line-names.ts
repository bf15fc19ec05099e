/**
 * Maps the lines of batch files between neutral and vendor names. Files of a world have neutral rows, and an uploaded file
 * is kept as it was sent. Rows get vendor names when a client reads them, and lines get neutral names when a batch does.
 */

import { hashBytes } from '../../kernel/random.ts'
import { tryParseJson } from '../../lib/json-text.ts'
import { oncePer } from '../../lib/once.ts'
import type { BatchRecord } from '../../simulation/batches/batch-handle.ts'
import { JsonlWriter } from '../../simulation/batches/batch-output.ts'
import { decodeLines, type FileContent, type FileHandle } from '../../simulation/batches/files.ts'
import { BATCH_ENDPOINTS, type BatchEndpoint } from '../../simulation/batches/input-lines.ts'
import { BatchRequestLine, BatchResultLine } from '../batch-lines.ts'
import type { AnyEndpoint, Operations } from '../endpoint.ts'
import { type EndpointMapping, SchemaMapping } from './endpoint-mapping.ts'
import type { Names } from './names-profile.ts'
import { outputShape } from './schema-shape.ts'

type Line = Readonly<Record<string, unknown>>

/** The bytes of a file as a client reads them. */
type ReadContent = Pick<FileContent, 'chunks' | 'bytes'>

/** The parts of a mapping that lines need. */
interface RequestNames {
  readonly names: Names
  aliasPaths(path: string): readonly string[]
  forEndpoint(endpoint: AnyEndpoint): EndpointMapping
}

const LINE_FEED = 10

/** The names of the lines of batch files under a names profile. */
export class LineNames {
  readonly #mapping: RequestNames
  readonly #requestMapping: SchemaMapping
  readonly #resultMapping: SchemaMapping
  /** The mappings of the endpoints of batches. */
  readonly #endpointMappings: ReadonlyMap<unknown, EndpointMapping>
  /** Every `url` of a line that leads to an endpoint. */
  readonly #endpointsByUrl: ReadonlyMap<unknown, BatchEndpoint>
  /** Results with vendor names, by the chunks of their file, which never change. */
  readonly #vendorContent = oncePer((chunks: readonly Uint8Array[]): ReadContent => {
    const writer = new JsonlWriter()
    for (const text of decodeLines(chunks)) writer.push(rewriteLine(text, row => this.#toVendorRow(row)))
    return writer.finish()
  })

  constructor(mapping: RequestNames, operations: Operations) {
    this.#mapping = mapping
    this.#requestMapping = new SchemaMapping(outputShape(BatchRequestLine), mapping.names, '')
    this.#resultMapping = new SchemaMapping(outputShape(BatchResultLine), mapping.names, '')
    const endpoints = (Object.values(operations) as AnyEndpoint[]).filter(
      ({ method, path }) => method === 'POST' && BATCH_ENDPOINTS.some(one => one === path),
    )
    this.#endpointMappings = new Map(endpoints.map(one => [one.path, mapping.forEndpoint(one)]))
    this.#endpointsByUrl = new Map(
      BATCH_ENDPOINTS.flatMap(path =>
        [...mapping.aliasPaths(path), path, mapping.names.toVendorValue(path)].map(url => [url, path] as const),
      ),
    )
  }

  /**
   * Returns a line of an input file with neutral names.
   *
   * @param batchEndpoint the endpoint of its batch. Default: that of its `url`
   */
  toInternalLine(vendorLine: Line, batchEndpoint?: BatchEndpoint): Line {
    const line = this.#requestMapping.toInternal(vendorLine) as Line
    const endpoint = this.#endpointsByUrl.get(line.url)
    // A line of another endpoint is refused with the url that the client wrote.
    const isExpected = endpoint !== undefined && (batchEndpoint === undefined || endpoint === batchEndpoint)
    const body = this.#endpointMappings.get(batchEndpoint ?? endpoint)?.body?.toInternal(line.body) ?? line.body
    return { ...line, ...(isExpected && { url: endpoint }), ...(body !== undefined && { body }) }
  }

  /**
   * Returns the content of an upload with neutral names. It identifies the file, so that a world with vendor names and
   * one with neutral names have equal files. Lines without a vendor name stay as they are.
   */
  toInternalContent(content: FileContent): Pick<FileContent, 'bytes' | 'hash'> {
    const texts = [...decodeLines(content.chunks)]
    const lines = texts.map(text => rewriteLine(text, line => this.toInternalLine(line)))
    if (lines.every((line, nth) => line === texts[nth])) return content
    const isEnded = content.chunks.at(-1)?.at(-1) === LINE_FEED
    const bytes = new TextEncoder().encode(`${lines.join('\n')}${isEnded ? '\n' : ''}`)
    return { bytes: bytes.length, hash: hashBytes(bytes) }
  }

  /** Returns the content of a file as a client reads it: rows of results have vendor names. */
  toVendorContent(file: FileHandle): ReadContent {
    const chunks = file.chunks()
    if (file.purpose !== 'batch_output') return { chunks, bytes: file.bytes }
    return this.#vendorContent(chunks)
  }

  /** Returns a row that a client has read. Its own fields have neutral names, and the body of its answer stays. */
  toInternalRow(vendorRow: Line): Line {
    return this.#resultMapping.toInternal(vendorRow) as Line
  }

  /** Returns the record of a batch whose errors name the fields of the vendor, as in `body.max_tokens`. */
  nameErrors(record: BatchRecord): BatchRecord {
    const { errors, endpoint } = record
    if (!errors) return record
    const toVendorParam = (param: string): string => {
      const prefix = `${endpoint}.`
      if (param.startsWith(prefix)) {
        return `${this.#mapping.names.toVendorValue(endpoint)}.${toVendorParam(param.slice(prefix.length))}`
      }
      const [first = '', ...steps] = param.split('.')
      const body = first === 'body' ? this.#endpointMappings.get(endpoint)?.body : undefined
      return [...this.#requestMapping.toVendorFieldPath([first]), ...(body?.toVendorFieldPath(steps) ?? steps)].join(
        '.',
      )
    }
    const data = errors.data.map(error => ({
      ...error,
      message: this.#endpointMappings.get(endpoint)?.nameMessage(error.message) ?? error.message,
      param: error.param && toVendorParam(error.param),
    }))
    return { ...record, errors: { ...errors, data } }
  }

  #toVendorRow(row: Line): Line {
    const response = row.response as Line | null
    const mapping = this.#endpointMappings.get(response?.endpoint)
    const named =
      mapping === undefined
        ? row
        : { ...row, response: { ...response, body: mapping.returns.toVendor(response!.body) } }
    return this.#resultMapping.toVendor(named) as Line
  }
}

/** Returns the text of a line after a change of its object; the text itself if nothing changes or it is not an object. */
function rewriteLine(text: string, change: (line: Line) => Line): string {
  const line = tryParseJson(text)
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return text
  const changedText = JSON.stringify(change(line as Line))
  return changedText === JSON.stringify(line) ? text : changedText
}
