/** Reads uploaded images: PNG files to their end, JPEG and WebP files up to their size. */
import { type ImageSize, InvalidImageError, PNG_SIGNATURE, readPng, requirePixels } from './png.ts'

/**
 * Returns the size of an image file in pixels.
 *
 * @throws InvalidImageError for a file of another kind, a broken one, and one with more than `maxPixels`
 */
export function readImageSize(bytes: Uint8Array, maxPixels: number): ImageSize {
  if (bytes.length === 0) throw new InvalidImageError('the file is empty')
  if (PNG_SIGNATURE.every((byte, i) => bytes[i] === byte)) return readPng(bytes, maxPixels)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let size: ImageSize | undefined
  if (bytes[0] === 0xff && bytes[1] === 0xd8) size = findJpegSize(view)
  else if (textAt(view, 0) === 'RIFF' && textAt(view, 8) === 'WEBP') size = findWebpSize(view)
  else throw new InvalidImageError('it is not a PNG, JPEG or WebP file')
  if (size === undefined) throw new InvalidImageError('the file ends before its size')
  requirePixels(size, maxPixels)
  return size
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
