import { acceptCopies } from '../../lib/errors.ts'
import type { World } from '../world.ts'

/** The invariants by number. `docs/model.md` describes each of them. */
export const INVARIANTS = {
  I1: 'no GPU is held twice, none is lost',
  I2: 'nothing runs on hardware that is down',
  I3: 'an instance has the GPUs it was made for, on one node',
  I4: 'the weights of a ready instance fit',
  I5: 'the reported counts are the true ones',
  I6: 'a status moves only along its edges',
  I7: 'the times of a thing never go back',
  I8: 'time never goes back',
  I9: 'the ledger is the sum of its entries, and every interval is charged once',
  I10: 'without funds everything stops within the grace',
  I11: 'a top-up is charged once a crossing',
  I12: 'the GPU limit holds at every admission',
  I13: 'no line of a batch is lost, run twice or charged twice',
  I14: 'what is over holds nothing and is not billed',
  I15: 'a refused request changes nothing',
  I17: 'adapters keep to their slots, and those in use stay',
  I18: 'storage never shrinks',
  I20: 'no request is lost',
  I21: 'a place holds one request, and none waits beside a free one',
} as const

export type InvariantName = keyof typeof INVARIANTS

/** A violated invariant of the simulation. */
export interface Violation {
  /** The number of the invariant in `docs/model.md`. */
  readonly invariant: InvariantName
  readonly message: string
}

/** The invariants of one area of a world. */
export abstract class WorldInvariants {
  protected readonly world: World

  constructor(world: World) {
    this.world = world
  }
}

/** Reports a violation: the invariant, the message, and the id of the subject. */
export type ReportViolation = (invariant: InvariantName, message: string, subject: string) => void

/**
 * An invariant was violated: a defect of the simulation, or of the code that wrote to its world.
 *
 * The message names the invariant, the subject and its last journal entries, the event before the check, seed and time.
 */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
  readonly invariant: InvariantName
  /** All violations after the same event. */
  readonly violations: readonly Violation[]

  constructor(
    violations: readonly Violation[],
    context: { readonly after: string; readonly history: readonly string[] },
  ) {
    const [first, ...others] = violations
    const { invariant, message } = first!
    const story =
      context.history.length > 0 ? `\n  What happened to it last:\n    ${context.history.join('\n    ')}` : ''
    const more = others.map(other => `\n  Broken too: ${other.invariant}: ${other.message}.`).join('')
    super(
      `Failed to keep invariant ${invariant} (${INVARIANTS[invariant]}): ${message}.\n  ${context.after}${story}${more}`,
    )
    this.invariant = invariant
    this.violations = violations
  }
}
acceptCopies(InvariantError, 'InvariantError')
