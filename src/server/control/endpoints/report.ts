import * as z from 'zod'
import { MAX_DURATION } from '../../../kernel/duration.ts'
import { given } from '../../../lib/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import type { Report } from '../../../simulation/reporting/report-types.ts'
import type { TimeInput } from '../../../simulation/reporting/report-window.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { control, parseTimeParam, refuseInvalid } from '../endpoint.ts'
import { PostingSchema } from '../event-views.ts'

/** The type declares all fields; docs/reports.md describes them. */
const ReportSchema: z.ZodType<Report> = z.looseObject({
  from: z.string(),
  to: z.string(),
}) as unknown as z.ZodType<Report>

export const getReport = control({
  route: 'GET /_sim/report',
  summary:
    'Report what the world did and cost between two times (Unix seconds or ISO 8601): money, GPU-hours, requests, ' +
    'cold starts, failures, batches. With `step` (`5m`), it has a row for each deployment and step. docs/reports.md ' +
    'describes every field',
  example: { target: '/_sim/report?from=2026-01-01T00:00:00Z' },
  refusals: { 400: 'an invalid time, a time before the epoch or in the future, or an invalid step' },
  query: { from: z.string().optional(), to: z.string().optional(), step: z.string().optional() },
  returns: ReportSchema,
  handle: ({ query: { from, to, step }, sim }) =>
    refuseInvalid(() =>
      sim.report(given({ from: toTimeInput(sim, 'from', from), to: toTimeInput(sim, 'to', to), step })),
    ),
})

/** Returns a time within a century as ISO 8601, because an error would otherwise name microseconds that the user never typed. */
function toTimeInput(sim: Simulator, field: 'from' | 'to', text: string | undefined): TimeInput | undefined {
  if (text === undefined) return undefined
  const time = parseTimeParam(sim, `report ${field}`, text)
  return Math.abs(time) <= MAX_DURATION ? sim.world.clock.iso(time) : time
}

export const getLedger = control({
  route: 'GET /_sim/ledger',
  summary:
    'Return the balance of the account in micro-cents, and its postings: of one subject, or between two times (Unix seconds or ISO 8601)',
  example: { target: '/_sim/ledger?subject=2cZeTxVFN7tKxCCh&from=2026-01-01T00:00:00Z' },
  refusals: { 400: 'an invalid time, or one after the end' },
  query: { from: z.string().optional(), to: z.string().optional(), subject: z.string().optional() },
  returns: z.object({
    balance_microcents: z.int(),
    entries: z.array(PostingSchema),
  }),
  handle: ({ query, sim }) => {
    const from = query.from === undefined ? undefined : parseTimeParam(sim, 'read the ledger from', query.from)
    const to = query.to === undefined ? undefined : parseTimeParam(sim, 'read the ledger to', query.to)
    const { now } = sim.world.clock
    if (from !== undefined && from > Math.min(to ?? now, now)) {
      const end = to !== undefined && to < now ? `'${query.to}'` : sim.clock.iso
      refuse(
        400,
        `Failed to read the ledger from '${query.from}': that is after the end, ${end}. Give an earlier time.`,
      )
    }
    const entries = sim.ledger
      .entries(given({ from, to }))
      .filter(({ subject }) => query.subject === undefined || subject === query.subject)
    return {
      balance_microcents: sim.ledger.balance,
      entries: entries.map(entry => ({ ...entry, time: sim.world.clock.iso(entry.time) })),
    }
  },
})
