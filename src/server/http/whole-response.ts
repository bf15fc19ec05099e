/** Responses whose text is known as a whole, as most are. */
import { type IncomingMessage, ServerResponse } from 'node:http'

/**
 * Sends the text of a response with its head in one plain write. Node's own `end` adds an empty chunk, and then a vectored
 * write copies and encodes all chunks.
 */
export class WholeResponse extends ServerResponse<IncomingMessage> {
  override end(...args: unknown[]): this {
    const [text] = args
    const { socket } = this
    // Without a head, or in chunks, Node decides the framing.
    if (args.length !== 1 || typeof text !== 'string' || socket === null || !this.headersSent || this.chunkedEncoding)
      return super.end(...(args as []))
    socket.cork()
    // If each character is a byte, nothing has to be encoded.
    this.write(text, Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8')
    socket.uncork()
    return super.end()
  }
}
