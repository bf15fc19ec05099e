/** The conduct of the clients of a server, as far as its list of requests tells. */

import type { ReceivedRequest } from '../../simulator/exchanges/request-log.ts'
import { conductOfLog } from '../../simulator/judge/logged-conduct.ts'
import type { Conduct } from '../../simulator/judge/observation.ts'

const MICROS_PER_MS = 1_000

/**
 * Returns the conduct that the requests of a server show. What only a simulator in this process has (`sim`, `created`)
 * throws when a rule reads it.
 *
 * @param epochMs the start of the world, milliseconds since 1970
 */
export function conductOfServer(
  received: readonly Omit<ReceivedRequest, 'subjects'>[],
  epochMs: number,
  pollsAtMost?: number | undefined,
): Conduct {
  const log = conductOfLog(received, iso => elapsedAt(iso, epochMs), pollsAtMost)
  return {
    ...log,
    get sim(): never {
      throw new RangeError('sim is missing, because a server gives only its requests')
    },
    get created(): never {
      throw new RangeError('created is missing, because a server gives only its requests')
    },
    owned: new Set(),
    endedAt: Math.max(0, ...log.requests.map(request => request.endedAt)),
  }
}

/** Returns the time of the world of an ISO 8601 time with up to six decimals. */
function elapsedAt(iso: string, epochMs: number): number {
  const [, micros = '0'] = /\.\d{3}(\d{1,3})/.exec(iso) ?? []
  return (Date.parse(iso) - epochMs) * MICROS_PER_MS + Number(micros.padEnd(3, '0'))
}
