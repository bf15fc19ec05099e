import { expect, test } from 'vitest'
import * as library from '../../src/index.ts'
import { RefusalError } from '../../src/service/refusals.ts'
import * as explore from '../../src/workbench/explore/index.ts'
import * as scenario from '../../src/workbench/scenario/index.ts'

type ErrorClass = abstract new (...args: never[]) => Error

const errors = Object.entries<unknown>({ ...library, ...explore, ...scenario, RefusalError }).filter(
  (entry): entry is [string, ErrorClass] => typeof entry[1] === 'function' && entry[1].prototype instanceof Error,
)

test('instanceof accepts the errors of another copy of the package, for each class that a user can meet', () => {
  expect(errors.length).toBeGreaterThanOrEqual(13)
  for (const [name, type] of errors) {
    const ofCopy: unknown = Object.create({ [Symbol.for(`modelhost-sim.${name}`)]: true })
    expect([ofCopy instanceof type, name]).toEqual([true, name])
    expect(Object.create(type.prototype)).toBeInstanceOf(type)
    for (const other of [new Error(name), undefined, null, 'text']) expect(other instanceof type).toBe(false)
    abstract class Own extends type {}
    expect(ofCopy instanceof Own).toBe(false)
    expect(Object.create(Own.prototype)).toBeInstanceOf(Own)
    expect(Object.create(Own.prototype)).toBeInstanceOf(type)
  }
})
