/** The published schema of scenarios, compiled by an independent validator, which takes more than a second. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { operations } from '../../../../src/service/index.ts'
import { scenarioJsonSchema } from '../../../../src/workbench/scenario/documents/schema.ts'

test('the schema refuses an invalid duration and accepts a saved value in its place', () => {
  // Without what each operation takes, which is most of it and has no durations.
  const { $defs, ...rest } = scenarioJsonSchema() as { $defs: Record<string, object> }
  const open = Object.keys($defs).map(name => [name, name in operations || name === 'look' ? {} : $defs[name]])
  const validate = new Ajv2020({ strict: false, formats: { base64: true } }).compile({
    ...rest,
    $defs: Object.fromEntries(open),
  })
  const takes = (...steps: object[]) => validate({ title: 'a', steps })
  const get = { balance: null }
  for (const span of ['90s', '1h 30m', 'PT1H', `\${made.span}`]) {
    expect([span, takes({ advance: span }, { until: { get, where: 1, within: span } })]).toEqual([span, true])
  }
  const fault = { kind: 'latency', delay: '1s', jitter: '2s' }
  expect(takes({ at: { '5m': [{ advance: '1m' }], '2026-01-01T01:00:00Z': [] } }, { fault: { on: '*', fault } })).toBe(
    true,
  )
  const named = (names: unknown) => validate({ title: 'a', steps: [{ advance: '1s' }], given: { names } })
  expect([named('./names.json'), named({ fields: { hub: 'depot' }, variants: { 'compat-': 'same-' } })]).toEqual([
    true,
    true,
  ])
  expect([named({ fields: { hub: 'a depot' } }), named({ paths: { hosted: 'a/b' } }), named({ field: {} })]).toEqual([
    ...[false, false, false],
  ])
  expect(takes({ advance: 'soon' })).toBe(false)
  expect(takes({ advance: 90 })).toBe(false)
  expect(takes({ until: { get, where: 1, within: '10 minutes' } })).toBe(false)
  expect(takes({ at: { tomorrow: [] } })).toBe(false)
  expect(takes({ every: { '2026-01-01T01:00:00Z': [] } })).toBe(false)
  expect(takes({ fault: { on: '*', fault: { ...fault, jitter: 'long' } } })).toBe(false)
})
