import { expect, onTestFinished, test } from 'vitest'
import { replay } from '../../../src/index.ts'
import { hashCredential } from '../../../src/lib/text/secrets.ts'
import { serve } from '../../../src/server/http/server.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import type { RequestLine } from '../../../src/simulator/history/lines.ts'
import { type Recording, recordSimulator } from '../../../src/simulator/history/record.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'

interface Served {
  readonly sim: Simulator
  readonly url: string
  send(path: string, token: string, init?: RequestInit): Promise<Response>
}

async function served(): Promise<Served> {
  const sim = createSimulator({ seed: 3 })
  const server = await serve(sim, { port: 0 })
  onTestFinished(() => server.close())
  return {
    sim,
    url: server.url,
    async send(path, token, init = {}) {
      const answer = await fetch(server.url + path, { ...init, headers: { authorization: `Bearer ${token}` } })
      await answer.clone().text()
      return answer
    },
  }
}

function requestsOf(recording: Recording): RequestLine[] {
  recording.stop()
  return parseRecording(recording.text, 'run').lines.filter(line => 'request' in line)
}

test('a token that a reset removes has the same hash when its client sends it again', async () => {
  const { sim, send } = await served()
  const recording = recordSimulator(sim)
  const body = JSON.stringify({ name: 'ci' })
  const created = await send('/v1/api-tokens', sim.token, { method: 'POST', body })
  const { token } = (await created.json()) as { token: string }
  for (let i = 0; i < 2; i++) await send('/deploy/list', token)
  sim.reset()
  for (let i = 0; i < 2; i++) await send('/deploy/list', token)
  const credentials = requestsOf(recording).map(({ headers }) => headers.authorization)
  const made = `Bearer ${hashCredential(token)}`
  expect(credentials).toEqual([`Bearer ${hashCredential(sim.token)}`, made, made, made, made])
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 5 })
})

test('clients in turn keep their own headers, and equal ones are written once', async () => {
  const { sim, send } = await served()
  const recording = recordSimulator(sim)
  for (let i = 0; i < 3; i++) for (const token of [sim.token, 'foreign', '']) await send('/v1/models', token)
  const requests = requestsOf(recording)
  const hash = expect.stringMatching(/^Bearer sha256-/)
  const own = `Bearer ${hashCredential(sim.token)}`
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(
    Array.from({ length: 3 }, () => [own, hash, 'Bearer']).flat(),
  )
  expect(recording.text.split(own)).toHaveLength(2)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 9 })
})

test('a scoped token in a query has a hash as its signature, and an invalid one is refused in the same way', async () => {
  const { sim, send } = await served()
  const body = JSON.stringify({
    api_key_name: 'default',
    models: ['aurora-labs/aurora-8b-instruct'],
    expires_delta: 60,
  })
  const recording = recordSimulator(sim)
  const created = await send('/v1/scoped-jwt', sim.token, { method: 'POST', body })
  const { token } = (await created.json()) as { token: string }
  for (const value of [token, `${token}x`, 'hush-1234'])
    await send(`/v1/scoped-jwt?jwtoken=${encodeURIComponent(value)}`, sim.token)
  const signature = token.slice(token.lastIndexOf('.') + 1)
  const hidden = token.replace(signature, hashCredential(signature))
  expect(requestsOf(recording)[1]!.path).toBe(`/v1/scoped-jwt?jwtoken=${encodeURIComponent(hidden)}`)
  expect(recording.text).not.toContain(signature)
  expect(recording.text).not.toContain('hush-1234')
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 4 })
})
