/** The files of a fixture: what they say is the same in every world that begins with it, so it is read once. */
import { ByteHash } from '../kernel/random.ts'
import type { FileSeed } from '../store/records.ts'
import { type BatchEndpoint, type ReadLines, readBatchLines } from './batch-lines.ts'
import { type Content, linesOf } from './files.ts'
import type { TokenCounter } from './world.ts'

interface Reading {
  readonly endpoint: BatchEndpoint
  readonly count: TokenCounter
  readonly lines: ReadLines
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

/** What a batch finds in its input: of a file that was uploaded, read anew. */
export function readInput(input: readonly Uint8Array[], endpoint: BatchEndpoint, count: TokenCounter): ReadLines {
  const known = readings.get(input)
  const reading = known?.find(one => one.endpoint === endpoint && one.count === count)
  if (reading !== undefined) return reading.lines
  const lines = readBatchLines(linesOf(input), endpoint, count)
  if (known !== undefined) readings.set(input, [...known, { endpoint, count, lines }])
  return lines
}
