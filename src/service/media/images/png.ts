/** Writes and checks PNG files (PNG specification, third edition). */
import { Unzlib, zlibSync } from 'fflate/browser'

export const PNG_SIGNATURE: readonly number[] = [137, 80, 78, 71, 13, 10, 26, 10]
/** Types of chunks: their four letters as a number. */
const [IHDR, IDAT, IEND] = [0x49484452, 0x49444154, 0x49454e44] as const
const INDEXED_COLOR = 3
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})
/** Samples of a pixel, and the allowed bits of a sample, by colour type. */
const COLOR_TYPES: Readonly<Record<number, { readonly samples: number; readonly depths: readonly number[] }>> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
}
/** The seven passes of an interlaced image: first column and row, and the steps between columns and rows. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const
/** Compressed bytes that are read at once, so that a small file cannot become gigabytes. */
const PIECE_BYTES = 16_384

export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** A file that is not a readable image. Its message completes "the image is invalid: …". */
export class InvalidImageError extends Error {}

/**
 * Returns an image with a palette as a PNG file. Equal inputs give equal bytes on every platform.
 *
 * @param rows for each row a 0 and then one index of the palette for each pixel
 * @param palette red, green and blue of up to 256 colours
 */
export function encodePng(
  { width, height }: ImageSize,
  rows: Uint8Array,
  palette: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(13)
  const view = new DataView(header.buffer)
  view.setUint32(0, width)
  view.setUint32(4, height)
  header.set([8, INDEXED_COLOR], 8)
  const chunks: readonly [type: string, data: Uint8Array][] = [
    ['IHDR', header],
    ['PLTE', palette],
    ['IDAT', zlibSync(rows, { level: 1 })],
    ['IEND', new Uint8Array(0)],
  ]
  const bytes = new Uint8Array(chunks.reduce((sum, [, data]) => sum + data.length + 12, PNG_SIGNATURE.length))
  bytes.set(PNG_SIGNATURE)
  const output = new DataView(bytes.buffer)
  let at = PNG_SIGNATURE.length
  for (const [type, data] of chunks) {
    output.setUint32(at, data.length)
    for (let i = 0; i < 4; i++) bytes[at + 4 + i] = type.charCodeAt(i)
    bytes.set(data, at + 8)
    output.setUint32(at + 8 + data.length, crc32(bytes, at + 4, at + 8 + data.length))
    at += data.length + 12
  }
  return bytes
}

/**
 * Reads a PNG file to its end: chunks with their checksums, and pixels of the stated size. Returns its size.
 *
 * @throws InvalidImageError
 */
export function readPng(bytes: Uint8Array, maxPixels: number): ImageSize {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let header: Uint8Array | undefined
  // The parts of the compressed pixels are joined, so many small chunks cost no more than a large one.
  const pixels = new Uint8Array(bytes.length)
  let pixelBytes = 0
  for (let at = PNG_SIGNATURE.length; ; ) {
    if (at + 12 > bytes.length) throw new InvalidImageError('the PNG ends too early')
    const length = view.getUint32(at)
    const end = at + 8 + length
    if (end + 4 > bytes.length) throw new InvalidImageError('the PNG ends too early')
    if (crc32(bytes, at + 4, end) !== view.getUint32(end)) {
      throw new InvalidImageError('a checksum of the PNG is wrong')
    }
    const type = view.getUint32(at + 4)
    if ((type === IHDR) !== (header === undefined)) throw new InvalidImageError('the PNG has no header at its start')
    if (type === IHDR) header = bytes.subarray(at + 8, end)
    if (type === IDAT) {
      pixels.set(bytes.subarray(at + 8, end), pixelBytes)
      pixelBytes += length
    }
    at = end + 4
    if (type === IEND) break
  }
  const { size, dataBytes } = readHeader(header!, maxPixels)
  checkPixels(pixels.subarray(0, pixelBytes), dataBytes)
  return size
}

function readHeader(header: Uint8Array, maxPixels: number): { readonly size: ImageSize; readonly dataBytes: number } {
  const [depth = 0, colorType = -1, compression, filter, interlace] = header.subarray(8)
  const color = COLOR_TYPES[colorType]
  if (header.length !== 13 || !color?.depths.includes(depth) || compression !== 0 || filter !== 0 || interlace! > 1) {
    throw new InvalidImageError('the PNG has an invalid header')
  }
  const view = new DataView(header.buffer, header.byteOffset)
  const size = { width: view.getUint32(0), height: view.getUint32(4) }
  requirePixels(size, maxPixels)
  const bytesOf = (width: number, height: number) =>
    width === 0 ? 0 : (Math.ceil((width * depth * color.samples) / 8) + 1) * height
  if (interlace === 0) return { size, dataBytes: bytesOf(size.width, size.height) }
  let dataBytes = 0
  for (const [column, row, columnStep, rowStep] of PASSES) {
    const width = Math.max(0, Math.ceil((size.width - column) / columnStep))
    dataBytes += bytesOf(width, Math.max(0, Math.ceil((size.height - row) / rowStep)))
  }
  return { size, dataBytes }
}

/** Throws InvalidImageError for an image without pixels or with too many. */
export function requirePixels({ width, height }: ImageSize, maxPixels: number): void {
  if (width === 0 || height === 0) throw new InvalidImageError('it has no pixels')
  if (width * height <= maxPixels) return
  throw new InvalidImageError(`it has ${width}x${height} pixels, and the maximum is ${maxPixels} in all`)
}

/** Throws InvalidImageError unless the data expands to exactly this many bytes. */
function checkPixels(data: Uint8Array, expectedBytes: number): void {
  let bytes = 0
  let isComplete = false
  const unzlib = new Unzlib((piece, isLast) => {
    bytes += piece.length
    isComplete = isLast
  })
  try {
    for (let at = 0; at < data.length && bytes <= expectedBytes; at += PIECE_BYTES) {
      unzlib.push(data.subarray(at, at + PIECE_BYTES))
    }
    if (bytes <= expectedBytes) unzlib.push(new Uint8Array(0), true)
  } catch {
    throw new InvalidImageError('the pixels of the PNG cannot be read')
  }
  if (isComplete && bytes === expectedBytes) return
  throw new InvalidImageError('the PNG does not have the pixels that its header states')
}

/** Returns the CRC-32 of the bytes from `start` to before `end`. */
function crc32(bytes: Uint8Array, start: number, end: number): number {
  let crc = -1
  for (let i = start; i < end; i++) crc = CRC_TABLE[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8)
  return ~crc >>> 0
}
