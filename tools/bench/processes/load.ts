/** The load, from a process of its own. */
import { Agent, request } from 'node:http'
import autocannon from 'autocannon'
import { answering } from '../worker.ts'

export interface Load {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly ms: number
  /** Sent with every request, `{nth}` in it replaced by a number of its own. */
  readonly body?: string
  /** The events of a whole stream, and the length of its text. */
  readonly events?: number
  readonly length?: number
}

export interface Loaded {
  readonly requests: number
  /** Of these: not answered with 200, or not at all, or not whole. */
  readonly refused: number
  readonly ms: number
}

let nth = 0

answering({
  load: async ({ url, method, headers, connections, ms, body }: Load): Promise<Loaded> => {
    const named = body?.includes('{nth}')
    const setupRequest = (request: autocannon.Request): autocannon.Request => ({
      ...request,
      body: body!.replace('{nth}', String(nth++)),
    })
    const rest = restless()
    const result = await autocannon({
      url,
      method,
      headers: { ...headers },
      connections,
      duration: ms / 1000,
      // It looks so often whether the time is over.
      sampleInt: Math.min(ms, 50),
      ...(named ? { requests: [{ setupRequest }] } : body && { body }),
    })
    rest()
    const { total } = result.requests
    return { requests: total, refused: result.non2xx + result.errors, ms: result.duration * 1000 }
  },

  streams: async ({ url, method, headers, connections, ms, body, events, length }: Load): Promise<Loaded> => {
    const rest = restless()
    const agent = new Agent({ keepAlive: true, maxSockets: connections })
    const began = performance.now()
    let requests = 0
    let refused = 0
    const reader = async () => {
      while (performance.now() - began < ms) {
        const text = await streamed(url, { method, headers, agent }, body ?? '')
        requests++
        // Only ids differ, and they are equally long.
        if (text.length !== length || text.split('\n\n').length - 1 !== events) refused++
      }
    }
    await Promise.all(Array.from({ length: connections }, reader))
    agent.destroy()
    rest()
    return { requests, refused, ms: performance.now() - began }
  },
})

/** Reads a stream to its end; of one that fails comes nothing. */
function streamed(url: string, options: object, body: string): Promise<string> {
  return new Promise(resolve => {
    const failed = () => resolve('')
    const outgoing = request(url, options, incoming => {
      let text = ''
      incoming.setEncoding('utf8')
      incoming.on('data', (piece: string) => {
        text += piece
      })
      incoming.on('end', () => (incoming.statusCode === 200 ? resolve(text) : failed()))
      incoming.on('error', failed)
    })
    outgoing.on('error', failed)
    outgoing.end(body)
  })
}

/**
 * Keeps the process from ever sleeping, until the returned function is called. To wake a sleeping reader on another core costs the
 * writer 15 to 20 µs of CPU on a virtual machine, and only the slower server's load has time to sleep.
 */
function restless(): () => void {
  let awake = true
  const turn = () => {
    if (awake) setImmediate(turn)
  }
  turn()
  return () => {
    awake = false
  }
}
