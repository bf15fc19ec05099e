/** Judgements over HTTP: those of the process, without credentials. */
import { expect, test } from 'vitest'
import { running } from '../http/running-server.ts'

const NEW = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

async function serving() {
  const server = await running()
  await server.ask('/deploy/llm', { method: 'POST', body: JSON.stringify(NEW) })
  await server.sim.clock.advance('1h')
  return server
}

test('a judgement over HTTP is that of the process', async () => {
  const { sim, command } = await serving()
  const { body } = await command('/_sim/judge', undefined, 'GET')
  expect(body.findings.map(({ rule }: { rule: string }) => rule)).toEqual(['leavesNothingRunning'])
  expect(body.clients).toEqual([{ client: sim.requests[0]!.client, name: expect.any(String), requests: 1 }])
  const off = await command('/_sim/judge?off=leavesNothingRunning,usesLists', undefined, 'GET')
  expect(off.body.findings).toEqual([])
  expect(off.body.rules).not.toContain('usesLists')
})

test('a judgement over HTTP shows no token', async () => {
  const { sim, ask, command } = await serving()
  for (let i = 0; i < 3; i++) await ask(`/v1/api-tokens/${sim.token}x/${sim.token}`)
  for (let i = 0; i < 3; i++) await ask(`/deploy/${sim.token}`)
  const { body } = await command('/_sim/judge', undefined, 'GET')
  expect(body.findings.map(({ rule }: { rule: string }) => rule)).toContain('noRepeatedRefusal')
  expect(JSON.stringify(body)).not.toContain(sim.token)
})

test.each([
  ['off=backOff', "Failed to judge: unknown rule 'backOff'. Did you mean 'backsOff'?"],
  ['keep=dep_1', 'Failed to judge: no client created "dep_1"'],
  ['pollsAtMost=fast', 'Failed to judge: pollsAtMost is'],
])('refuses %s with 400', async (query, message) => {
  const { command } = await serving()
  const { status, body } = await command(`/_sim/judge?${query}`, undefined, 'GET')
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain(JSON.stringify(message).slice(1, -1))
})
