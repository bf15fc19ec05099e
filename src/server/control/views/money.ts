import * as z from 'zod'
import { formatDuration, HOUR, MAX_DURATION, type Micros, SECOND } from '../../../kernel/duration.ts'
import { fieldsOf } from '../../../lib/fields.ts'
import { orNull, rowsOf } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import { MICROCENTS_PER_CENT } from '../../../simulation/account/money.ts'
import { isTerminal } from '../../../simulation/deployments/deployment-row.ts'
import { parseReportWindow } from '../../../simulation/reporting/report-window.ts'
import type { World } from '../../../simulation/world.ts'
import * as moneyTracker from '../../../simulator/explain/money-tracker.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { control, parseTimeParam, refuseInvalid } from '../endpoint.ts'
import { nameOfThing } from '../world-view.ts'

const UsageSchema = z.object({
  held_gpu_hours: z.number(),
  used_gpu_hours: z.number(),
  wasted_gpu_hours: z.number().describe('Held less used'),
})

export const getMoney = control({
  route: 'GET /_sim/money',
  summary:
    'Return what each deployment, rental, batch, model and own record costs per hour now and cost so far, in ' +
    'micro-cents, and when the balance is zero at this burn. With `step` (`5m`), it also has what each cost in each ' +
    'step between two times. With `usage=true`, it also has the GPU-hours of the report, which takes longer',
  example: { target: '/_sim/money?step=1h' },
  refusals: { 400: 'an invalid time, a time before the epoch or in the future, or an invalid step' },
  query: {
    ...fieldsOf(z.string().optional(), 'step', 'from', 'to'),
    usage: z.enum(['true', 'false']).default('false'),
  },
  returns: z.object({
    now: z.string(),
    balance_microcents: z.int(),
    opening_microcents: z.int().describe('Funds at the start of the world'),
    added_microcents: z.int().describe('Payments, top-ups and adjustments since then'),
    spent_microcents: z.int().describe('opening + added − spent = balance'),
    burn_microcents_per_hour: z.number().describe('The rent of all that is billed now'),
    runs_out_at: z
      .string()
      .nullable()
      .describe('When the balance is zero at this burn, without a top-up; null if that is never'),
    runs_out_in: z.string().nullable().describe('The time from now, as in `3h 2m`'),
    tops_up: z.boolean().describe('Whether automatic top-ups are on'),
    top_up: orNull({ at: z.string(), in: z.string(), microcents: z.int() }).describe(
      'The next automatic top-up at this burn: when the balance falls below the threshold. ' +
        'null without one: top-ups are off, the card is declined, nothing burns, or it is below already',
    ),
    owners: rowsOf({
      id: z.string(),
      kind: z.string().describe('deployment, hosted, container, batch, model, or the kind of an own record'),
      name: z.string(),
      burn_microcents_per_hour: z.number(),
      spent_microcents: z.int(),
      gpus: z.int().describe('GPUs that are billed now'),
      instance: orNull({
        microcents_per_hour: z.number(),
        ...fieldsOf(z.int(), 'gpus', 'min_instances', 'max_instances'),
      }).describe('What one instance of a deployment costs while it is billed, at the price of now; null without one'),
    }).describe('The most expensive first'),
    series: z
      .object({
        from: z.string().describe('The begin of the first step'),
        step_seconds: z.number(),
        times: z.array(z.string()).describe('The ends of the steps. The last step may be shorter'),
        owners: z.array(z.string()).describe('Ids, in the order of the columns'),
        spent_microcents: z.array(z.array(z.int())).describe('A row for each step, with a figure for each owner'),
      })
      .optional(),
    usage: UsageSchema.extend({ deployments: z.array(UsageSchema.extend({ id: z.string() })) }).optional(),
  }),
  handle: async ({ query, sim, lookAtMoney }) => {
    if (query.step === undefined && (query.from ?? query.to) !== undefined)
      refuse(400, "Failed to read the money: 'from' and 'to' also need 'step'. Give one, as in step=5m.")
    const { balance, opening, added, spent, burnPerHour, runsOutAt, owners } = lookAtMoney()
    const series = query.step === undefined ? undefined : await refuseInvalid(() => seriesOf(sim, query.step!, query))
    const { clock, ledger } = sim.world
    const isFar = runsOutAt === undefined || runsOutAt - clock.now > MAX_DURATION
    return {
      ...{ now: clock.iso(), balance_microcents: balance, opening_microcents: opening, added_microcents: added },
      ...{ spent_microcents: spent, burn_microcents_per_hour: burnPerHour },
      runs_out_at: isFar ? null : clock.iso(runsOutAt),
      runs_out_in: isFar ? null : formatDuration(runsOutAt - clock.now),
      tops_up: ledger.topups.rule.enabled,
      top_up: nextTopUp(sim.world, balance, burnPerHour),
      owners: owners.map(owner => toOwner(sim, owner)),
      ...(series !== undefined && { series }),
      ...(query.usage === 'true' && { usage: usageOf(sim) }),
    }
  },
})

