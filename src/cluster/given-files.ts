/** The files of a fixture: what they say is the same in every world that begins with it, so it is read once. */
import { ByteHash } from '../kernel/random.ts'
import type { FileSeed } from '../store/records.ts'
import { type BatchEndpoint, type LineRequest, type LineTaker, type ReadLines, readBatchLines } from './batch-lines.ts'
import { type Content, linesOf } from './files.ts'

interface Reading extends ReadLines {
  readonly endpoint: BatchEndpoint
  readonly requests: readonly LineRequest[]
  /** Whether the bodies were read, too: not as long as a world is only made, which waits for nothing. */
  readonly isRead: boolean
}

/** By the frozen record. */
const contents = new WeakMap<FileSeed, Content>()
/** By the chunks of such a content, which never change. */
const readings = new WeakMap<readonly Uint8Array[], readonly Reading[]>()

/** The bytes of a file of a fixture; undefined where it says none. */
export function contentOf(seed: FileSeed): Content | undefined {
  if (seed.content === undefined) return undefined
  const known = contents.get(seed)
  if (known !== undefined) return known
  const bytes = new TextEncoder().encode(seed.content)
  const hash = new ByteHash()
  hash.update(bytes)
  const content = { chunks: [bytes], bytes: bytes.length, hash: hash.digest() }
  contents.set(seed, content)
  readings.set(content.chunks, [])
  return content
}

/**
 * Reads the input of a batch: a file that was uploaded anew, and none of its lines is kept.
 *
 * @param read what a body asks, in whatever world it is; undefined where that is left for later
 */
export function readInput(
  input: readonly Uint8Array[],
  endpoint: BatchEndpoint,
  take: LineTaker,
  read?: (body: LineRequest['body']) => unknown,
): ReadLines {
  const known = readings.get(input)
  if (known === undefined) return readBatchLines(linesOf(input), endpoint, take)
  let reading = known.find(one => one.endpoint === endpoint)
  if (reading === undefined || (read !== undefined && !reading.isRead)) {
    reading = readGiven(input, endpoint, read)
    readings.set(input, [...known.filter(one => one.endpoint !== endpoint), reading])
  }
  for (const request of reading.requests) take(request, reading.model)
  return reading
}

function readGiven(
  input: readonly Uint8Array[],
  endpoint: BatchEndpoint,
  read: ((body: LineRequest['body']) => unknown) | undefined,
): Reading {
  const requests: LineRequest[] = []
  const found = readBatchLines(linesOf(input), endpoint, ({ customId, body }) =>
    requests.push({ customId, body, read: read?.(body) }),
  )
  return { ...found, endpoint, requests, isRead: read !== undefined }
}
