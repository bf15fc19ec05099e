/** What a past has of one request. */

import { LIMITS } from '../../../lib/limits.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { RecordedBody, StepLines } from '../lines.ts'
import { listExchanges, type RecordedExchange } from '../timeline.ts'

/** A request as it was sent, and its answer. */
export interface KeptRequest extends RecordedExchange {
  /** Whether `body` is the whole body. */
  readonly isWhole: boolean
}

/**
 * Reads a request from its lines. The body of a request that a fault answered in place of its endpoint is in no line: it
 * comes from the list of received requests, which has its begin.
 *
 * @param lines all lines of one request
 * @param seq position of its journal entry
 */
export function readKeptRequest(lines: readonly StepLines[], sim: Simulator, seq: number): KeptRequest | undefined {
  const [exchange] = listExchanges(lines.map((line, index) => ({ ...line, line: index })))
  if (exchange === undefined) return undefined
  if (exchange.body !== undefined) return { ...exchange, isWhole: true }
  const body = toRecorded(sim.requests.find(request => request.seq === seq)?.body)
  const isCut = typeof body === 'string' && body.length >= LIMITS.requestBody
  return { ...exchange, body, isWhole: !isCut }
}

function toRecorded(body: unknown): RecordedBody | undefined {
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
}
