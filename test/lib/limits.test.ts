/** The table of the bounds on inputs. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LIMITS } from '../../src/lib/limits.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'

test('the code reads every limit of the table', () => {
  const folder = join(import.meta.dirname, '../../src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.ts'))
  const text = files.map(path => readFileSync(join(folder, path), 'utf8')).join('\n')
  expect(Object.keys(LIMITS).filter(name => !new RegExp(`LIMITS\\.${name}\\b`).test(text))).toEqual([])
})

const sim = createSimulator()
const post = async (path: string, body: string) => {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const response = await sim.fetch(`http://sim${path}`, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}
const ones = (count: number) => `[${'1,'.repeat(count - 1)}1]`

test('a body is 422 when it has more values than the limit', async () => {
  const body = (count: number) => `{"model":"a","messages":[],"unknown":${ones(count)}}`
  // The object, its three fields and the list count, and the list has one value more than commas.
  const { status, text } = await post('/vendor_a/v1/messages/count_tokens', body(LIMITS.bodyValues))
  expect(status).toBe(422)
  expect(JSON.parse(text)).toMatchObject({
    detail: [
      { loc: ['body', expect.any(String)], msg: 'JSON decode error: more than 200000 values', type: 'json_invalid' },
    ],
  })
  expect((await post('/vendor_a/v1/messages/count_tokens', body(LIMITS.bodyValues - 10))).status).toBe(404)
})

test('embeddings take more values than other operations when their inputs are tokens', { tags: 'slow' }, async () => {
  const body = (count: number) => `{"model":"cedarline/cedar-embed-base","input":[${ones(count)}]}`
  const { status, text } = await post('/v1/embeddings', body(LIMITS.bodyValues + 10))
  expect([status, text]).toEqual([400, expect.stringContaining('tokens')])
  expect((await post('/v1/embeddings', body(LIMITS.tokenBodyValues + 10))).status).toBe(422)
})
