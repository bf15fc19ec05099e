/** Bodies that MSW can keep a copy of without being in a client's way. */

/**
 * The same answer with a body whose copies do not wait for each other. Where a stream is split in two, cancelling one half
 * ends only when the other is cancelled too; MSW 2 splits every answer and never reads its half, so a client that awaits
 * the cancelling, as the openai package does before it retries, would wait for ever, and the world would not hear of it.
 * Here every piece comes when the first copy asks for it, and who leaves takes the body along unless another copy is read.
 */
export function withCopiedBody(answer: Response): Response {
  if (answer.body === null) return answer
  return new Response(copyOf(new Pieces(answer.body), 0), answer)
}

/** What came of a body, for all its copies. */
class Pieces {
  readonly #body: ReadableStream<Uint8Array<ArrayBuffer>>
  #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined
  readonly #pieces: Uint8Array<ArrayBuffer>[] = []
  #next: Promise<void> | undefined
  #isOver = false
  /** Copies that somebody reads. */
  readonly #read = new Set<object>()

  constructor(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#body = body
  }

  /** A piece by its place, when it is there; undefined past the last. */
  async at(place: number, copy: object): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.#read.add(copy)
    while (place >= this.#pieces.length && !this.#isOver) {
      // What fails once has failed for every copy.
      this.#next ??= this.#readNext()
      await this.#next
    }
    return this.#pieces[place]
  }

  async leave(copy: object, reason: unknown): Promise<void> {
    this.#read.delete(copy)
    if (this.#isOver || this.#read.size > 0) return
    this.#isOver = true
    await (this.#reader ?? this.#body).cancel(reason)
  }

  async #readNext(): Promise<void> {
    this.#reader ??= this.#body.getReader()
    const { done, value } = await this.#reader.read()
    if (done) this.#isOver = true
    else if (value.length > 0) this.#pieces.push(value)
    this.#next = undefined
  }
}

function copyOf(pieces: Pieces, from: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let place = from
  const copy = {}
  const stream = new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const piece = await pieces.at(place, copy)
      if (piece !== undefined) {
        place++
        // A stream takes what is put into it away from everybody else.
        controller.enqueue(piece.slice())
        return
      }
      controller.close()
      // Who reads into a buffer of his own waits for an answer to that.
      controller.byobRequest?.respond(0)
    },
    cancel: reason => pieces.leave(copy, reason),
  })
  const tee = (): ReturnType<typeof stream.tee> => [copyOf(pieces, place), copyOf(pieces, place)]
  return Object.assign(stream, { tee })
}
