/** Faults of a flow: rules and commands that are points beside the built-in classes. */

import { describeUnknownField } from '../../../lib/known-keys.ts'
import { describeWrongValue, formatValue } from '../../../lib/zod-problems.ts'
import type { Operations } from '../../../service/endpoint.ts'
import { servedBy } from '../../../service/http/service.ts'
import { JOURNAL_KINDS } from '../../../simulation/journal-kinds.ts'
import { FaultError } from '../../../simulator/faults/fault-error.ts'
import { type FaultRule, parseRuleWithoutWindow, RuleSchema, TRIGGERS } from '../../../simulator/faults/rules.ts'
import type { FlowWorld } from '../flow-world.ts'
import { type CommandItem, type PlanItem, withContentName } from './plan.ts'
import { assertPlan } from './plan-form.ts'

/**
 * A fault rule, or a command at a moment of the world. A rule without a count strikes each request of its operations, one
 * at a time. A rule for lines of batches is one point. `name`: its name in the report. Default: the fault kind, or the
 * command. `passes`: a client can end as usual after it, so `recovers` judges it. Default: false.
 */
export type OwnFault = (FaultRule | (CommandItem & Pick<FaultRule, 'name'>)) & { readonly passes?: boolean }

/** An own fault that is valid. */
export interface CheckedFault {
  readonly item: PlanItem
  /** The operations of a rule that strikes each of their requests; undefined for a fault that is one point. */
  readonly operations?: ReadonlySet<string>
  /** Its name in reports. */
  readonly class: string
}

/**
 * Returns the own faults of a flow.
 *
 * @param context start of the error, as in `Failed to declare the flow 'deploy'`
 * @throws TypeError or RangeError that names the entry, the field and a remedy
 */
export function checkOwnFaults(
  flow: Pick<FlowWorld, 'endpoints'> & { readonly faults?: readonly OwnFault[] | undefined },
  context: string,
): CheckedFault[] {
  const { faults = [] } = flow
  if (Array.isArray(faults)) {
    const { operations } = servedBy(flow)
    const names = (faults as readonly (Partial<FaultRule> | null)[]).map(fault => fault?.name)
    const twice = names.findIndex((name, index) => name !== undefined && names.indexOf(name) < index)
    if (twice > 0) {
      const first = `faults[${names.indexOf(names[twice])}]`
      throw new RangeError(`${context}: faults[${twice}].name: it is also that of ${first}. Give each another name.`)
    }
    return faults.map((fault, index) => checkOwnFault(fault, operations, `${context}: faults[${index}]`))
  }
  throw new TypeError(
    `${context}: faults is not a list. Write faults: [{ on: 'listBatches', fault: { kind: 'empty' } }].`,
  )
}

/** The reason for a field that neither a rule has, nor one with a name like it. */
const UNKNOWN_FIELD = describeUnknownField('', [])

function checkOwnFault(given: OwnFault, operations: Operations, place: string): CheckedFault {
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(`${place}: expected a fault rule or a command, got ${formatValue(given)}. Give an object.`)
  }
  const { passes = false, ...rest } = given
  if (typeof passes !== 'boolean') throw new TypeError(`${place}.passes: expected true or false.`)
  if ('command' in rest) {
    const { name, ...command } = rest
    const expected = RuleSchema.shape.name.safeParse(name).error?.issues[0]?.message
    if (expected !== undefined) throw new TypeError(`${place}.name: ${describeWrongValue(expected, name)}`)
    const item = { ...command, passes } as CommandItem
    try {
      assertPlan([item], place)
    } catch (error) {
      throw new TypeError((error as Error).message.replace(': plan[0]', '').replace('Items are', 'Give'))
    }
    return { item, class: name ?? item.command.verb }
  }
  try {
    const context = { operations, operationOf: () => undefined, kinds: JOURNAL_KINDS }
    const parsed = parseRuleWithoutWindow(rest, context)
    const name = rest.name ?? rest.fault.kind
    const isCounted = rest.in === 'batch' || TRIGGERS.some(trigger => trigger in rest)
    if (isCounted) return { item: { fault: withContentName(rest), passes }, class: name }
    return { item: { fault: rest, passes }, operations: parsed.operations, class: name }
  } catch (error) {
    if (!(error instanceof FaultError)) throw error
    const [first, ...inner] = error.path
    const isUnknown = inner.length === 0 && error.reason === UNKNOWN_FIELD
    const reason = isUnknown ? describeUnknownField(String(first), ['passes']) : error.reason
    throw new RangeError(`${place}${error.path.map(step => `.${String(step)}`).join('')}: ${reason}`)
  }
}
