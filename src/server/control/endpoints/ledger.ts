import * as z from 'zod'
import { given } from '../../../lib/fields.ts'
import { control } from '../endpoint.ts'
import { parseTimeParam } from '../time-param.ts'

export const getLedger = control({
  route: 'GET /_sim/ledger',
  summary:
    'Return the balance of the account in micro-cents, and its postings: of one subject, or between two times (Unix seconds or ISO 8601)',
  example: { target: '/_sim/ledger?subject=2cZeTxVFN7tKxCCh&from=2026-01-01T00:00:00Z' },
  refusals: { 400: 'an invalid time' },
  query: { from: z.string().optional(), to: z.string().optional(), subject: z.string().optional() },
  returns: z.object({
    balance_microcents: z.int(),
    entries: z.array(
      z.object({
        time: z.string(),
        kind: z.enum(['funds', 'topup', 'rent', 'tokens', 'units', 'adjustment']),
        subject: z.string().describe('Id of the billed resource'),
        microcents: z.int(),
        tokens: z.int().optional().describe('Tokens of the charge'),
        pricing_type: z.string().optional().describe('Pricing type of the units of a charge'),
        units: z.number().optional().describe('Units of the charge: images, characters or seconds'),
        token_id: z.string().optional().describe('Id of the API token whose requests were charged'),
        open: z.literal(true).optional().describe('Accrued, and not posted yet'),
      }),
    ),
  }),
  handle: ({ query, sim }) => {
    const from = query.from === undefined ? undefined : parseTimeParam(sim, 'read the ledger from', query.from)
    const to = query.to === undefined ? undefined : parseTimeParam(sim, 'read the ledger to', query.to)
    const entries = sim.ledger
      .entries(given({ from, to }))
      .filter(({ subject }) => query.subject === undefined || subject === query.subject)
    return {
      balance_microcents: sim.ledger.balance,
      entries: entries.map(entry => ({ ...entry, time: sim.world.clock.iso(entry.time) })),
    }
  },
})
