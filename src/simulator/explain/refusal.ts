/** Why a request was refused, in a few lines, for the errors of matchers. */

import type { RequestEntry } from '../../kernel/journal.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { Simulator } from '../simulator.ts'
import { Causes } from './causes.ts'
import { describeEntry } from './kind-sentences.ts'

/** The most causes that are listed. */
const MAX_CAUSES = 5

/**
 * Returns the causes of a refused request as sentences, the nearest first. Empty if the request was not refused, or if
 * the request alone decided that.
 */
export function explainRefusal(sim: Simulator, { seq, status }: ReceivedRequest): string[] {
  if (status > 0 && status < 400) return []
  const causes = new Causes(sim)
  const request = causes.at(seq)
  if (request?.kind !== 'request') return []
  const [, ...chain] = causes.chainOf(request as RequestEntry)
  return chain.slice(0, MAX_CAUSES).map(describeEntry)
}
