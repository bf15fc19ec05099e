/** Endpoints of a user: the pods of examples/own-endpoints. */
import { expect, test } from 'vitest'
import * as z from 'zod'
import { endpoints } from '../../examples/own-endpoints/pods.ts'
import { createSimulator, endpoint, recordTable, replay } from '../../src/index.ts'
import { servedBy } from '../../src/service/http/service.ts'
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator.ts'
import { matchers } from '../../src/workbench/testing/matchers.ts'

const made = (options: SimulatorOptions = {}) => createSimulator({ endpoints, fixtures: 'empty', seed: 1, ...options })

async function call(sim: Simulator, method: string, path: string, body?: unknown) {
  const headers = { authorization: `Bearer ${sim.token}` }
  const sent = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) }
  const answer = await sim.fetch(`http://sim${path}`, sent)
  return { status: answer.status, body: await answer.json() }
}

const create = async (sim: Simulator, name = 'chat') =>
  (await call(sim, 'POST', '/rest/v1/pods', { name, gpuTypeId: 'H100' })).body as { readonly id: string }

const statusOf = async (sim: Simulator, id: string) =>
  (await call(sim, 'GET', `/rest/v1/pods/${id}`)).body.desiredStatus

test('validates, authenticates and refuses as the endpoints of the provider do', async () => {
  const sim = made()
  const invalid = await call(sim, 'POST', '/rest/v1/pods', { name: '', gpuTypeId: 'T4' })
  expect(invalid.status).toBe(422)
  expect(invalid.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))).toEqual([
    'body.name',
    'body.gpuTypeId',
  ])
  expect((await sim.fetch('http://sim/rest/v1/pods')).status).toBe(401)
  expect((await call(sim, 'PATCH', '/rest/v1/pods')).status).toBe(405)
  expect(await call(sim, 'GET', '/rest/v1/pods/x')).toEqual({ status: 404, body: { error: 'no pod x' } })
  await create(sim)
  expect((await call(sim, 'POST', '/rest/v1/pods', { name: 'chat', gpuTypeId: 'H100' })).status).toBe(409)
  expect(sim.requests.map(({ operation, status }) => `${operation} ${status}`)).toContain('createPod 409')
  const { paths } = (await call(sim, 'GET', '/openapi.json')).body
  expect(Object.keys(paths['/rest/v1/pods'])).toEqual(['post', 'get'])
  expect(Object.keys(paths)).toContain('/deploy/llm')
})

test('changes a record in virtual time, and charges its price from the creation to the end', async () => {
  const sim = made()
  const { id } = await create(sim)
  expect(sim.explain(id)).toMatchObject({ next: { in: '40s' } })
  await sim.clock.advance('39s')
  expect(await statusOf(sim, id)).toBe('CREATED')
  await sim.clock.advance('1s')
  expect(await statusOf(sim, id)).toBe('RUNNING')
  expect(matchers.toBeQuiet(sim).message()).toContain(`pod ${id} is RUNNING`)
  await sim.clock.advance('59m20s')
  await call(sim, 'DELETE', `/rest/v1/pods/${id}`)
  await sim.clock.advance('1h')
  const rent = sim.ledger.entries().filter(({ subject }) => subject === id)
  expect(rent.reduce((sum, { microcents }) => sum + microcents, 0) / 1e8).toBeCloseTo(-2.39, 2)
  expect(matchers.toBeQuiet(sim).pass).toBe(true)
})

test('a deleted record changes no more, and its key is free again', async () => {
  const sim = made({ check: true })
  const { id } = await create(sim)
  await call(sim, 'DELETE', `/rest/v1/pods/${id}`)
  await sim.clock.advance('1h')
  expect((await call(sim, 'GET', '/rest/v1/pods')).body).toEqual([])
  expect((await create(sim)).id).not.toBe(id)
})

test('a clock that moves with polls moves to the next change of a record', async () => {
  const sim = made({ clock: 'on-poll' })
  const { id } = await create(sim)
  expect(await statusOf(sim, id)).toBe('CREATED')
  expect(await statusOf(sim, id)).toBe('RUNNING')
  expect(sim.clock.elapsed).toBe(40_000_000)
})

