/** The simulator held to the shapes of the operations that the live service has beside the documented ones. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Conformance, conform } from '../../src/conform/conform.ts'

const DOCUMENT = JSON.parse(readFileSync('test/conform/neighbours-openapi.json', 'utf8'))

/** Operations that the simulator does not serve. */
const UNSERVED: readonly string[] = [
]

describe('the document of the neighbouring operations', () => {
  let found: Conformance
  beforeAll(async () => {
    found = await conform(DOCUMENT)
  }, 120_000)
  const breaks = () => found.findings.filter(({ severity }) => severity === 'break')
  const isUnserved = ({ kind }: { kind: string }) => kind === 'path' || kind === 'method'

  test('has no operation beside the listed ones that the simulator does not serve', () => {
    const unserved = breaks().filter(isUnserved)
    expect(unserved.map(({ operation }) => operation).sort()).toEqual([...UNSERVED].sort())
    expect(found.served).toBe(found.operations - UNSERVED.length)
  })

  test('has no break in an operation that is served', () => {
    const served = breaks().filter(finding => !isUnserved(finding))
    expect(served.map(({ operation, place, says, ours }) => `${operation}: ${place}: ${says} | ${ours}`)).toEqual([])
  })
})
