/** Requests to the service that the control plane sends for a page or a script without a token. */
import { expect, test } from 'vitest'
import { sendTo } from '../../setup/send-to.ts'
import { running } from '../http/running-server.ts'

test('a request is sent as a client of the world, and listed with the others', async () => {
  const { sim, command } = await running()
  const { status, body } = await command('/_sim/requests', { path: '/deploy/list' })
  expect(status).toBe(200)
  const direct = await sendTo(sim, 'GET /deploy/list')
  expect(body).toMatchObject({ status: 200, body: await direct.json(), now: sim.clock.iso })
  expect(sim.requests[0]).toMatchObject({ seq: body.seq, operation: 'listDeployments', status: 200 })
})

test('a refusal and a broken connection are answers, not errors', async () => {
  const { sim, command } = await running()
  expect((await command('/_sim/requests', { method: 'DELETE', path: '/deploy/missing' })).body.status).toBe(404)
  sim.faults.add({ on: 'listDeployments', fault: { kind: 'reset' } })
  const { body } = await command('/_sim/requests', { path: '/deploy/list' })
  expect(body).toMatchObject({ status: 0, seq: expect.any(Number) })
})

test('another token can be named, and no answer shows one', async () => {
  const { sim, command } = await running()
  const made = await command('/_sim/requests', { method: 'POST', path: '/v1/api-tokens', body: { name: 'second' } })
  expect(made.body.body).toMatchObject({ token: expect.stringMatching(/^…\w{4}$/), name: 'second' })
  await command('/_sim/requests', { path: '/deploy/list', client: 'second' })
  expect(sim.requests.at(-1)!.client).toBe(made.body.body.token_id)
})

test.each([
  ['a path of the control plane', { path: '/_sim/clock' }, 400, "Failed to send a request to '/_sim/clock'"],
  ['an invalid method', { method: 'GE T', path: '/deploy/list' }, 400, 'Failed to send the request'],
  ['an unknown token', { path: '/deploy/list', client: 'other' }, 404, "Failed to send a request as 'other'"],
])('%s is refused, and nothing is sent', async (_, input, status, message) => {
  const { sim, command } = await running()
  const refused = await command('/_sim/requests', input)
  expect(refused.status).toBe(status)
  expect(refused.body.error).toContain(message)
  expect(sim.requests).toEqual([])
})
