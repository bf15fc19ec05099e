/**
 * Texts of megabytes in a server that has run for long. V8 optimizes no pattern after a process has compiled very many,
 * and then a pattern that repeats overflows the stack. A flag of Node brings this about at once.
 */
import { expect, test } from 'vitest'
import { started } from '../cli/process.ts'

const DIGITS = '1'.repeat(20_000_000)
const LLM = { model_name: 'chat', gpu: 'L4-24GB', num_gpus: 1 }

test('long texts are answered as in a new process', async () => {
  const { url } = await started(['serve', '--port', '0'], {}, 'stdout', ['--no-regexp-optimization'])
  const ask = async (method: string, path: string, body: unknown) => {
    const headers = { authorization: 'Bearer sim_default_token', 'content-type': 'application/json' }
    const answer = await fetch(new URL(path, url), { method, headers, body: JSON.stringify(body) })
    return [answer.status, await answer.json()]
  }

  const large = Buffer.from(new Uint8Array(25 * 1_048_576 + 1)).toString('base64')
  const audio = await ask('POST', '/v1/inference/larkspur-audio/lark-scribe-large', { audio: `data:;base64,${large}` })
  expect(audio).toEqual([413, { error: 'file is larger than 25 MB' }])

  const [created, { deploy_id }] = await ask('POST', '/deploy/llm', { ...LLM, hub: { repo: `acme/${DIGITS}` } })
  expect([created, deploy_id]).toEqual([200, expect.stringMatching(/^\w{16}$/)])

  const number = await ask('PUT', `/deploy/${deploy_id}`, { settings: { max_instances: DIGITS } })
  const msg = 'Unable to parse input string as an integer, exceeded maximum size'
  expect(number).toEqual([
    422,
    { detail: [{ loc: ['body', 'settings', 'max_instances'], msg, type: 'int_parsing_size' }] },
  ])
})
