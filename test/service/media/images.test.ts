/** The files of images: their sizes and bytes, and the sizes of uploads. */
import { describe, expect, test } from 'vitest'
import { Chance, hash32 } from '../../../src/kernel/random.ts'
import { drawImages, readImageSize } from '../../../src/service/media/images.ts'
import { decodePng } from './png-reader.ts'
import { createPng } from './png-writer.ts'

const MAX_PIXELS = 1_000_000
const bytes = (...values: number[]) => Uint8Array.from(values)
const ascii = (text: string) => [...text].map(character => character.charCodeAt(0))
const draw = (prompt: string, width = 96, height = 64) =>
  drawImages(new Chance(1), { model: 'acme/painter', prompt, source: '', count: 1, width, height })[0]!

describe('a drawn image', () => {
  test.each([
    [1, 1],
    [64, 64],
    [3, 700],
    [641, 2],
    [1024, 100],
  ])('decodes to its size and one colour: %i x %i', (width, height) => {
    const file = draw('a river', width, height)
    const { pixels, ...size } = decodePng(file)
    expect(size).toEqual({ width, height })
    expect(readImageSize(file, MAX_PIXELS)).toEqual({ width, height })
    const [red, green, blue] = pixels
    const isOfOneColor = pixels.every((value, index) => value === [red, green, blue][index % 3])
    expect(isOfOneColor).toBe(true)
  })

  test('has the same bytes for the same prompt in every version of Node, and others for another prompt', () => {
    const hash = (file: Uint8Array) => hash32(Buffer.from(file).toString('latin1'))
    expect(draw('a river')).toEqual(draw('a river'))
    expect(draw('a river')).not.toEqual(draw('a lake'))
    expect(draw('a river')).not.toEqual(draw('a river', 97))
    // A new value here changes the bytes of every image for all users.
    expect(hash(draw('a river'))).toBe(2_559_940_120)
  })
})

describe('an uploaded image', () => {
  test.each([
    ['PNG', createPng({ width: 300, height: 50 }), 300, 50],
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

  test.each([
    ['empty file', bytes(), 'the file is empty'],
    ['text', bytes(...ascii('hello')), 'not a PNG, JPEG or WebP file'],
    ['cut PNG', createPng({ width: 9, height: 5 }).subarray(0, 20), 'ends before its size'],
    ['PNG without a header', createPng({ width: 9, height: 5 }).with(12, 0), 'ends before its size'],
    ['PNG of no width', createPng({ width: 0, height: 5 }), 'it has no pixels'],
    ['large PNG', createPng({ width: 2000, height: 501 }), '2000x501 pixels, and the maximum'],
    ['JPEG without a frame', bytes(0xff, 0xd8, 0xff, 0xe0, 0, 2, 0, 0, 0, 0, 0), 'ends before its size'],
    ['cut WebP', bytes(...ascii('RIFF'), 0, 0, 0, 0, ...ascii('WEBPVP8 ')), 'ends before its size'],
    ['WebP of an unknown format', bytes(...ascii('RIFF0000WEBPVP9 '), ...Array(20).fill(0)), 'ends before its size'],
  ])('is rejected: %s', (_, file, message) => {
    expect(() => readImageSize(file, MAX_PIXELS)).toThrow(message)
  })
})
