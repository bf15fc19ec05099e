import * as z from 'zod'
import { WireFaultResponse } from '../wire-faults.ts'
import { defineFaultKind } from './kind.ts'

/** The connection is refused, as without a server. */
export const refused = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('refused') }),
  summary: 'No connection',
  finding: (_, operation) => `the connection for ${operation} was refused`,
  example: { kind: 'refused' },
  act(_, hit) {
    hit.record(0)
    return new WireFaultResponse({ kind: 'refused' })
  },
})
