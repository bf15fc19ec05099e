/** The checksum CRC-32 of text in UTF-8. */

/** Returns the CRC-32 of a text, continued from that of the text before it. The first one continues from 0. */
export type Crc32 = (text: string, before: number) => number

/** Returns the fastest form of the checksum: Node has it in native code. */
export function createCrc32(): Crc32 {
  const { crc32 } = (globalThis.process?.getBuiltinModule?.('node:zlib') ?? {}) as { readonly crc32?: Crc32 }
  return crc32 ?? portableCrc32
}

/** Returns the same where there is no Node. */
export function portableCrc32(text: string, before: number): number {
  let crc = ~before
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Formats a checksum as 8 hexadecimal digits. */
export function formatCrc32(sum: number): string {
  return HEX[sum >>> 24]! + HEX[(sum >>> 16) & 255]! + HEX[(sum >>> 8) & 255]! + HEX[sum & 255]!
}
