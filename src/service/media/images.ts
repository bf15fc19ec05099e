/** Images: PNG files of one colour, and the sizes of uploads (PNG specification, third edition). */
import { zlibSync } from 'fflate/browser'
import { type Chance, purpose } from '../../kernel/random.ts'
import { concatBytes } from '../../lib/bytes.ts'

const CONTENT = purpose('image.content')
const PNG_SIGNATURE = Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10)

export interface ImageSize {
  /** In pixels, from 1. */
  readonly width: number
  readonly height: number
}

/** What determines the images of a request. Equal values give equal images with the same seed. */
export interface ImageSource extends ImageSize {
  /** The full name of the model. */
  readonly model: string
  readonly prompt: string
  /** Everything else that changes the images, such as hashes of uploads. '': only the prompt does. */
  readonly source: string
  readonly count: number
}

/** Returns PNG files, each of one drawn colour. */
export function drawImages(
  chance: Chance,
  { model, prompt, source, count, ...size }: ImageSource,
): Uint8Array<ArrayBuffer>[] {
  return Array.from({ length: count }, (_, index) => {
    const color = chance.hex(6, chance.key('image', `${model}\u0000${prompt}\u0000${source}`, index), CONTENT)
    return encodePng(size, Number.parseInt(color, 16))
  })
}

/** Returns a PNG file of one colour, a number of 24 bits. Equal inputs give equal bytes on every platform. */
function encodePng({ width, height }: ImageSize, color: number): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(13)
  new DataView(header.buffer).setUint32(0, width)
  new DataView(header.buffer).setUint32(4, height)
  // One bit for each pixel: the index of its colour in a palette.
  header.set([1, 3], 8)
  const palette = Uint8Array.of(color >> 16, color >> 8, color)
  const pixels = zlibSync(new Uint8Array((1 + Math.ceil(width / 8)) * height), { level: 1 })
  const [start, end] = [createChunk('IHDR', header), createChunk('IEND', new Uint8Array(0))]
  return concatBytes([PNG_SIGNATURE, start, createChunk('PLTE', palette), createChunk('IDAT', pixels), end])
}

function createChunk(type: string, data: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(data.length + 12)
  const view = new DataView(chunk.buffer)
  view.setUint32(0, data.length)
  chunk.set(new TextEncoder().encode(type), 4)
  chunk.set(data, 8)
  view.setUint32(data.length + 8, crc32(chunk.subarray(4, -4)))
  return chunk
}

function crc32(bytes: Uint8Array): number {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return ~crc
}

/** A file that is not a readable image. Its message completes "the image is invalid: …". */
export class InvalidImageError extends Error {}

/**
 * Returns the size of an image file in pixels: PNG, JPEG or WebP, read up to its size.
 *
 * @throws InvalidImageError for a file of another kind, one without a size, and one with more than `maxPixels`
 */
export function readImageSize(bytes: Uint8Array, maxPixels: number): ImageSize {
  if (bytes.length === 0) throw new InvalidImageError('the file is empty')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let size: ImageSize | undefined
  if (PNG_SIGNATURE.every((byte, i) => bytes[i] === byte)) size = findPngSize(view)
  else if (bytes[0] === 0xff && bytes[1] === 0xd8) size = findJpegSize(view)
  else if (textAt(view, 0) === 'RIFF' && textAt(view, 8) === 'WEBP') size = findWebpSize(view)
  else throw new InvalidImageError('it is not a PNG, JPEG or WebP file')
  if (size === undefined) throw new InvalidImageError('the file ends before its size')
  const { width, height } = size
  if (width === 0 || height === 0) throw new InvalidImageError('it has no pixels')
  if (width * height <= maxPixels) return size
  throw new InvalidImageError(`it has ${width}x${height} pixels, and the maximum is ${maxPixels} in all`)
}

/** Returns the size in the header, which is the first chunk. */
function findPngSize(view: DataView): ImageSize | undefined {
  if (view.byteLength < 24 || textAt(view, 12) !== 'IHDR') return undefined
  return { width: view.getUint32(16), height: view.getUint32(20) }
}

/** Returns the size in the first frame header; undefined if the file has none. */
function findJpegSize(view: DataView): ImageSize | undefined {
  for (let at = 2; at + 9 <= view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    // The markers 0xc4, 0xc8 and 0xcc have other contents.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
    // 0xff before a marker only fills space.
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2)
  }
  return undefined
}

/** Returns the size in the first chunk, of the lossy, the lossless or the extended format. */
function findWebpSize(view: DataView): ImageSize | undefined {
  if (view.byteLength < 30) return undefined
  switch (textAt(view, 12)) {
    case 'VP8 ':
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
    case 'VP8L': {
      const bits = view.getUint32(21, true)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: readUint24(view, 24) + 1, height: readUint24(view, 27) + 1 }
    default:
      return undefined
  }
}

function readUint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
}

function textAt(view: DataView, at: number): string {
  if (at + 4 > view.byteLength) return ''
  return String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + at, 4))
}
