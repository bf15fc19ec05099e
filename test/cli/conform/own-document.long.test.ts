/** The simulator compared with its own document. */
import { expect, test } from 'vitest'
import { conform } from '../../../src/cli/conform/conform.ts'
import { OpenapiDocument } from '../../../src/cli/conform/document.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { PROFILE } from '../../service/naming/renamed-words.ts'

const ownDocument = async (options = {}) =>
  (await createSimulator(options).fetch('http://sim/openapi.json')).json() as Promise<Record<string, unknown>>

test('the document of the simulator itself has no difference, also under other names and in parts', async () => {
  const document = await ownDocument({ names: PROFILE })
  const own = await conform(document, { names: PROFILE })
  expect(own.findings).toEqual([])
  expect(own.beyond).toEqual([])
  // And every answer that it declares was brought about, but for these.
  const unseen = new OpenapiDocument(document).operations.flatMap(({ name, responses }) =>
    [...responses.keys()]
      .filter(status => !own.answers[name]!.includes(Number(status)))
      .map(status => `${name} ${status}`),
  )
  expect(unseen.sort()).toEqual([
    'GET /cli/version 405',
    'GET /cli/version/check 405',
    'GET /model-families/names 405',
    'GET /models/featured 405',
    'GET /models/list 405',
    'GET /models/lora/list 405',
    'GET /qq-router/models 405',
    'POST /qq-vendor/v1/messages 405',
    // Needs a body of more than 8 MiB; the three transports are tested with one.
    'POST /qq-vendor/v1/messages/count_tokens 413',
    // Models without a tag refuse tools; the document's example names one with it.
    'POST /v1/chat/completions 405',
    'POST /v1/qq-same/chat/completions 405',
  ])
  const half = await conform(await ownDocument({ documentedOnly: true }))
  expect(half.findings).toEqual([])
  expect(half.beyond).toContain('GET /deploy/{deploy_id}')
})

/** Returns a document with each alternative null written beside the other alternative. */
function withPlainNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainNulls)
  if (typeof value !== 'object' || value === null) return value
  const { anyOf, ...rest } = value as Record<string, unknown>
  const [one, other, ...more] = Array.isArray(anyOf) ? anyOf : []
  if (other?.type === 'null' && more.length === 0 && (typeof one.type === 'string' || Array.isArray(one.enum))) {
    const plain = { ...rest, ...one, ...(one.type !== undefined && { type: [one.type, 'null'] }) }
    return withPlainNulls({ ...plain, ...(one.enum !== undefined && { enum: [...one.enum, null] }) })
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withPlainNulls(inner)]))
}

test('the document of the simulator itself has no difference when its nulls are in lists', async () => {
  expect((await conform(withPlainNulls(await ownDocument()))).findings).toEqual([])
})
