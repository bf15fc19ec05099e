import * as z from 'zod'
import { fieldsOf } from '../../../lib/fields.ts'
import type { FaultView as View } from '../../../simulator/faults/fault-controls.ts'
import * as faultFields from '../../../simulator/faults/kinds/fields.ts'
import * as faultKinds from '../../../simulator/faults/kinds/index.ts'
import type { FaultRule } from '../../../simulator/faults/rules.ts'
import { control, DurationField, describeBareNumber, refuseInvalid } from '../endpoint.ts'

const FaultViewSchema = z.object({
  id: z.string(),
  rule: z.record(z.string(), z.unknown()),
  matches: z.int(),
  hits: z.int(),
})

/**
 * The fault of a rule. A number as one of its durations is refused, except 0: in code it is milliseconds, and other times
 * of the control plane are seconds.
 */
const FaultFields = z.looseObject({ kind: z.string() }).check(({ value, issues }) => {
  const schema = Object.hasOwn(faultKinds.FAULT_KINDS, value.kind)
    ? faultKinds.FAULT_KINDS[value.kind as keyof typeof faultKinds.FAULT_KINDS].schema
    : undefined
  for (const [name, field] of Object.entries(schema?.shape ?? {})) {
    const given = value[name]
    if (typeof given === 'number' && given !== 0 && faultFields.isDurationField(field)) {
      issues.push({ code: 'custom', message: describeBareNumber(given), path: [name], input: given })
    }
  }
})

/** The fields of a rule, for the documentation. The simulator checks their values, with errors that name the rule. */
const RuleFields = z.looseObject({
  name: z.string().optional(),
  on: z.union([z.string(), z.array(z.string())]),
  ...fieldsOf(z.string().optional(), 'in', 'path', 'token', 'model', 'deployment'),
  times: z.number().optional(),
  nth: z.number().optional(),
  for: DurationField.optional(),
  every: z.number().optional(),
  chance: z.number().optional(),
  after: z.looseObject({ kind: z.string() }).optional(),
  from: DurationField.optional(),
  until: DurationField.optional(),
  fault: FaultFields,
})

export const listFaults = control({
  route: 'GET /_sim/faults',
  summary: 'List the fault rules in the order in which they are tried, with their matches and hits',
  returns: z.array(FaultViewSchema),
  handle: ({ sim }) => sim.faults.list().map(toFaultView),
})

export const addFault = control({
  route: 'POST /_sim/faults',
  summary: 'Add a fault rule: on which operations, when, and which fault. docs/faults.md lists the fault kinds',
  example: { body: { on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } } },
  refusals: {
    400: 'an unknown operation, kind or field, contradictory triggers, a window in the past, or a duplicate name',
  },
  body: RuleFields,
  returns: FaultViewSchema,
  handle: async ({ body, sim, actAsRequest }) => {
    const { id } = await refuseInvalid(() => actAsRequest(() => sim.faults.add(body as FaultRule)))
    return toFaultView(sim.faults.get(id))
  },
})

export const getFault = control({
  route: 'GET /_sim/faults/{id}',
  summary: 'Return a fault rule with its matches and hits',
  example: { target: '/_sim/faults/fault-1' },
  refusals: { 404: 'an unknown id' },
  returns: FaultViewSchema,
  handle: async ({ params: { id }, sim }) => toFaultView(await refuseInvalid(() => sim.faults.get(id), 404)),
})

export const removeFault = control({
  route: 'DELETE /_sim/faults/{id}',
  summary: 'Remove a fault rule. The other rules keep their counts and random draws',
  example: { target: '/_sim/faults/fault-1' },
  refusals: { 404: 'an unknown id' },
  returns: FaultViewSchema,
  handle: async ({ params: { id }, sim, actAsRequest }) => {
    const last = await refuseInvalid(() => sim.faults.get(id), 404)
    actAsRequest(() => sim.faults.remove(id))
    return toFaultView(last)
  },
})

export const clearFaults = control({
  route: 'DELETE /_sim/faults',
  summary: 'Remove all fault rules',
  returns: z.object({ removed: z.int() }),
  handle: ({ sim, actAsRequest }) => {
    const removed = sim.faults.list().length
    actAsRequest(() => sim.faults.clear())
    return { removed }
  },
})

/** Returns the rule as JSON: a `Date` of its window becomes text. */
function toFaultView(view: View): z.input<typeof FaultViewSchema> {
  return { ...view, rule: JSON.parse(JSON.stringify(view.rule)) as Record<string, unknown> }
}
