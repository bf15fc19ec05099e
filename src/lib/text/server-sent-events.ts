/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  readonly type: string
  /** Where to continue the stream, as `Last-Event-ID`. */
  readonly id: string
  readonly data: string
}

/** Reads server-sent events from the pieces of a stream. Comments, and blocks without a type, an id or data, are left out. */
export class ServerSentEventParser {
  readonly #decoder = new TextDecoder()
  #rest = ''

  /** Returns the events that a piece completes. */
  read(piece: Uint8Array): ServerSentEvent[] {
    const blocks = (this.#rest + this.#decoder.decode(piece, { stream: true })).split('\n\n')
    this.#rest = blocks.pop()!
    return blocks.flatMap(block => {
      const fields = new Map<string, string>()
      for (const line of block.split('\n')) {
        const colon = line.indexOf(': ')
        if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2))
      }
      const [type, id, data] = ['event', 'id', 'data'].map(name => fields.get(name))
      return type === undefined || id === undefined || data === undefined ? [] : [{ type, id, data }]
    })
  }
}
