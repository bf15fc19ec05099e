import { type ByteReader, MalformedAudioError } from './byte-reader.ts'

const SEGMENT = 0x18538067
const INFO = 0x1549a966
const TIMESTAMP_SCALE = 0x2ad7b1
const DURATION = 0x4489
const CLUSTER = 0x1f43b675
const CLUSTER_TIMESTAMP = 0xe7
const SIMPLE_BLOCK = 0xa3
const BLOCK_GROUP = 0xa0
const BLOCK = 0xa1

/** Elements whose children are read. They are entered, not nested, so that a file cannot nest too deep. */
const CONTAINERS: ReadonlySet<number> = new Set([SEGMENT, INFO, CLUSTER, BLOCK_GROUP])

interface Element {
  readonly id: number
  readonly start: number
  readonly end: number
}

/**
 * Returns the seconds of a WebM file: its stated length, or the time of its last block. Recorders of browsers state no
 * length, because they write while they record.
 */
export function readWebmSeconds(reader: ByteReader): number {
  let scale = 1_000_000
  let duration = 0
  let clusterTime = 0
  let last = 0
  for (const { id, start, end } of elementsOf(reader)) {
    if (id === TIMESTAMP_SCALE) scale = readInteger(reader, start, end)
    else if (id === DURATION && (end - start === 4 || end - start === 8)) duration = reader.float(start, end - start)
    else if (id === CLUSTER_TIMESTAMP) clusterTime = readInteger(reader, start, end)
    else if (id === SIMPLE_BLOCK || id === BLOCK) {
      // The number of a track takes one byte, for up to 126 tracks; a signed time follows.
      const time = reader.uint16(start + 1)
      last = Math.max(last, clusterTime + (time >= 32_768 ? time - 65_536 : time))
    }
  }
  return ((duration > 0 ? duration : last) * scale) / 1e9
}

/** Yields the elements in order. A container is followed by its children. */
function* elementsOf(reader: ByteReader): Generator<Element> {
  for (let offset = 0; offset < reader.length; ) {
    const idBytes = lengthOfNumber(reader, offset)
    const id = readInteger(reader, offset, offset + idBytes)
    const sizeOffset = offset + idBytes
    if (sizeOffset >= reader.length) return
    const sizeBytes = lengthOfNumber(reader, sizeOffset)
    const size = readInteger(reader, sizeOffset, sizeOffset + sizeBytes) - 2 ** (7 * sizeBytes)
    const start = sizeOffset + sizeBytes
    const end = Math.min(reader.length, start + size)
    yield { id, start, end }
    offset = CONTAINERS.has(id) ? start : end
  }
}

/** Returns how many bytes a number of variable length takes, by its first set bit. */
function lengthOfNumber(reader: ByteReader, offset: number): number {
  const length = Math.clz32(reader.uint8(offset)) - 23
  if (length > 8) throw new MalformedAudioError('a number of it is longer than 8 bytes')
  return length
}

function readInteger(reader: ByteReader, from: number, to: number): number {
  let value = 0
  for (let offset = from; offset < to; offset++) value = value * 256 + reader.uint8(offset)
  return value
}
