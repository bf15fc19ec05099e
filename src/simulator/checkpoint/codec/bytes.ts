/** Writes and reads bytes: numbers in little-endian order, counts with a variable length. */

/** Minimum size of a piece that is used without a copy. */
const MIN_UNCOPIED_BYTES = 1024

/** Collects pieces of bytes. Large pieces are not copied. */
export class ByteWriter {
  readonly #pieces: Uint8Array[] = []
  #bytes = new Uint8Array(16_384)
  #begin = 0
  #end = 0

  u8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#end++] = value
  }

  /** Writes an integer of at least 0. */
  count(value: number): void {
    this.#reserve(8)
    let remaining = value
    while (remaining >= 128) {
      this.#bytes[this.#end++] = (remaining % 128) | 128
      remaining = Math.floor(remaining / 128)
    }
    this.#bytes[this.#end++] = remaining
  }

  /** Writes bytes. A large piece is not copied, so the caller must not change it before the result is used. */
  raw({ buffer, byteOffset, byteLength }: ArrayBufferView): void {
    const piece = new Uint8Array(buffer, byteOffset, byteLength)
    if (byteLength >= MIN_UNCOPIED_BYTES) {
      this.#finishPiece()
      this.#pieces.push(piece)
      return
    }
    this.#reserve(byteLength)
    this.#bytes.set(piece, this.#end)
    this.#end += byteLength
  }

  text(value: string): void {
    // UTF-8 cannot encode lone surrogates, which a user's JSON may have.
    const isWellFormed = value.isWellFormed()
    this.u8(isWellFormed ? 1 : 0)
    const bytes = isWellFormed
      ? new TextEncoder().encode(value)
      : Uint16Array.from({ length: value.length }, (_, i) => value.charCodeAt(i))
    this.count(bytes.byteLength)
    this.raw(bytes)
  }

  finish(): readonly Uint8Array[] {
    this.#finishPiece()
    return this.#pieces
  }

  #finishPiece(): void {
    if (this.#end > this.#begin) this.#pieces.push(this.#bytes.subarray(this.#begin, this.#end))
    this.#begin = this.#end
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#bytes.length) return
    this.#finishPiece()
    this.#bytes = new Uint8Array(this.#bytes.length)
    this.#begin = 0
    this.#end = 0
  }
}

/** Reads bytes. Throws RangeError if the bytes end too early. */
export class ByteReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Number of bytes, including those already read. */
  get length(): number {
    return this.#bytes.length
  }

  get isAtEnd(): boolean {
    return this.#position === this.#bytes.length
  }

  u8(): number {
    return this.#view.getUint8(this.#position++)
  }

  /** Reads an integer of at least 0. It may be larger than the number of bytes that follow. */
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

  text(): string {
    const isWellFormed = this.u8() === 1
    const bytes = this.raw(this.count())
    if (isWellFormed) return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    let text = ''
    for (const unit of new Uint16Array(bytes.buffer)) text += String.fromCharCode(unit)
    return text
  }

  /** Returns a copy of the next bytes, which the caller may change. */
  raw(length: number): Uint8Array<ArrayBuffer> {
    const end = this.#position + length
    if (end > this.#bytes.length) throw new RangeError(`the bytes end before ${end}`)
    const piece = this.#bytes.slice(this.#position, end)
    this.#position = end
    // A slice of a Node.js Buffer is a view of the same bytes.
    return new Uint8Array(piece.buffer === this.#bytes.buffer ? new Uint8Array(piece) : piece)
  }
}
