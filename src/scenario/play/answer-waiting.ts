/** How the client of a scenario waits for an answer: one that a fault delays, and one that its world holds. */

import { formatDuration, type Micros, SECOND } from '../../kernel/duration.ts'
import type { ChunkPoll, ResponsePoll } from '../../simulator/polled-response.ts'
import type { PassTime } from './environment.ts'
import { callContext } from './timeline.ts'

/** Virtual time after which the client gives up. */
const CLIENT_TIMEOUT = 60 * SECOND

/**
 * Waits out the delay of an answer. Time stands while something is looked at and while a planned step is done: an answer
 * that would be late comes at once then.
 *
 * @param what the request, as in `GET /deploy/list`
 * @param wait lets time come so far, or less far
 * @throws Error with `broken: true` for an answer later than the client's patience, and one that never comes
 */
export async function waitOutDelay(
  delay: Micros,
  what: string,
  wait: PassTime,
  clock: { readonly elapsed: Micros },
): Promise<void> {
  const at = clock.elapsed + Math.min(delay, CLIENT_TIMEOUT)
  while (findFrozenContext() === undefined && clock.elapsed < at) await wait(at - clock.elapsed)
  if (delay <= CLIENT_TIMEOUT) return
  const error = new Error(`no answer to ${what} within ${formatDuration(CLIENT_TIMEOUT)}`)
  throw Object.assign(error, { broken: true })
}

/** A request that its world may hold, as the client of a scenario has it in hand. */
export interface HeldRequest {
  /** Where the answer is. */
  look(): Promise<ResponsePoll>
  /** Gives up. */
  leave(reason: Error): unknown
  readonly pass: PassTime
}

/**
 * Waits until the world answers, and moves its time meanwhile: a chat whose deployment sleeps is answered when an
 * instance has started.
 *
 * @param what the request, as in `POST /v1/chat/completions`
 * @param clock the world's
 * @throws Error with `broken: true` when nothing came within the client's patience, or time stands; the reason of its
 *   signal when the client gives up. Its place is free then
 */
export async function waitForHeldResponse(
  held: HeldRequest,
  request: Request,
  what: string,
  clock: { readonly elapsed: Micros },
): Promise<Response> {
  let abort = () => {}
  const gone = new Promise<never>((_, reject) => {
    // By the request, which has to stay: its signal does not follow the client's any more when it is gone.
    abort = () => reject(request.signal.reason)
  })
  gone.catch(() => {})
  request.signal.addEventListener('abort', abort)
  try {
    return await Promise.race([gone, pollHeldRequest(held, what, clock)])
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
): Promise<Response> {
  const deadline = clock.elapsed + CLIENT_TIMEOUT
  for (;;) {
    const state = await held.look()
    if ('answer' in state) return state.answer
    const frozenIn = findFrozenContext()
    const left = deadline - clock.elapsed
    if (frozenIn !== undefined || left <= 0) {
      const why = frozenIn ? describeFrozenTime(frozenIn) : ` within ${formatDuration(CLIENT_TIMEOUT)}`
      const error = broken(`no answer to ${what}${why}`)
      await held.leave(error)
      throw error
    }
    await held.pass(Math.min(state.delay, left))
  }
}

/** A body that comes as the world's time goes, as the client of a scenario reads it. */
export interface HeldBody {
  /** Where its next piece is. Throws when it breaks off. */
  read(): Promise<ChunkPoll>
  /** Stops reading. */
  leave(reason: Error): unknown
  readonly pass: PassTime
}

/**
 * An answer whose reader lets time come to each piece of it. Where time stands, or the body breaks off, it fails with an
 * error that says `broken: true`.
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

/** The step or the look in which time stands; undefined where it can be moved. */
function findFrozenContext(): string | undefined {
  const inside = callContext.getStore()
  return inside === undefined || inside.isOver ? undefined : inside.name
}

function describeFrozenTime(name: string): string {
  return `: it waits for time, and time stands in '${name}'`
}

function broken(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { broken: true })
}
