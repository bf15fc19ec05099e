/** The waits of a scenario's client: for an answer that a fault delays, and for one that its world holds. */

import { formatDuration, type Micros, SECOND } from '../../../kernel/duration.ts'
import type { ChunkPoll, ResponsePoll } from '../../../server/worlds/polled-response.ts'
import type { PassTime } from './environment.ts'
import { callContext } from './timeline.ts'

/** Virtual time in microseconds after which a client gives up, unless it says otherwise. */
export const CLIENT_TIMEOUT = 60 * SECOND

/**
 * Waits for the end of an answer's delay. Time does not move while a condition is evaluated or a planned step runs.
 * There a delayed answer comes at once.
 *
 * @param what the request, as in `GET /deploy/list`
 * @param wait lets time pass by at most this span
 * @param timeout microseconds after which the client gives up
 * @throws Error with `broken: true` for an answer after that time, or one that never comes
 */
export async function waitOutDelay(
  delay: Micros,
  what: string,
  wait: PassTime,
  clock: { readonly elapsed: Micros },
  timeout: Micros,
): Promise<void> {
  const at = clock.elapsed + Math.min(delay, timeout)
  while (findFrozenContext() === undefined && clock.elapsed < at) await wait(at - clock.elapsed)
  if (delay <= timeout) return
  const error = new Error(`no answer to ${what} within ${formatDuration(timeout)}`)
  throw Object.assign(error, { broken: true })
}

/** A request whose answer its world may hold. */
export interface HeldRequest {
  /** Returns the answer, or the delay until the next poll. */
  look(): Promise<ResponsePoll>
  /** Gives up. */
  leave(reason: Error): unknown
  readonly pass: PassTime
}

/**
 * Waits until the world answers, and moves its time meanwhile. A chat to a deployment without instances is answered
 * when an instance has started.
 *
 * @param what the request, as in `POST /v1/chat/completions`
 * @param clock the world's clock
 * @throws Error with `broken: true` if no answer came within the client's timeout, or time cannot move; the reason of
 *   the
 *   signal if the client gives up. Its place is then free
 */
export async function waitForHeldResponse(
  held: HeldRequest,
  request: Request,
  what: string,
  clock: { readonly elapsed: Micros },
  timeout: Micros,
): Promise<Response> {
  let abort = () => {}
  const gone = new Promise<never>((_, reject) => {
    // The request must stay referenced: without it, its signal no longer follows that of the client.
    abort = () => reject(request.signal.reason)
  })
  gone.catch(() => {})
  request.signal.addEventListener('abort', abort)
  try {
    return await Promise.race([gone, pollHeldRequest(held, what, clock, timeout)])
  } catch (error) {
    if (request.signal.aborted) await held.leave(request.signal.reason)
    throw error
  } finally {
    request.signal.removeEventListener('abort', abort)
  }
}

async function pollHeldRequest(
  held: HeldRequest,
  what: string,
  clock: { readonly elapsed: Micros },
  timeout: Micros,
): Promise<Response> {
  const deadline = clock.elapsed + timeout
  for (;;) {
    const state = await held.look()
    if ('answer' in state) return state.answer
    const frozenIn = findFrozenContext()
    const left = deadline - clock.elapsed
    if (frozenIn !== undefined || left <= 0) {
      const why = frozenIn ? describeFrozenTime(frozenIn) : ` within ${formatDuration(timeout)}`
      const error = broken(`no answer to ${what}${why}`)
      await held.leave(error)
      throw error
    }
    await held.pass(Math.min(state.delay, left))
  }
}

/** A body whose chunks come as the world's time moves. */
export interface HeldBody {
  /** Returns the next chunk, or the delay until it. Throws if the body breaks off. */
  read(): Promise<ChunkPoll>
  /** Stops reading. */
  leave(reason: Error): unknown
  readonly pass: PassTime
}

/**
 * Returns an answer whose reader moves time to each chunk. If time cannot move, or the body breaks off, reading fails
 * with an error that has `broken: true`.
 */
export function readPacedBody({ status, headers }: Response, held: HeldBody, request: Request, what: string): Response {
  let leave = () => {}
  const end = () => request.signal.removeEventListener('abort', leave)
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        leave = () => {
          controller.error(request.signal.reason)
          held.leave(request.signal.reason)
        }
        request.signal.addEventListener('abort', leave, { once: true })
      },
      async pull(controller) {
        for (;;) {
          const state = await held.read().catch((error: unknown) => {
            end()
            throw broken(`the answer to ${what} broke off`, error)
          })
          if ('piece' in state) return controller.enqueue(state.piece)
          if ('isOver' in state) {
            end()
            return controller.close()
          }
          const frozenIn = findFrozenContext()
          if (frozenIn !== undefined) {
            const error = broken(`no more of the answer to ${what}${describeFrozenTime(frozenIn)}`)
            end()
            await held.leave(error)
            throw error
          }
          await held.pass(state.delay)
        }
      },
      cancel: async reason => {
        end()
        await held.leave(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status, headers })
}

/** Returns the name of the step or condition in which time does not move; undefined if it can move. */
function findFrozenContext(): string | undefined {
  const inside = callContext.getStore()
  return inside === undefined || inside.isOver ? undefined : inside.name
}

function describeFrozenTime(name: string): string {
  return `: it waits for time, and time does not move in '${name}'`
}

function broken(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { broken: true })
}
