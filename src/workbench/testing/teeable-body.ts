/** Bodies that MSW can copy without blocking the client. */

/**
 * Returns the same response with a body whose copies do not wait for each other. If a stream is teed, cancelling one half
 * ends only when the other half is cancelled too. MSW 2 tees every response and never reads its half. A client that awaits
 * the cancellation, as the openai package does before it retries, would wait forever, and the world would not notice.
 * Here the first copy that reads pulls each piece. A cancelled copy cancels the body unless another copy is being read.
 */
export function withTeeableBody(answer: Response): Response {
  if (answer.body === null) return answer
  return new Response(createCopy(new SharedBody(answer.body), 0), answer)
}

/** What came of a body, for all its copies. */
class SharedBody {
  readonly #body: ReadableStream<Uint8Array<ArrayBuffer>>
  #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined
  readonly #chunks: Uint8Array<ArrayBuffer>[] = []
  #pendingRead: Promise<void> | undefined
  #isDone = false
  /** Copies that have a reader. */
  readonly #activeCopies = new Set<object>()

  constructor(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#body = body
  }

  /** A piece by its place, when it is there; undefined past the last. */
  async chunkAt(index: number, copy: object): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.#activeCopies.add(copy)
    while (index >= this.#chunks.length && !this.#isDone) {
      // What fails once has failed for every copy.
      this.#pendingRead ??= this.#readNext()
      await this.#pendingRead
    }
    return this.#chunks[index]
  }

  async cancelCopy(copy: object, reason: unknown): Promise<void> {
    this.#activeCopies.delete(copy)
    if (this.#isDone || this.#activeCopies.size > 0) return
    this.#isDone = true
    await (this.#reader ?? this.#body).cancel(reason)
  }

  async #readNext(): Promise<void> {
    this.#reader ??= this.#body.getReader()
    const { done, value } = await this.#reader.read()
    if (done) this.#isDone = true
    else if (value.length > 0) this.#chunks.push(value)
    this.#pendingRead = undefined
  }
}

function createCopy(shared: SharedBody, start: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let index = start
  const copy = {}
  const stream = new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const chunk = await shared.chunkAt(index, copy)
      if (chunk !== undefined) {
        index++
        // Enqueueing transfers the buffer, so each copy gets its own. `slice` of a Buffer makes no copy.
        controller.enqueue(new Uint8Array(chunk))
        return
      }
      controller.close()
      // A reader with its own buffer waits for this.
      controller.byobRequest?.respond(0)
    },
    cancel: reason => shared.cancelCopy(copy, reason),
  })
  const tee = (): ReturnType<typeof stream.tee> => [createCopy(shared, index), createCopy(shared, index)]
  return Object.assign(stream, { tee })
}
