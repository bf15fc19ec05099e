/** Bytes that grow, and a look through them: numbers little-endian, counts in as few bytes as they take. */

export class Writer {
  #bytes = new Uint8Array(65_536)
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  u8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** An integer of at least 0. */
  count(value: number): void {
    this.#reserve(8)
    let rest = value
    while (rest >= 128) {
      this.#bytes[this.#length++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.#length++] = rest
  }

  f64(value: number): void {
    this.#reserve(8)
    this.#view.setFloat64(this.#length, value, true)
    this.#length += 8
  }

  raw(piece: ArrayBufferView): void {
    this.#reserve(piece.byteLength)
    this.#bytes.set(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength), this.#length)
    this.#length += piece.byteLength
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const wider = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    wider.set(this.#bytes)
    this.#bytes = wider
    this.#view = new DataView(wider.buffer)
  }
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

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  u8(): number {
    return this.#view.getUint8(this.#at++)
  }

  count(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.u8()
      value += (byte & 127) * scale
      if (byte < 128) return value
      scale *= 128
    }
  }

  f64(): number {
    const value = this.#view.getFloat64(this.#at, true)
    this.#at += 8
    return value
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