test('records fork, and a snapshot has them with the changes that are planned', async () => {
  const sim = made()
  const { id } = await create(sim)
  const twin = sim.fork()
  await create(twin, 'mail')
  expect((await call(sim, 'GET', '/rest/v1/pods')).body).toHaveLength(1)
  expect((await call(twin, 'GET', '/rest/v1/pods')).body).toHaveLength(2)
  const other = made({ seed: 2 })
  other.restore(sim.snapshot().toBytes())
  await other.clock.advance('40s')
  expect(await statusOf(other, id)).toBe('RUNNING')
  sim.reset()
  expect((await call(sim, 'GET', '/rest/v1/pods')).body).toEqual([])
})

test('a recording replays with the same endpoints, and diverges without them', async () => {
  const sim = made()
  const recording = sim.record()
  const { id } = await create(sim)
  await sim.clock.advance('1m')
  await statusOf(sim, id)
  recording.stop()
  expect(await replay(recording, { endpoints })).toEqual({ outcome: 'same', requests: 2 })
  expect(await replay(recording)).toMatchObject({ outcome: 'diverged', divergence: { replayed: /404/ } })
})

test('the deletion of the account deletes its records', async () => {
  const sim = made()
  await create(sim)
  await call(sim, 'DELETE', '/v1/me')
  expect([...sim.world.ownRecords.entries()]).toEqual([])
})

test('equal endpoints are combined once, so that simulators share their routes', () => {
  expect(servedBy({ endpoints })).toBe(servedBy({ endpoints }))
  expect(Object.keys(servedBy({ endpoints, neighbours: false }).operations)).toContain('createPod')
})

const { getPod } = endpoints
const returns = z.object({})
const declared = (route: string) => endpoint({ route, summary: 'An endpoint', returns, handle: () => ({}) })

test.each([
  ['endpoints is []. Give an object.', []],
  ['endpoints.a: {} is not an endpoint. Give the result of endpoint({ … }).', { a: {} }],
  ['endpoints.a-b: the name is not an operation id. Use letters and digits.', { 'a-b': getPod }],
  ['endpoints.addVoice: the provider has an operation of this name. Give it another.', { addVoice: getPod }],
  ['endpoints.a: POST /deploy/llm is the route of createLlmDeployment.', { a: declared('POST /deploy/llm') }],
  ['endpoints.b: GET /rest/v1/pods/{podId} is the route of a. Give it another path.', { a: getPod, b: getPod }],
  ["endpoints.a: the route 'GET /_sim/pods' is invalid.", { a: declared('GET /_sim/pods') }],
  ["endpoints.a: the route 'pods' is invalid. Give a method and a path,", { a: declared('pods') }],
])('an endpoint is refused with %s', (problem, given) => {
  expect(() => made({ endpoints: given as never })).toThrow(`Failed to make a simulator: ${problem}`)
})

test('two tables of one kind, and a record that does not fit, are bugs of the endpoint that the answer names', async () => {
  const Thing = z.object({ id: z.string(), status: z.enum(['on', 'off']) })
  const tableOf = () => recordTable({ kind: 'thing', record: Thing, key: 'id', status: 'status', ended: ['off'] })
  const [first, second] = [tableOf(), tableOf()]
  const bugs: unknown[] = []
  const put = (route: string, table: typeof first, status: string) =>
    endpoint({
      ...{ route, summary: 'Put a thing', returns: Thing },
      handle: ({ world }) => world.records(table).put({ id: 'a', status: status as 'on' }),
    })
  const own = { a: put('PUT /a', first, 'on'), b: put('PUT /b', second, 'on'), c: put('PUT /c', first, 'broken') }
  const sim = made({ endpoints: own, onBug: bug => bugs.push(String(bug)) })
  expect((await call(sim, 'PUT', '/a')).body).toEqual({ id: 'a', status: 'on' })
  expect((await call(sim, 'PUT', '/b')).status).toBe(500)
  expect((await call(sim, 'PUT', '/c')).status).toBe(500)
  expect(bugs).toEqual([
    "RangeError: Failed to use the table 'thing': another table has this kind. Declare one of them.",
    expect.stringMatching(/^RangeError: Failed to put a thing: \$\.status: /),
  ])
})
