/** Bodies that MSW can keep a copy of without being in a client's way. */

/**
 * The same answer with a body whose copies do not wait for each other. Where a stream is split in two, cancelling one half
 * ends only when the other is cancelled too; MSW 2 splits every answer and never reads its half, so a client that awaits
 * the cancelling, as the openai package does before it retries, would wait for ever. Bytes that are all there need no
 * splitting.
 */
export function withWholeBody(answer: Response): Response {
  if (answer.body === null) return answer
  let bytes: Promise<Uint8Array<ArrayBuffer>> | undefined
  const read = () => {
    bytes ??= answer.arrayBuffer().then(buffer => new Uint8Array(buffer))
    return bytes
  }
  return new Response(streamOf(read), answer)
}

function streamOf(read: () => Promise<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const stream = new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const bytes = await read()
      // A stream takes what is put into it away from everybody else.
      if (bytes.length > 0) controller.enqueue(bytes.slice())
      controller.close()
      // Who reads into a buffer of his own waits for an answer to that.
      controller.byobRequest?.respond(0)
    },
  })
  const tee = (): ReturnType<typeof stream.tee> => [streamOf(read), streamOf(read)]
  return Object.assign(stream, { tee })
}
