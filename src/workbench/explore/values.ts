/** The values of the inputs of a flow. */

import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { stableJson } from '../../lib/json-values.ts'
import { quote } from '../../lib/quote.ts'
import type { ExplorableFlow } from './flow.ts'
import { type InputDeclarations, type InputValues, isInput, oneOf } from './input.ts'
import { draw, type Interpreted, interpretEdited, type Tape } from './plan/choices.ts'

/** Returns the values of a tape. A choice that is missing on it takes the simplest option. */
export function inputsOfTape(declared: InputDeclarations, tape: Tape): Interpreted<InputValues> {
  return interpretEdited(choices => chooseAll(declared, choices), tape)
}

/** Returns the simplest values. */
export function defaultInputs(declared: InputDeclarations = {}): InputValues {
  return inputsOfTape(declared, []).result
}

/** Draws the values of a run; undefined if they are the simplest ones. Equal seeds and runs give equal values. */
export function drawInputs(
  declared: InputDeclarations = {},
  origin: { readonly seed: string; readonly run: number },
): Interpreted<InputValues> | undefined {
  const drawn = draw(choices => chooseAll(declared, choices), origin)
  return stableJson(drawn.result) === stableJson(defaultInputs(declared)) ? undefined : drawn
}

function chooseAll(
  declared: InputDeclarations,
  choices: Parameters<InputDeclarations[string]['choose']>[0],
): InputValues {
  return Object.fromEntries(Object.entries(declared).map(([name, input]) => [name, input.choose(choices, name)]))
}

/**
 * Rejects invalid declarations.
 *
 * @param context start of the error, as in `Failed to declare the flow 'batch'`
 * @throws RangeError that names the input and a remedy
 */
export function assertInputs(declared: unknown, context: string): asserts declared is InputDeclarations {
  const advice = 'Give inputs by name, as in inputs: { lines: integers(1, 500) }.'
  if (typeof declared !== 'object' || declared === null || Array.isArray(declared)) {
    throw new RangeError(`${context}: inputs is ${quote(declared)}. ${advice}`)
  }
  for (const [name, input] of Object.entries(declared)) {
    if (isInput(input)) continue
    throw new RangeError(`${context}: the input ${name} is ${quote(input)}. ${advice}`)
  }
}

/**
 * Returns declarations in which the given inputs have one value only.
 *
 * @param context start of the error, as in `Failed to explore batch`
 * @throws RangeError for an unknown input or an invalid value
 */
export function fixInputs(declared: InputDeclarations = {}, values: InputValues, context: string): InputDeclarations {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new RangeError(`${context}: inputs is ${quote(values)}. Give values by name, as in { lines: 3 }.`)
  }
  const fixed: Record<string, InputDeclarations[string]> = { ...declared }
  for (const [name, value] of Object.entries(values)) {
    if (!Object.hasOwn(declared, name)) {
      const advice = formatSuggestion(name, Object.keys(declared), 'Declare it in the options of the flow.')
      throw new RangeError(`${context}: unknown input '${name}'. ${advice}`)
    }
    const problem = declared[name]!.problemOf(value)
    if (problem !== undefined)
      throw new RangeError(`${context}: the input ${name} is ${quote(value)}. Give ${problem}.`)
    fixed[name] = oneOf(value)
  }
  return fixed
}

/** Returns the inputs of a flow. A command has none. */
export function inputsOf(flow: ExplorableFlow): InputDeclarations | undefined {
  return 'command' in flow ? undefined : flow.options.inputs
}

/**
 * Returns a flow whose inputs have the given values in each run.
 *
 * @param context start of the error, as in `Failed to explore checkout`
 * @throws RangeError for an unknown input or an invalid value
 */
export function withInputs(flow: ExplorableFlow, values: InputValues, context: string): ExplorableFlow {
  const inputs = fixInputs(inputsOf(flow), values, context)
  return 'command' in flow ? flow : { ...flow, options: { ...flow.options, inputs } }
}
