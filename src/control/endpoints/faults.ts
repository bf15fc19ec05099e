import * as z from 'zod'
import type { FaultView as View } from '../../faults/faults.ts'
import type { FaultRule } from '../../faults/rules.ts'
import { CONTROL_PROVENANCE, control, refuseInvalid } from '../endpoint.ts'

const FaultViewSchema = z.object({
  id: z.string(),
  rule: z.record(z.string(), z.unknown()),
  matches: z.int(),
  hits: z.int(),
})

const TimeField = z.union([z.string(), z.number()])

/** The fields of a rule, for whoever reads what there is; what they may hold is for the simulator to say. */
const RuleFields = z.looseObject({
  name: z.string().optional(),
  on: z.union([z.string(), z.array(z.string())]),
  token: z.string().optional(),
  model: z.string().optional(),
  deployment: z.string().optional(),
  times: z.number().optional(),
  nth: z.number().optional(),
  every: z.number().optional(),
  chance: z.number().optional(),
  after: z.looseObject({ kind: z.string() }).optional(),
  from: TimeField.optional(),
  until: TimeField.optional(),
  fault: z.looseObject({ kind: z.string() }),
})

export const listFaults = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/faults',
  summary: 'The rules of faults of the wire, in the order in which they are tried, each with its matches and hits',
  returns: z.array(FaultViewSchema),
  handle: ({ sim }) => sim.faults.list().map(toFaultView),
})

export const addFault = control({
  ...CONTROL_PROVENANCE,
  route: 'POST /_sim/faults',
  summary: 'Add a rule: what it befalls, when, and which fault; docs/faults.md has every kind',
  example: { body: { on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } } },
  refusals: {
    400: 'an unknown operation, kind or field, triggers that contradict each other, a window that has ended, a name that is taken',
  },
  body: RuleFields,
  returns: FaultViewSchema,
  handle: async ({ body, sim }) => {
    const { id } = await refuseInvalid(() => sim.faults.add(body as FaultRule))
    return toFaultView(sim.faults.get(id))
  },
})

export const getFault = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/faults/{id}',
  summary: 'One rule, with its matches and hits',
  example: { target: '/_sim/faults/fault-1' },
  refusals: { 404: 'an unknown id' },
  returns: FaultViewSchema,
  handle: async ({ params: { id }, sim }) => toFaultView(await refuseInvalid(() => sim.faults.get(id), 404)),
})

export const removeFault = control({
  ...CONTROL_PROVENANCE,
  route: 'DELETE /_sim/faults/{id}',
  summary: 'Remove a rule; the others keep their counts and their draws',
  example: { target: '/_sim/faults/fault-1' },
  refusals: { 404: 'an unknown id' },
  returns: FaultViewSchema,
  handle: async ({ params: { id }, sim }) => {
    const last = await refuseInvalid(() => sim.faults.get(id), 404)
    sim.faults.remove(id)
    return toFaultView(last)
  },
})

export const clearFaults = control({
  ...CONTROL_PROVENANCE,
  route: 'DELETE /_sim/faults',
  summary: 'Remove every rule',
  returns: z.object({ removed: z.int() }),
  handle: ({ sim }) => {
    const removed = sim.faults.list().length
    sim.faults.clear()
    return { removed }
  },
})

/** A window may have been given as a Date, which the wire writes as text. */
function toFaultView(view: View): z.input<typeof FaultViewSchema> {
  return { ...view, rule: JSON.parse(JSON.stringify(view.rule)) as Record<string, unknown> }
}
