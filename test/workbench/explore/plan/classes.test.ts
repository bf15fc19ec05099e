/** The classes of faults that explore tries, and the fault kinds that have none. */
import { expect, test } from 'vitest'
import { FAULT_KINDS } from '../../../../src/simulator/faults/kinds/index.ts'
import { FAULT_CLASSES } from '../../../../src/workbench/explore/plan/classes.ts'

/** Why explore has no class of a fault kind. */
const WITHOUT_CLASS = {
  gzip: 'Real clients decode it, and the fetch of a flow does not: there it is like garbled.',
  headers: 'Only the user knows which header means something. The class rateLimit has Retry-After.',
  variation: 'It acts on a whole run: variationsOf has its forms.',
} as const

test('each fault kind has a class, or a reason why it has none', () => {
  const tried = new Set<string>(FAULT_CLASSES.map(({ fault }) => fault.kind))
  const untried = Object.keys(FAULT_KINDS).filter(kind => !tried.has(kind))
  expect(untried.sort()).toEqual(Object.keys(WITHOUT_CLASS).sort())
})
