/** Replaces the inputs of a finding by simpler ones. */

import type { InputDeclarations } from '../input.ts'
import type { Tape } from '../plan/choices.ts'
import { inputsOfTape } from '../values.ts'
import type { Trials } from './trials.ts'

/** Inputs that are tried at most. Each takes two runs at most. */
const MAX_TRIALS = 60

/** Tries the simplest inputs, then a lower option of each choice: the first one, or the lowest by bisection. */
export async function simplifyInputs(trials: Trials, declared: InputDeclarations): Promise<void> {
  if (trials.best.inputs === undefined) return
  let left = MAX_TRIALS
  const accept = async (tape: Tape): Promise<boolean> => {
    if (left === 0) return false
    left--
    return trials.acceptSetting({ inputs: tape.length === 0 ? undefined : inputsOfTape(declared, tape) })
  }
  if (await accept([])) return
  // A lower length makes the tape shorter.
  for (let at = 0; at < trials.best.inputs.tape.length; at++) {
    const lower = (value: number) => {
      const { tape } = trials.best.inputs!
      return accept(tape.map((choice, i) => (i === at ? { ...choice, value } : choice)))
    }
    if (trials.best.inputs.tape[at]!.value === 0 || (await lower(0))) continue
    for (let low = 0; trials.best.inputs.tape[at]!.value - low > 1 && left > 0; ) {
      const middle = Math.floor((low + trials.best.inputs.tape[at]!.value) / 2)
      if (!(await lower(middle))) low = middle
    }
  }
}
