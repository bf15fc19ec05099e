/** A run without faults that asked for nothing, for tests that judge nothing. */
import type { BaseObservation } from '../../src/simulator/judge/observation.ts'

export const EMPTY_BASE: BaseObservation = {
  ...{ end: { kind: 'returned', result: undefined }, created: [], requests: [], effects: new Map(), output: '' },
  ...{ answered: new Set(), ended: new Set(), rates: new Map(), duration: 0 },
  answers: undefined as never,
}
