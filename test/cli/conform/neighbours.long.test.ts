/** The simulator held to the shapes of the operations that the live service has beside the documented ones. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Conformance, conform } from '../../../src/cli/conform/conform.ts'

const DOCUMENT = JSON.parse(readFileSync('test/cli/conform/neighbours-openapi.json', 'utf8'))

describe('the document of the neighbouring operations', () => {
  let found: Conformance
  beforeAll(async () => {
    found = await conform(DOCUMENT)
  }, 120_000)
  const breaks = () => found.findings.filter(({ severity }) => severity === 'break')
  const isUnserved = ({ kind }: { kind: string }) => kind === 'path' || kind === 'method'

  test('has no operation that the simulator does not serve', () => {
    expect(breaks().filter(isUnserved)).toEqual([])
    expect(found.served).toBe(found.operations)
  })

  test('has no break in an operation that is served', () => {
    const served = breaks().filter(finding => !isUnserved(finding))
    expect(served.map(({ operation, place, says, ours }) => `${operation}: ${place}: ${says} | ${ours}`)).toEqual([])
  })
})
