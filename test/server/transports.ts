/** One simulator behind the three transports a client may use. */
import type { RequestHandler } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, beforeAll } from 'vitest'
import { type ServeOptions, type Server, serve } from '../../src/server/http/server.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { handlers, listenOptions } from '../../src/workbench/testing/msw.ts'

export const TRANSPORTS = ['sim.fetch', 'MSW', 'server'] as const
export type Transport = (typeof TRANSPORTS)[number]

interface Behind {
  /** The address at which MSW answers. */
  readonly base: string
  readonly latency?: ServeOptions['latency']
  /** What else MSW answers. */
  readonly others?: readonly RequestHandler[]
}

/** Opens the transports of a simulator before the tests of a file and closes them after. */
export function openTransports(sim: Simulator, { base, latency, others = [] }: Behind) {
  /** The platform's own, from before MSW put itself in its place. */
  const unwatchedFetch = globalThis.fetch
  const msw = setupServer(...handlers(sim, { baseUrl: base }), ...others)
  let server: Server
  beforeAll(async () => {
    server = await serve(sim, { port: 0, ...(latency && { latency }) })
    msw.listen(listenOptions)
  })
  afterAll(async () => {
    msw.close()
    await server.close()
  })
  return (transport: Transport): { readonly fetch: typeof globalThis.fetch; readonly url: string } => {
    if (transport === 'sim.fetch') return { fetch: sim.fetch, url: 'http://sim' }
    if (transport === 'MSW') return { fetch: globalThis.fetch, url: base }
    return { fetch: unwatchedFetch, url: server.url }
  }
}
