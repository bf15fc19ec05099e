import * as z from 'zod'
import { DAY, type Micros } from '../../kernel/duration.ts'
import type { Report } from '../../simulation/reporting/report.ts'
import type { TimeInput } from '../../simulation/reporting/report-window.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { CONTROL_PROVENANCE, control, refuseInvalid } from '../endpoint.ts'
import { parseTimeParam } from '../time-param.ts'

/** The fields stand in docs/reports.md; the type is the declaration of them all. */
const ReportSchema: z.ZodType<Report> = z.looseObject({
  from: z.string(),
  to: z.string(),
}) as unknown as z.ZodType<Report>

export const getReport = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/report',
  summary:
    'What the world did and cost, as a whole or between two moments (Unix seconds or ISO 8601): money, GPU-hours, requests, ' +
    'cold starts, failures, batches; with step (5m) also a row a deployment so often. Every field stands in docs/reports.md',
  example: { target: '/_sim/report?from=2026-01-01T00:00:00Z' },
  refusals: { 400: 'a moment that is none, lies before the world or is to come; a step that is none' },
  query: { from: z.string().optional(), to: z.string().optional(), step: z.string().optional() },
  returns: ReportSchema,
  handle: ({ query: { from, to, step }, sim }) =>
    refuseInvalid(() =>
      sim.report({
        ...(from !== undefined && { from: toTimeInput(sim, parseTimeParam(sim, 'report from', from)) }),
        ...(to !== undefined && { to: toTimeInput(sim, parseTimeParam(sim, 'report to', to)) }),
        ...(step !== undefined && { step }),
      }),
    ),
})

/** As a date within a century, so that a refusal names no microseconds that nobody typed. */
function toTimeInput({ world }: Simulator, time: Micros): TimeInput {
  return Math.abs(time) <= 36_525 * DAY ? world.clock.iso(time) : time
}
