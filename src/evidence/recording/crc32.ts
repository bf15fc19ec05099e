/** The checksum CRC-32 of text in UTF-8. */

type Crc32 = (text: string, crc: number) => number

/** Returns the CRC-32 of a text, continued from that of the text before it. Node has it in native code. */
export function crc32(text: string, before = 0): number {
  const native = globalThis.process?.getBuiltinModule?.('node:zlib') as { readonly crc32?: Crc32 } | undefined
  return native?.crc32 === undefined ? portableCrc32(text, before) : native.crc32(text, before)
}

/** Returns the same where there is no Node. */
export function portableCrc32(text: string, before = 0): number {
  let crc = ~before
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}
