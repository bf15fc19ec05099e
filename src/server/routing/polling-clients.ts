/** Clients that move the time of their world themselves, so they poll for responses that have to wait. */
import { truncateBody } from '../../simulator/faults/body-streams.ts'
import { isStreamed, WireFaultResponse } from '../../simulator/faults/broken-response.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import {
  NO_CHUNK_HEADER,
  POLLED_BODY_HEADER,
  POLLED_RESPONSE_HEADER,
  PolledResponse,
} from '../worlds/polled-response.ts'
import type { ServedWorld } from '../worlds/served-world.ts'
import type { Worlds } from '../worlds/worlds.ts'
import { answerWorldRequest, type HttpRequest, serverResponse } from './world-routing.ts'

/** A body that its client reads piece by piece. */
interface PolledBody {
  readonly response: PolledResponse
  readonly body: ReadableStream<Uint8Array>
}

/** Responses and bodies of one world that clients poll for, by number. */
interface PolledItems {
  readonly responses: Map<string, PolledResponse>
  readonly bodies: Map<string, PolledBody>
}

/** Whether a request polls for a response or a body that another request started. */
export function isPoll(headers: Headers): boolean {
  return headers.has(POLLED_BODY_HEADER) || headers.has(POLLED_RESPONSE_HEADER)
}

export class PollingClients {
  readonly #worlds: Worlds
  readonly #itemsByWorld = new WeakMap<Simulator, PolledItems>()
  #lastNumber = 0

  constructor(worlds: Worlds) {
    this.#worlds = worlds
  }

  /** Answers at once: with the response, or with 204, a number to poll with and the delay until then. */
  async answer(world: ServedWorld, request: Request, incoming: HttpRequest): Promise<Response> {
    const { sim } = world
    incoming.mayStream = true
    const { responses, bodies } = this.#itemsOf(sim)
    const bodyNumber = request.headers.get(POLLED_BODY_HEADER)
    if (bodyNumber !== null) return world.trackUse(() => nextChunk(world, bodies, bodyNumber, request.method))
    const responseNumber = request.headers.get(POLLED_RESPONSE_HEADER)
    const number = responseNumber ?? String(++this.#lastNumber)
    const polled = responseNumber === null ? this.#send(world, request, incoming) : responses.get(responseNumber)
    if (polled === undefined)
      return serverResponse(world, 404, `Failed to find the answer ${number}: no request waits for it.`)
    responses.delete(number)
    if (responseNumber !== null && request.method === 'DELETE') {
      await world.trackUse(() => polled.leave(new Error('its client has given up')))
      return new Response(null, { status: 204 })
    }
    const result = await world.trackUse(() => polled.look())
    if (!('answer' in result)) {
      responses.set(number, polled)
      const headers = { [POLLED_RESPONSE_HEADER]: number, 'x-sim-delay': String(result.delay) }
      return new Response(null, { status: 204, headers })
    }
    const body = polled.isPaced ? streamedBody(result.answer) : undefined
    if (body === undefined) return incoming.deliver?.(sim, result.answer) ?? result.answer
    bodies.set(number, { response: polled, body })
    const headers = new Headers(result.answer.headers)
    headers.set(POLLED_BODY_HEADER, number)
    return new Response(null, { status: result.answer.status, headers })
  }

  #itemsOf(sim: Simulator): PolledItems {
    const items = this.#itemsByWorld.get(sim) ?? { responses: new Map(), bodies: new Map() }
    this.#itemsByWorld.set(sim, items)
    return items
  }

  #send(world: ServedWorld, request: Request, incoming: HttpRequest): PolledResponse {
    const { clientAddress, path } = incoming
    incoming.world = world
    return new PolledResponse(waiterFor =>
      answerWorldRequest(this.#worlds, world, request, {
        ...{ clientAddress, path, waiterFor },
        onAnswered: (...answered) => incoming.onAnswered?.(...answered),
      }),
    )
  }
}

/** Returns the body of a stream as its client receives it, or undefined if the response is not a stream or sends no body. */
function streamedBody(response: Response): ReadableStream<Uint8Array> | undefined {
  if (!isStreamed(response)) return undefined
  if (!(response instanceof WireFaultResponse)) return response.body!
  return response.outcome.kind === 'cut' ? truncateBody(response.body!, response.outcome.after) : undefined
}

/** Answers a request for the next piece of a body. */
async function nextChunk(
  world: ServedWorld,
  bodies: Map<string, PolledBody>,
  number: string,
  method: string,
): Promise<Response> {
  const polledBody = bodies.get(number)
  if (polledBody === undefined)
    return serverResponse(world, 404, `Failed to find the body ${number}: no client reads it.`)
  const { response, body } = polledBody
  const noChunk = (reason: 'over' | 'broken') => {
    bodies.delete(number)
    return new Response(null, { status: 204, headers: { [NO_CHUNK_HEADER]: reason } })
  }
  if (method === 'DELETE') {
    await response.leave(new Error('its client has stopped reading'))
    return noChunk('over')
  }
  try {
    const result = await response.pollChunk(body)
    if ('isOver' in result) return noChunk('over')
    if ('delay' in result) return new Response(null, { status: 204, headers: { 'x-sim-delay': String(result.delay) } })
    return new Response(result.piece as Uint8Array<ArrayBuffer>)
  } catch {
    return noChunk('broken')
  }
}
