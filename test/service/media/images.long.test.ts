/** The files of images: their sizes and bytes, and the reading of uploads. */
import { deflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { hash32 } from '../../../src/kernel/random.ts'
import { drawImage } from '../../../src/service/media/images/draw-image.ts'
import { readImageSize } from '../../../src/service/media/images/image-file.ts'
import { decodePng } from './png-reader.ts'
import { createPng, pngChunk } from './png-writer.ts'

const MAX_PIXELS = 1_000_000
const bytes = (...values: number[]) => Uint8Array.from(values)
const ascii = (text: string) => [...text].map(character => character.charCodeAt(0))

describe('a drawn image', () => {
  test.each([
    [1, 1],
    [64, 64],
    [3, 700],
    [640, 2],
    [1024, 1024],
    [1792, 1024],
  ])('decodes to its size: %i x %i', (width, height) => {
    const file = drawImage({ key: `${width}`, width, height })
    expect(decodePng(file)).toMatchObject({ width, height })
    expect(readImageSize(file, 2_000_000)).toEqual({ width, height })
  })

  test('has the same bytes for the same key in every version of Node, and others for another key', () => {
    const draw = (key: string, width = 96) => drawImage({ key, width, height: 64 })
    const hash = (file: Uint8Array) => hash32(Buffer.from(file).toString('latin1'))
    expect(draw('a river')).toEqual(draw('a river'))
    expect(draw('a river')).not.toEqual(draw('a lake'))
    expect(draw('a river')).not.toEqual(draw('a river', 97))
    // A new value here changes the bytes of every image for all users.
    expect(hash(draw('a river'))).toBe(1_964_026_081)
  })

  test('has a sky above hills', () => {
    const { width, height, pixels } = decodePng(drawImage({ key: 'a river', width: 200, height: 200 }))
    const colorAt = (x: number, y: number) => [...pixels.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)]
    expect(colorAt(0, 0)).not.toEqual(colorAt(0, height - 1))
    expect(new Set(Array.from({ length: height }, (_, y) => colorAt(0, y).join())).size).toBeGreaterThan(20)
  })
})

describe('an uploaded image', () => {
  test.each([
    ['PNG of one bit', createPng({ width: 9, height: 5, depth: 1, colorType: 0 }), 9, 5],
    ['PNG of 16 bits with alpha', createPng({ width: 9, height: 5, depth: 16, colorType: 6 }), 9, 5],
    ['interlaced PNG', createPng({ width: 9, height: 5, interlaced: true }), 9, 5],
    ['PNG in several chunks', createPng({ width: 300, height: 50, chunks: 3 }), 300, 50],
    ['JPEG', bytes(0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xff, 0xc2, 0, 11, 8, 1, 44, 2, 88, 3, 1, 1), 600, 300],
    [
      'lossy WebP',
      bytes(...ascii('RIFF'), 0, 0, 0, 0, ...ascii('WEBPVP8 '), 0, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a, 88, 2, 44, 1),
      600,
      300,
    ],
    [
      'lossless WebP',
      // 599 and 299 in 14 bits each.
      bytes(...ascii('RIFF'), 0, 0, 0, 0, ...ascii('WEBPVP8L'), 0, 0, 0, 0, 0x2f, 0x57, 0xc2, 0x4a, 0, 0, 0, 0, 0, 0),
      600,
      300,
    ],
    [
      'extended WebP',
      bytes(...ascii('RIFF'), 0, 0, 0, 0, ...ascii('WEBPVP8X'), 10, 0, 0, 0, 0, 0, 0, 0, 87, 2, 0, 43, 1, 0),
      600,
      300,
    ],
  ])('is read: %s', (_, file, width, height) => {
    expect(readImageSize(file, MAX_PIXELS)).toEqual({ width, height })
  })

  const valid = createPng({ width: 9, height: 5 })
  const changed = (at: number) => valid.with(at, valid[at]! ^ 1)
  const signature = valid.subarray(0, 8)
  const header = valid.subarray(8, 33)
  const end = valid.subarray(-12)
  const png = (...parts: Uint8Array[]) => Uint8Array.from(Buffer.concat([signature, ...parts]))
  test.each([
    ['empty file', bytes(), 'the file is empty'],
    ['text', bytes(...ascii('hello')), 'not a PNG, JPEG or WebP file'],
    ['cut PNG', valid.subarray(0, 40), 'ends too early'],
    ['PNG without an end', valid.subarray(0, -12), 'ends too early'],
    ['PNG with a wrong checksum', changed(20), 'a checksum of the PNG is wrong'],
    ['PNG without a header', png(end), 'no header at its start'],
    ['PNG with two headers', png(header, header, end), 'no header at its start'],
    ['PNG of an unknown colour type', createPng({ width: 9, height: 5, colorType: 5 }), 'an invalid header'],
    ['PNG with a short header', png(pngChunk('IHDR', Buffer.alloc(5)), end), 'an invalid header'],
    ['PNG without pixels', png(header, end), 'pixels of the PNG cannot be read'],
    [
      'PNG with broken pixels',
      png(header, pngChunk('IDAT', Buffer.from([1, 2, 3, 4, 5, 6, 7, 8])), end),
      'cannot be read',
    ],
    ['PNG with too few pixels', png(header, pngChunk('IDAT', deflateSync(Buffer.alloc(139))), end), 'the pixels that'],
    ['PNG with too many pixels', png(header, pngChunk('IDAT', deflateSync(Buffer.alloc(1e7))), end), 'the pixels that'],
    ['PNG of no width', createPng({ width: 0, height: 5 }), 'it has no pixels'],
    ['large PNG', createPng({ width: 2000, height: 501, depth: 1, colorType: 0 }), '2000x501 pixels, and the maximum'],
    ['JPEG without a frame', bytes(0xff, 0xd8, 0xff, 0xe0, 0, 2, 0, 0, 0, 0, 0), 'ends before its size'],
    ['cut WebP', bytes(...ascii('RIFF'), 0, 0, 0, 0, ...ascii('WEBPVP8 ')), 'ends before its size'],
    ['WebP of an unknown format', bytes(...ascii('RIFF0000WEBPVP9 '), ...Array(20).fill(0)), 'ends before its size'],
  ])('is rejected: %s', (_, file, message) => {
    expect(() => readImageSize(file, MAX_PIXELS)).toThrow(message)
  })
})
