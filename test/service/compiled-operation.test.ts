/** What is prepared of an operation before its requests. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CompiledOperation } from '../../src/service/http/compiled-operation.ts'
import { operations } from '../../src/service/index.ts'
import { forAll } from '../setup/for-all.ts'

const withBody = Object.entries(operations).filter(([, { body }]) => body !== undefined)

describe('the parser of a body, compiled after many requests', () => {
  test.each(withBody)(
    'of %s accepts the same bodies as its schema, with the same result',
    { tags: 'slow' },
    (operation, endpoint) => {
      const one = new CompiledOperation(operation, operations, undefined, undefined)
      const schema = one.bodyParser()
      expect(schema).toBe(endpoint.body)
      let parser = schema
      for (let i = 0; i < 1_000 && parser === schema; i++) parser = one.bodyParser()
      expect(parser).not.toBe(schema)

      const { body: example = {} } = endpoint.example
      const fields = Object.keys(example as object)
      const changed = fc
        .record({
          field: fc.constantFrom(...fields, 'unknown', '__proto__'),
          value: fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, 0, 1.5, '', 'x', null, [], {})),
        })
        .map(({ field, value }) => ({ ...(example as object), [field]: value }))
      forAll([fc.oneof(fc.constant(example), changed, fc.jsonValue())], value => {
        const { success, data } = parser.safeParse(value)
        const expected = schema.safeParse(value)
        expect(success).toBe(expected.success)
        expect(JSON.stringify(data)).toBe(JSON.stringify(expected.data))
      })
    },
  )
})
