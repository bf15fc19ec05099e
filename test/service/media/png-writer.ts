/** Writes small PNG files of any colour type with node:zlib, as uploads of tests. */
import { crc32, deflateSync } from 'node:zlib'

const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
/** First column and row of each pass of an interlaced image, and the steps between columns and rows. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

export interface PngOptions {
  readonly width: number
  readonly height: number
  readonly depth?: number
  readonly colorType?: number
  readonly interlaced?: boolean
  /** Number of IDAT chunks. */
  readonly chunks?: number
  /** Level of compression. 0 keeps the pixels as they are. */
  readonly level?: number
}

export function createPng(options: PngOptions): Uint8Array<ArrayBuffer> {
  const { width, height, depth = 8, colorType = 2, interlaced = false, chunks = 1, level = 6 } = options
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colorType, 0, 0, Number(interlaced)], 8)
  const rowBytes = (columns: number) => 1 + Math.ceil((columns * depth * (SAMPLES[colorType] ?? 1)) / 8)
  let size = rowBytes(width) * height
  if (interlaced) {
    size = 0
    for (const [column, row, columnStep, rowStep] of PASSES) {
      const columns = [...Array(width).keys()].filter(x => x >= column && (x - column) % columnStep === 0).length
      const rows = [...Array(height).keys()].filter(y => y >= row && (y - row) % rowStep === 0).length
      if (columns > 0) size += rowBytes(columns) * rows
    }
  }
  const data = deflateSync(Buffer.alloc(size), { level })
  const step = Math.ceil(data.length / chunks)
  const pieces = Array.from({ length: chunks }, (_, i) => pngChunk('IDAT', data.subarray(i * step, (i + 1) * step)))
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Uint8Array.from(
    Buffer.concat([signature, pngChunk('IHDR', header), ...pieces, pngChunk('IEND', Buffer.alloc(0))]),
  )
}

export function pngChunk(type: string, data: Uint8Array): Buffer {
  const chunk = Buffer.alloc(data.length + 12)
  chunk.writeUInt32BE(data.length, 0)
  chunk.write(type, 4, 'latin1')
  chunk.set(data, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length)
  return chunk
}
