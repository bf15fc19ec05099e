/** Every refusal that the OpenAPI document lists is answered, and every declaration has a way to get each of its own. */
import { expect, test } from 'vitest'
import type { AnyEndpoint } from '../../../src/service/endpoint.ts'
import { operations } from '../../../src/service/index.ts'
import { createOpenapiDocument } from '../../../src/service/openapi/openapi.ts'
import { commonProvocation, PROVOCATIONS, type Provocation } from './provocations.ts'
import { provoke } from './provoke.ts'

/** Returns the declared statuses of an operation, and those that the document adds. */
const documented = new Map<string, readonly string[]>(
  Object.values(createOpenapiDocument(operations).paths as unknown as Record<string, Record<string, Documented>>)
    .flatMap(path => Object.values(path))
    .filter(one => one['x-mirror-of'] === undefined)
    .map(({ operationId, responses }) => [operationId, Object.keys(responses).filter(status => status >= '400')]),
)

interface Documented {
  readonly operationId: string
  readonly responses: object
  readonly 'x-mirror-of'?: string
}

test.each(Object.entries<AnyEndpoint>(operations))(
  'each refusal of %s is answered',
  { tags: 'slow' },
  async (operation, endpoint) => {
    const declared = Object.keys(endpoint.refusals)
    const own: Readonly<Record<string, Provocation>> = PROVOCATIONS[operation]!
    expect(Object.keys(own), 'the table has the declared statuses: give each a provocation').toEqual(declared)
    const answers: Record<string, unknown> = {}
    const expected: Record<string, unknown> = {}
    for (const status of documented.get(operation)!) {
      const provocations = declared.includes(status) ? [own[status]!] : []
      const common = commonProvocation(endpoint, status)
      if (common !== undefined) provocations.push(common)
      expect(
        provocations,
        `the document of ${operation} lists ${status}: remove it, or give it a provocation`,
      ).not.toEqual([])
      for (const provocation of provocations) {
        // `full-world.long.test.ts` sends those.
        if (provocation.world === 'full') continue
        const key = `${status} ${provocation.says}`
        expected[key] = [Number(status), expect.stringContaining(provocation.says)]
        answers[key] = await provoke(operation, provocation)
      }
    }
    expect(answers).toEqual(expected)
  },
)
