/** Declares flows, and checks what users give as one. */

import { quote } from '../../lib/quote.ts'
import type { CommandFlow, ExplorableFlow, FlowFunction, FlowOptions, NamedFlow } from './flow.ts'
import { WORLD_OPTIONS } from './flow-world.ts'
import type { InputDeclarations, ValuesOf } from './input.ts'
import { assertInvariants, assertOptions } from './invariants.ts'
import * as ownFaults from './plan/own-faults.ts'
import { assertInputs } from './values.ts'

const OPTIONS: readonly (keyof FlowOptions)[] = [
  ...WORLD_OPTIONS,
  ...(['budget', 'invariants', 'own', 'lines', 'tells', 'tellsBy', 'inputs', 'faults'] as const),
]

/**
 * Declares a flow with a name and options. A module of `modelhost-sim explore` exports it as its default.
 *
 * @throws TypeError if the name or the function is missing, RangeError for an unknown option or invariant, and for an invalid
 *   input
 * @example
 * export default flow('deploy', { fixtures: 'two-nodes', invariants: { spendsAtMost: 5 } }, async ({ fetch, url, token }) =>
 *   deploy({ fetch, url, token }))
 */
export function flow<Result, Declared extends InputDeclarations = Record<never, never>>(
  name: string,
  options: FlowOptions<Result, Declared>,
  run: FlowFunction<Result, ValuesOf<Declared>>,
): NamedFlow<Result> {
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
  assertOptions(options, OPTIONS, context)
  for (const reader of ['own', 'lines', 'tells'] as const) {
    const given: unknown = options[reader]
    if (given === undefined || typeof given === 'function') continue
    throw new TypeError(`${context}: ${reader} is ${quote(given)}. Give a function that reads the result.`)
  }
  const { tellsBy } = options
  if (tellsBy !== undefined && tellsBy !== 'result' && tellsBy !== 'output') {
    throw new TypeError(`${context}: tellsBy is ${quote(tellsBy)}. Give 'result' or 'output'.`)
  }
  assertInvariants(options.invariants ?? {}, context)
  if (options.inputs !== undefined) assertInputs(options.inputs, context)
  if (options.faults !== undefined) ownFaults.checkOwnFaults(options, context)
  // The runner gives the flow the values of these declarations.
  return Object.freeze({ name, options, run: run as FlowFunction<Result> })
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

/** Names a command by its script, else by its program, and by the arguments of that, as in `client acme/chat`. */
function nameCommand(command: readonly string[]): string {
  // A shell has its words in one text.
  const words = command.flatMap((word, i) => (command[i - 1] === '-c' ? word.trim().split(/\s+/) : word))
  // Behind `-m` of Python, a word with an ending is a module.
  const script = words.findIndex((word, i) => /^(?!-)[\w./\\~$@+-]+\.[a-z]\w*$/i.test(word) && words[i - 1] !== '-m')
  const program = words.findIndex((word, i) => !/^(?:\w+=.*|exec|-c)$/.test(word) && words[i + 1] !== '-c')
  const [first = '', ...rest] = words.slice(script < 0 ? program : script)
  return [first.replace(/^.*[\\/]|\.[a-z]\w*$/gi, ''), ...rest].join(' ')
}

/** Returns a command as a flow. Its name is that of its script or program, with the arguments. */
export function commandFlow(
  command: readonly string[],
  settings: Partial<Pick<CommandFlow, 'options' | 'timeout' | 'processes' | 'cwd'>> = {},
): CommandFlow {
  return { name: nameCommand(command), options: {}, ...settings, command }
}

/** Returns a flow of any kind with its name; undefined for any other value. */
export function toExplorableFlow(value: unknown, name?: string): ExplorableFlow | undefined {
  const isCommand = Array.isArray((value as CommandFlow | null | undefined)?.command)
  return isCommand ? (value as CommandFlow) : toNamedFlow(value, name)
}
