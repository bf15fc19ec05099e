/** The load, from a process of its own. */
import autocannon from 'autocannon'
import { answering } from '../worker.ts'

export interface Load {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly ms: number
  /** Sent with every request, under a new name each. */
  readonly body?: { readonly model_name: string }
}

export interface Loaded {
  readonly requests: number
  /** Of these: not answered with 200, or not at all. */
  readonly refused: number
  readonly ms: number
}

let nth = 0

answering({
  load: async ({ url, method, headers, connections, ms, body }: Load): Promise<Loaded> => {
    const setupRequest = (request: autocannon.Request): autocannon.Request => ({
      ...request,
      body: JSON.stringify({ ...body, model_name: `acme/made-${nth++}` }),
    })
    const rest = restless()
    const result = await autocannon({
      url,
      method,
      headers: { ...headers },
      connections,
      duration: ms / 1000,
      ...(body && { requests: [{ setupRequest }] }),
    })
    rest()
    const { total } = result.requests
    return { requests: total, refused: result.non2xx + result.errors, ms: result.duration * 1000 }
  },
})

/**
 * Keeps the process from ever sleeping, until it is told to rest. To wake a sleeping reader on another core costs the
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
