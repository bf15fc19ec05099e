/** The inputs of flows of each kind. */

import type { ExplorableFlow } from './flow.ts'
import type { InputDeclarations, InputValues } from './input.ts'
import { fixInputs } from './values.ts'

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
