/** How the client of a scenario waits for an answer: one that a fault delays, and one that its world holds. */
import type { Whereabouts } from '../awaited-answer.ts'
import { type Micros, readable, SECOND } from '../kernel/duration.ts'
import { part } from './timeline.ts'

/** Virtual time after which the client gives up. */
const CLIENT_TIMEOUT = 60 * SECOND

/**
 * Waits out the delay of an answer. Time stands while something is looked at and while a planned step is done: an answer
 * that would be late comes at once then.
 *
 * @param what the request, as in `GET /deploy/list`
 * @param wait moves time by so much, or lets it pass
 * @throws Error with `broken: true` for an answer later than the client's patience, and one that never comes
 */
export async function awaitAnswer(
  delay: Micros,
  what: string,
  wait: (span: Micros) => Promise<unknown>,
): Promise<void> {
  const inside = part.getStore()
  if (inside === undefined || inside.isOver) await wait(Math.min(delay, CLIENT_TIMEOUT))
  if (delay <= CLIENT_TIMEOUT) return
  const error = new Error(`no answer to ${what} within ${readable(CLIENT_TIMEOUT)}`)
  throw Object.assign(error, { broken: true })
}

/** A request that its world may hold, as the client of a scenario has it in hand. */
export interface Held {
  /** Where the answer is. */
  look(): Promise<Whereabouts>
  /** Lets the world's time come so far, or to the end of the move that is under way. */
  wait(span: Micros): Promise<unknown>
  /** Gives up. */
  leave(reason: Error): unknown
}

/**
 * Waits until the world answers, and moves its time meanwhile: a chat whose deployment sleeps is answered when an
 * instance has started.
 *
 * @param clock the world's
 * @throws Error with `broken: true` when nothing came within the client's patience, or time stands: its place is free then
 */
export async function awaitHeld(held: Held, what: string, clock: { readonly elapsed: Micros }): Promise<Response> {
  const deadline = clock.elapsed + CLIENT_TIMEOUT
  for (;;) {
    const seen = await held.look()
    if ('answer' in seen) return seen.answer
    const inside = part.getStore()
    const stands = inside !== undefined && !inside.isOver
    const left = deadline - clock.elapsed
    if (stands || left <= 0) {
      const why = stands
        ? `: it waits for an instance, and time stands in '${inside.name}'`
        : ` within ${readable(CLIENT_TIMEOUT)}`
      const error = Object.assign(new Error(`no answer to ${what}${why}`), { broken: true })
      await held.leave(error)
      throw error
    }
    await held.wait(Math.min(seen.delay, left))
  }
}
