/** How the client of a scenario waits for an answer that a fault delays. */
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
