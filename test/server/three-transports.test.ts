/** Each operation at three transports, with one request for each status. The file for long tests has all requests. */
import { describe, expect, test } from 'vitest'
import { documentedOperations } from '../../src/service/index.ts'
import { testTransports } from './equal-transports.ts'
import { firstOfEachStatus, NOT_BROUGHT_ABOUT, ROWS } from './request-table.ts'

testTransports(ROWS.map(firstOfEachStatus))

describe('the list', () => {
  test('has every endpoint of the document', () => {
    expect(ROWS.map(({ operation }) => operation).sort()).toEqual(Object.keys(documentedOperations).sort())
    expect(ROWS).toHaveLength(21)
  })

  test.each(ROWS)('$operation has every declared refusal, and a 422 when it has input', row => {
    const endpoint = documentedOperations[row.operation]!
    const had = new Set(row.cases.map(({ status }) => status))
    const takes =
      endpoint.body !== undefined || endpoint.upload !== undefined || Object.values(endpoint.query).some(isDemanding)
    const wanted = [200, ...Object.keys(endpoint.refusals).map(Number), ...(takes ? [422] : [])].filter(
      status => NOT_BROUGHT_ABOUT[`${row.operation} ${status}`] === undefined,
    )
    expect(wanted.filter(status => !had.has(status))).toEqual([])
  })
})

function isDemanding(schema: { safeParse(value: unknown): { success: boolean } }): boolean {
  return !schema.safeParse(undefined).success
}
