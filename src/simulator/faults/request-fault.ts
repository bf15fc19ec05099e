/** The fault of a single request, which its header `x-sim-fault` states. */
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { FaultError } from './fault-error.ts'
import { FAULT_HEADER } from './faults-state.ts'
import { isDurationField } from './kinds/fields.ts'
import { FAULT_KINDS } from './kinds/index.ts'
import type { FaultKind } from './kinds/kind.ts'
import { type ParsedRule, parseRuleWithoutWindow, type RuleContext } from './rules.ts'

/** A fault with the defaults of its kind. */
export type ParsedFault = ParsedRule['rule']['fault']

/**
 * Parses the header of a request: a fault kind, with a value for its first field, and further fields. Semicolons separate
 * them. `%3B` in a value is a semicolon. The checks are those of a fault rule for the operation.
 *
 * @example parseFaultHeader('status=503;effect=done', 'listModels', context)
 * // { kind: 'status', status: 503, effect: 'done' }
 * @throws FaultError that names the header and the problem
 */
export function parseFaultHeader(text: string, operation: string, context: Omit<RuleContext, 'clock'>): ParsedFault {
  const [first = '', ...others] = text.split(';').map(part => part.trim())
  const [kind, firstValue] = splitAssignment(first)
  if (!Object.hasOwn(FAULT_KINDS, kind)) {
    const kinds = Object.keys(FAULT_KINDS)
    throw invalidHeader(
      `unknown fault kind '${kind}'. ${formatSuggestion(kind, kinds, `Kinds are ${kinds.join(', ')}.`)}`,
    )
  }
  const { schema } = FAULT_KINDS[kind as keyof typeof FAULT_KINDS] as unknown as FaultKind
  // Without a prototype, so that a field named `__proto__` is only an unknown field.
  const fault: Record<string, unknown> = Object.assign(Object.create(null), { kind })
  const assign = (name: string, value: string) => {
    if (Object.hasOwn(fault, name)) throw invalidHeader(`duplicate field '${name}'. Give it once.`)
    fault[name] = readValue(Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined, name, value)
  }
  if (firstValue !== undefined) {
    // The table of the fault kinds shows the fields in this order.
    const firstField = Object.keys(schema.shape).find(name => name !== 'kind')
    if (firstField === undefined) throw invalidHeader(`'${kind}' has no fields. Write ${kind} alone.`)
    assign(firstField, firstValue)
  }
  for (const part of others) {
    if (part === '') continue
    const [name, value] = splitAssignment(part)
    if (value === undefined) throw invalidHeader(`'${name}' has no value. Write it as in ${name}=value.`)
    assign(name, value)
  }
  try {
    return parseRuleWithoutWindow({ on: operation, fault }, context).rule.fault
  } catch (error) {
    if (!(error instanceof FaultError)) throw error
    const field = error.path.slice(1).join('.')
    throw invalidHeader(`${field === '' ? '' : `${field}: `}${error.reason.replace(" Name others in 'on'.", '')}`)
  }
}

function splitAssignment(text: string): [name: string, value: string | undefined] {
  const separator = text.indexOf('=')
  return separator < 0 ? [text, undefined] : [text.slice(0, separator).trim(), text.slice(separator + 1).trim()]
}

/** Returns the value as a number or a boolean if the field takes it as such, else as text. */
function readValue(
  field: { safeParse(value: unknown): { success: boolean } } | undefined,
  name: string,
  text: string,
): unknown {
  const decoded = decode(name, text)
  const isNumber = /^-?\d+(\.\d+)?$/.test(decoded)
  const isBoolean = decoded === 'true' || decoded === 'false'
  const literal = isNumber ? Number(decoded) : isBoolean ? decoded === 'true' : undefined
  if (isNumber && literal !== 0 && isDurationField(field) && field!.safeParse(literal).success) {
    throw invalidHeader(`${name}: '${decoded}' has no unit. Give one, as in ${name}=${decoded}s.`)
  }
  // A number that the field refuses stays a number, so the error is about its bounds.
  if (literal === undefined || field === undefined || field.safeParse(decoded).success) return decoded
  return literal
}

function decode(name: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalidHeader(`${name}: invalid percent-encoding in '${text}'. Write a percent sign as %25.`)
  }
}

function invalidHeader(reason: string): FaultError {
  return new FaultError(`Failed to apply the header ${FAULT_HEADER}: ${reason}`)
}
