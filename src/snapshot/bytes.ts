/** Bytes that grow, and a look through them: numbers little-endian, counts in as few bytes as they take. */

/** From how many bytes on a piece is taken as it is instead of being copied. */
const LARGE = 1024

/** Pieces of bytes, joined by whoever wants them in one: large ones are written once. */
export class Writer {
  readonly #pieces: Uint8Array[] = []
  #bytes = new Uint8Array(16_384)
  #view = new DataView(this.#bytes.buffer)
  #begin = 0
  #end = 0

  u8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#end++] = value
  }

  /** An integer of at least 0. */
  count(value: number): void {
    this.#reserve(8)
    let rest = value
    while (rest >= 128) {
      this.#bytes[this.#end++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.#end++] = rest
  }

  f64(value: number): void {
    this.#reserve(8)
    this.#view.setFloat64(this.#end, value, true)
    this.#end += 8
  }

  /** The piece itself, where it is large: it must not be written before all of it has been joined. */
  raw({ buffer, byteOffset, byteLength }: ArrayBufferView): void {
    const piece = new Uint8Array(buffer, byteOffset, byteLength)
    if (byteLength >= LARGE) {
      this.#cut()
      this.#pieces.push(piece)
      return
    }
    this.#reserve(byteLength)
    this.#bytes.set(piece, this.#end)
    this.#end += byteLength
  }

  text(value: string): void {
    // UTF-8 has no halves of surrogate pairs, and a user's JSON may.
    const isWellFormed = value.isWellFormed()
    this.u8(isWellFormed ? 1 : 0)
    const bytes = isWellFormed
      ? new TextEncoder().encode(value)
      : Uint16Array.from({ length: value.length }, (_, i) => value.charCodeAt(i))
    this.count(bytes.byteLength)
    this.raw(bytes)
  }

  finish(): readonly Uint8Array[] {
    this.#cut()
    return this.#pieces
  }

  #cut(): void {
    if (this.#end > this.#begin) this.#pieces.push(this.#bytes.subarray(this.#begin, this.#end))
    this.#begin = this.#end
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#bytes.length) return
    this.#cut()
    this.#bytes = new Uint8Array(this.#bytes.length)
    this.#view = new DataView(this.#bytes.buffer)
    this.#begin = 0
    this.#end = 0
  }
}

export function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

export function join(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(lengthOf(pieces))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** Throws RangeError where the bytes end too early. */
export class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** How many bytes there are, read or not. */
  get length(): number {
    return this.#bytes.length
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  u8(): number {
    return this.#view.getUint8(this.#at++)
  }

  /** An integer of at least 0: it says nothing of how many bytes follow. */
  count(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.u8()
      value += (byte & 127) * scale
      if (!Number.isSafeInteger(value)) throw new RangeError('a count is not a safe integer')
      if (byte < 128) return value
      scale *= 128
    }
  }

  f64(): number {
    const value = this.#view.getFloat64(this.#at, true)
    this.#at += 8
    return value
  }

  text(): string {
    const isWellFormed = this.u8() === 1
    const bytes = this.raw(this.count())
    if (isWellFormed) return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    let text = ''
    for (const unit of new Uint16Array(bytes.buffer)) text += String.fromCharCode(unit)
    return text
  }

  /** A copy, so that whoever gets it may write it. */
  raw(length: number): Uint8Array<ArrayBuffer> {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new RangeError(`the bytes end before ${end}`)
    const piece = this.#bytes.slice(this.#at, end)
    this.#at = end
    // A slice of a buffer of Node's is a view of the same bytes.
    return new Uint8Array(piece.buffer === this.#bytes.buffer ? new Uint8Array(piece) : piece)
  }
}
