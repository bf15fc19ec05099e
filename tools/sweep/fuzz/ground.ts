/** Where requests are sent: to the worlds of a server in this process, by a call or over HTTP. */

import type { DecidedBy } from '../../../src/kernel/journal.ts'
import { createControl } from '../../../src/server/control/index.ts'
import { type ServedRequest, serve } from '../../../src/server/http/server.ts'
import type { ServedWorld } from '../../../src/server/worlds/served-world.ts'
import { Worlds, type WorldsOptions } from '../../../src/server/worlds/worlds.ts'
import type { IncomingRequest } from '../../../src/service/http/incoming-request.ts'
import { WireFaultResponse } from '../../../src/simulator/faults/wire-faults.ts'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import type { PlacedRequest } from './generator.ts'
import { type SentRequest, toRequest } from './sent-request.ts'

/** The two ways to send a request. */
export const TRANSPORTS = ['process', 'http'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** What came back. The status is 0 if a fault left the client without a response. */
export interface Reply {
  readonly status: number
  /** What the simulator says of a bug of its own. */
  readonly bug: string | undefined
  /** What decided the answer; undefined if nothing reported it. */
  readonly decidedBy: DecidedBy | undefined
  readonly bytes: Uint8Array
}

export interface Ground {
  readonly worlds: Worlds
  send(request: PlacedRequest, world: ServedWorld): Promise<Reply>
  /** Ends what is pending. */
  close(): Promise<void>
}

const WORLDS: WorldsOptions = { maxWorlds: 5 }
const NO_REPLY: Reply = { status: 0, bug: undefined, decidedBy: undefined, bytes: new Uint8Array() }

export async function createGround(transport: Transport, sim: Simulator): Promise<Ground> {
  return transport === 'process' ? createProcessGround(sim) : createHttpGround(sim)
}

function createProcessGround(sim: Simulator): Ground {
  const worlds = new Worlds(sim, WORLDS)
  const control = createControl(worlds)
  return {
    worlds,
    async send({ plane, sent }, world) {
      const { request, path } = toRequest(sent)
      let decidedBy: DecidedBy | undefined
      const incoming: IncomingRequest = {
        path,
        onAnswered: answered => {
          decidedBy = answered.decidedBy
        },
      }
      const response = await (plane === 'service'
        ? world.sim.answer(request, incoming)
        : control.answer(world.sim, request, incoming))
      if (!(response instanceof WireFaultResponse)) return toReply(sent, response, decidedBy)
      await response.body?.cancel()
      return NO_REPLY
    },
    async close() {
      for (const { sim } of worlds.all()) await sim[Symbol.asyncDispose]()
    },
  }
}

async function createHttpGround(sim: Simulator): Promise<Ground> {
  // By status: an answer to a request that waited may leave between an answer and its reading.
  const lastDecidedBy = new Map<number, DecidedBy>()
  let onLost = () => {}
  const onRequest = ({ status, decidedBy }: ServedRequest) => {
    lastDecidedBy.set(status, decidedBy)
    // A fault hangs this connection: it will have no answer.
    if (status === 0) onLost()
  }
  const server = await serve(sim, { ...WORLDS, port: 0, onRequest })
  const end = new AbortController()
  return {
    worlds: server.worlds,
    async send({ sent }, world) {
      const { method, target, headers, body } = sent
      const base = world === server.worlds.default ? server.url : `${server.url}/_sim/worlds/${world.name}`
      const { signal } = end
      const lost = new Promise<Reply>(resolve => {
        onLost = () => resolve(NO_REPLY)
      })
      const receive = async () => {
        const init = { method, headers: [...headers], signal, ...(body !== undefined && { body }) }
        const response = await fetch(base + target, init)
        return toReply(sent, response, lastDecidedBy.get(response.status))
      }
      // An error says that a fault broke the connection, or that the episode is over.
      return Promise.race([lost, receive().catch(() => NO_REPLY)])
    },
    async close() {
      for (const { sim } of server.worlds.all()) await sim[Symbol.asyncDispose]()
      end.abort()
      await server.close()
    },
  }
}

async function toReply(
  sent: Pick<SentRequest, 'target'>,
  response: Response,
  decidedBy: DecidedBy | undefined,
): Promise<Reply> {
  const { status, headers } = response
  const bug = headers.get('x-sim-error') ?? undefined
  if (sent.target.startsWith('/_sim/events') && headers.get('content-type')?.startsWith('text/event-stream')) {
    // Live events do not end.
    const reader = response.body!.getReader()
    const { value: bytes = new Uint8Array() } = await reader.read()
    await reader.cancel()
    return { status, bug, decidedBy, bytes: new Uint8Array(bytes) }
  }
  return { status, bug, decidedBy, bytes: new Uint8Array(await response.arrayBuffer()) }
}