/** Returns the automatic top-up that this burn leads to; null without one. */
function nextTopUp({ ledger, clock }: World, balance: number, burnPerHour: number) {
  const { enabled, amount, threshold } = ledger.topups.rule
  const room = balance - threshold * MICROCENTS_PER_CENT
  if (!enabled || !ledger.topups.isCardAccepted || ledger.topups.hasFailed || burnPerHour === 0 || room < 0) return null
  const wait = Math.floor((room / burnPerHour) * HOUR) + 1
  if (wait > MAX_DURATION) return null
  return { at: clock.iso(clock.now + wait), in: formatDuration(wait), microcents: amount * MICROCENTS_PER_CENT }
}

function seriesOf(sim: Simulator, text: string, query: { from?: string | undefined; to?: string | undefined }) {
  const time = (name: 'from' | 'to') => {
    const value = query[name]
    return value === undefined ? {} : { [name]: parseTimeParam(sim, `report the money ${name}`, value) }
  }
  const window = parseReportWindow(sim.world, { ...time('from'), ...time('to'), step: text })
  const { step, times, owners, spent } = moneyTracker.moneySeries(sim.world, { ...window, step: window.step as Micros })
  return {
    from: sim.world.clock.iso(window.from),
    step_seconds: step / SECOND,
    times: times.map(end => sim.world.clock.iso(end)),
    owners: [...owners],
    spent_microcents: spent.map(row => [...row]),
  }
}

function toOwner(sim: Simulator, { id, kind, burnPerHour, spent, gpus }: moneyTracker.MoneyOwner) {
  const name = nameOfThing(sim.world, id, kind)
  const instance = kind === 'deployment' ? instanceOf(sim.world, id) : null
  return { id, kind, name, burn_microcents_per_hour: burnPerHour, spent_microcents: spent, gpus, instance }
}

/** Returns what one instance of a deployment costs; null if the deployment has ended. */
function instanceOf({ deployments, ledger }: World, id: string) {
  const row = deployments.findById(id)
  if (row === undefined || isTerminal(row.status)) return null
  const { gpu, numGpus, minInstances, maxInstances } = row
  return {
    microcents_per_hour: ledger.meters.priceCentsPerHour(gpu) * MICROCENTS_PER_CENT * numGpus,
    ...{ gpus: numGpus, min_instances: minInstances, max_instances: maxInstances },
  }
}

/** Returns the GPU-hours of deployments since the start of the world, as the report has them. */
function usageOf(
  sim: Simulator,
): z.input<typeof UsageSchema> & { deployments: (z.input<typeof UsageSchema> & { id: string })[] } {
  const { totals, deployments } = sim.report()
  return { ...toUsage(totals), deployments: deployments.map(report => ({ id: report.deploy_id, ...toUsage(report) })) }
}

function toUsage({ held_gpu_hours, used_gpu_hours, wasted_gpu_hours }: z.input<typeof UsageSchema>) {
  return { held_gpu_hours, used_gpu_hours, wasted_gpu_hours }
}
