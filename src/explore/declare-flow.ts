/** Declares flows, and checks what users give as one. */

import { RULE_NAMES } from '../evidence/rules/index.ts'
import { formatSuggestion } from '../lib/did-you-mean.ts'
import { assertKnownKeys } from '../lib/known-keys.ts'
import type { FlowFunction, FlowOptions, NamedFlow } from './flow.ts'

const OPTIONS: readonly (keyof FlowOptions)[] = [
  ...(['fixtures', 'with', 'seed', 'profile', 'budget', 'invariants', 'own', 'lines'] as const),
]

/**
 * Declares a flow with a name and options. A module of `modelhost-sim explore` exports it as its default.
 *
 * @throws TypeError if the name or the function is missing, RangeError for an unknown option or invariant
 * @example
 * export default flow('deploy', { fixtures: 'two-nodes', invariants: { spendsAtMost: 5 } }, async ({ fetch, url, token }) =>
 *   deploy({ fetch, url, token }))
 */
export function flow<Result>(name: string, options: FlowOptions<Result>, run: FlowFunction<Result>): NamedFlow<Result> {
  if (typeof name !== 'string' || name.trim() === '' || name.includes('\n')) {
    throw new TypeError("Failed to declare a flow: its name is missing. Give a text of one line, as in 'deploy'.")
  }
  if (typeof options !== 'object' || options === null || typeof run !== 'function') {
    throw new TypeError(
      `Failed to declare the flow '${name}': options or function are missing. ` +
        'Write flow(name, { fixtures }, async ({ fetch, url, token }) => { … }).',
    )
  }
  const context = `Failed to declare the flow '${name}'`
  assertKnownKeys(options, OPTIONS, context)
  requireKnownInvariants(options.invariants ?? {}, context)
  return Object.freeze({ name, options, run })
}

/**
 * Returns a flow with its name: a declared flow as it is, a function with the given name or its own.
 *
 * @returns undefined for any other value
 */
export function toNamedFlow(value: unknown, name?: string): NamedFlow | undefined {
  if (typeof value === 'function')
    return { name: name ?? (value.name || 'flow'), options: {}, run: value as FlowFunction }
  // Declared by this copy of the package or another.
  const { run, options = {}, name: own = name ?? 'flow' } = (value ?? {}) as Partial<NamedFlow>
  return typeof run === 'function' ? { ...(value as NamedFlow), name: own, options } : undefined
}

/**
 * Refuses a name that is neither a rule nor a function, which would never be checked.
 *
 * @param context begin of the error, as in `Failed to explore deploy`
 * @throws RangeError with the nearest rule
 */
export function requireKnownInvariants(invariants: object, context: string): void {
  if (typeof invariants !== 'object' || invariants === null) {
    throw new RangeError(`${context}: invariants must be an object, as in { spendsAtMost: 5 }.`)
  }
  for (const [name, setting] of Object.entries(invariants)) {
    if ((RULE_NAMES as readonly string[]).includes(name) || typeof setting === 'function') continue
    const advice = formatSuggestion(name, RULE_NAMES, `Give a function, or one of ${RULE_NAMES.join(', ')}.`)
    throw new RangeError(`${context}: unknown invariant '${name}'. ${advice}`)
  }
}
