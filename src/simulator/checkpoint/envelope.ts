/** The envelope of a snapshot: its description, its checksum, and the versions that can read it. */

import { hashBytes } from '../../kernel/random.ts'
import { byteLengthOf, concatBytes } from '../../lib/bytes.ts'
import { acceptCopies, attempt } from '../../lib/errors.ts'
import { VERSION } from '../../lib/version.ts'

/** The version of the file format. */
export const FORMAT_VERSION = 8

const MAGIC = 'modelhost-sim snapshot '
const LINE_END = 10

/** A snapshot cannot be read, written or restored. Nothing has changed then. */
export class SnapshotError extends RangeError {
  override readonly name = 'SnapshotError'
}
acceptCopies(SnapshotError, 'SnapshotError')

/** The description of a snapshot. */
export interface SnapshotInfo {
  /** The version of modelhost-sim that it was taken with. */
  readonly version: string
  /** The fixture of the world: a name or a path, or `given`. */
  readonly fixtures: string
  readonly seed: string
  /** The name of the profile. */
  readonly profile: string
  /** The world's time zero and its time, ISO 8601. */
  readonly epoch: string
  readonly now: string
  readonly digest: string
}

/**
 * Returns two lines of text (format and checksum), a line of JSON (description and length), and the content. The checksum
 * covers everything after it.
 */
export function writeEnvelope(info: SnapshotInfo, content: readonly Uint8Array[]): Uint8Array {
  const header = encode(`${JSON.stringify({ ...info, bytes: byteLengthOf(content) })}\n`)
  const start = encode(`${MAGIC}${FORMAT_VERSION}\n${hashBytes(header, ...content)}\n`)
  return concatBytes([start, header, ...content])
}

/**
 * @param what names the snapshot in errors
 * @throws SnapshotError for bytes that are not a snapshot, are damaged, or have another format or version
 */
export function readEnvelope(bytes: Uint8Array, what: string): { about: SnapshotInfo; content: Uint8Array } {
  const refuse = (reason: string): never => {
    throw new SnapshotError(`Failed to read ${what}: ${reason}`)
  }
  const magic = encode(MAGIC)
  if (bytes.length < magic.length || magic.some((byte, i) => bytes[i] !== byte)) {
    return refuse(
      'it is not a snapshot of modelhost-sim. Give a file that `modelhost-sim fixture save` or `saveSnapshot` wrote.',
    )
  }
  const [form, afterForm] = readLine(bytes, magic.length)
  const [checksum, afterChecksum] = readLine(bytes, afterForm)
  const [header, afterHeader] = readLine(bytes, afterChecksum)
  if (/^\d{1,9}$/.test(form) && form !== String(FORMAT_VERSION)) {
    return refuse(
      `it is of format ${form}, and modelhost-sim ${VERSION} reads format ${FORMAT_VERSION}. Use the version that wrote it, or take another.`,
    )
  }
  const damaged = () =>
    refuse('it is damaged: its checksum does not fit. Take another copy of it, or another snapshot.')
  const about = parseHeader(header)
  if (about !== undefined && bytes.length < afterHeader + about.bytes) {
    return refuse(
      `it is cut off: ${bytes.length} of ${afterHeader + about.bytes} bytes are there. Take another copy of it, or another snapshot.`,
    )
  }
  if (about === undefined || hashBytes(bytes.subarray(afterChecksum)) !== checksum) return damaged()
  if (about.version !== VERSION) {
    return refuse(
      `it was taken with modelhost-sim ${about.version}, and this is ${VERSION}, where the same seed may bring about something else. ` +
        'Use that version, or take another.',
    )
  }
  return { about, content: bytes.subarray(afterHeader) }
}

/** Returns a line of text and the offset of the next line. */
function readLine(bytes: Uint8Array, start: number): [line: string, next: number] {
  const end = bytes.indexOf(LINE_END, start)
  const stop = end < 0 ? bytes.length : end
  return [new TextDecoder().decode(bytes.subarray(start, stop)), Math.min(bytes.length, stop + 1)]
}

function parseHeader(header: string): (SnapshotInfo & { bytes: number }) | undefined {
  const info = attempt(() => JSON.parse(header))
  return Number.isInteger(info?.bytes) ? info : undefined
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
