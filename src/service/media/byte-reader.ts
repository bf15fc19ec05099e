/** An audio file that cannot be read. The message completes "it is invalid WAV: …". */
export class MalformedAudioError extends Error {}

/** Reads numbers of a file, big-endian if the name says nothing else. Throws MalformedAudioError behind its end. */
export class ByteReader {
  readonly length: number
  readonly #bytes: Uint8Array
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.length = bytes.length
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  uint8(offset: number): number {
    return this.#view.getUint8(this.#check(offset, 1))
  }

  uint16(offset: number): number {
    return this.#view.getUint16(this.#check(offset, 2))
  }

  uint32(offset: number): number {
    return this.#view.getUint32(this.#check(offset, 4))
  }

  /** Returns an integer of 64 bits as a number, which is exact up to 2^53. */
  uint64(offset: number): number {
    return this.uint32(offset) * 4_294_967_296 + this.uint32(offset + 4)
  }

  uint32LittleEndian(offset: number): number {
    return this.#view.getUint32(this.#check(offset, 4), true)
  }

  /** Returns a floating-point number of 4 or 8 bytes. */
  float(offset: number, bytes: number): number {
    this.#check(offset, bytes)
    return bytes === 4 ? this.#view.getFloat32(offset) : this.#view.getFloat64(offset)
  }

  /** Tells whether these ASCII characters are at an offset. */
  hasText(offset: number, text: string): boolean {
    if (offset + text.length > this.length) return false
    for (let i = 0; i < text.length; i++) if (this.#bytes[offset + i] !== text.charCodeAt(i)) return false
    return true
  }

  /** Returns the last offset below `before` of these ASCII characters; -1 if they do not occur there. */
  lastIndexOf(text: string, before = this.length): number {
    // A negative offset would count from the end of the file.
    if (before <= 0) return -1
    const first = text.charCodeAt(0)
    for (let offset = this.#bytes.lastIndexOf(first, before - 1); offset >= 0; ) {
      if (this.hasText(offset, text)) return offset
      if (offset === 0) return -1
      offset = this.#bytes.lastIndexOf(first, offset - 1)
    }
    return -1
  }

  #check(offset: number, bytes: number): number {
    if (offset + bytes > this.length) throw new MalformedAudioError('it ends too early')
    return offset
  }
}
