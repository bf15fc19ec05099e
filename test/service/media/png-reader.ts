/** Reads PNG files by the specification and node:zlib, without code of the simulator. */
import { crc32, inflateSync } from 'node:zlib'

export interface DecodedPng {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each pixel, row by row. */
  readonly pixels: Uint8Array
}

/** Decodes a PNG with a bit for each pixel, a palette, and rows without filters. Throws for every other file. */
export function decodePng(base64OrBytes: string | Uint8Array): DecodedPng {
  const file = Buffer.from(typeof base64OrBytes === 'string' ? Buffer.from(base64OrBytes, 'base64') : base64OrBytes)
  if (file.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('no PNG signature')
  const chunks = new Map<string, Buffer>()
  let at = 8
  while (at < file.length) {
    const length = file.readUInt32BE(at)
    const type = file.toString('latin1', at + 4, at + 8)
    const data = file.subarray(at + 8, at + 8 + length)
    if (crc32(file.subarray(at + 4, at + 8 + length)) !== file.readUInt32BE(at + 8 + length))
      throw new Error(`wrong checksum of ${type}`)
    chunks.set(type, Buffer.concat([chunks.get(type) ?? Buffer.alloc(0), data]))
    at += 12 + length
  }
  if ([...chunks.keys()].join() !== 'IHDR,PLTE,IDAT,IEND') throw new Error(`chunks ${[...chunks.keys()].join()}`)
  const header = chunks.get('IHDR')!
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  if (header.toString('hex', 8) !== '0103000000') throw new Error(`header ${header.toString('hex')}`)
  // inflateSync also checks the checksum of the data.
  const rows = inflateSync(chunks.get('IDAT')!)
  const rowBytes = 1 + Math.ceil(width / 8)
  if (rows.length !== rowBytes * height) throw new Error(`${rows.length} bytes of pixels`)
  const palette = chunks.get('PLTE')!
  const pixels = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++) {
    if (rows[y * rowBytes] !== 0) throw new Error(`filter in row ${y}`)
    for (let x = 0; x < width; x++) {
      const color = (rows[y * rowBytes + 1 + (x >> 3)]! >> (7 - (x & 7))) & 1
      if (color * 3 >= palette.length) throw new Error(`colour ${color} is missing in the palette`)
      pixels.set(palette.subarray(color * 3, color * 3 + 3), (y * width + x) * 3)
    }
  }
  return { width, height, pixels }
}
