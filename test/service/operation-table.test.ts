import { expect, test } from 'vitest'
import type { ApiScope } from '../../src/service/api-scope.ts'
import { operations } from '../../src/service/index.ts'
import { assumed, declarationsOf, documented, documentedOf } from '../../src/service/operation-table.ts'

const { getDeployment, createBatch } = operations

test('a declaration is read once, when it is first used', () => {
  const read: string[] = []
  const declare = () => {
    read.push('getDeployment')
    return getDeployment
  }
  const declarations = declarationsOf({ getDeployment: documented(getDeployment.route, declare) })
  expect(Object.keys(declarations)).toEqual(['getDeployment'])
  expect(read).toEqual([])
  expect(declarations.getDeployment).toBe(getDeployment)
  expect(Object.values(declarations)).toEqual([getDeployment])
  expect(read).toEqual(['getDeployment'])
})

test('an assumed operation is not one of the documented operations, which have no mirrors', () => {
  const table = documentedOf<ApiScope>({
    getDeployment: assumed(getDeployment.route, () => getDeployment),
    createBatch: documented(createBatch.route, () => createBatch, 'mirrored'),
  })
  expect(createBatch.mirror).toBeDefined()
  expect(table).toEqual({ createBatch: expect.objectContaining({ mirror: undefined }) })
  expect(declarationsOf(table)).toEqual({ createBatch: { ...createBatch, mirror: undefined } })
})
