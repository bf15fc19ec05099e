/** Endpoints of a user: the pods of examples/own-endpoints. */

import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import * as z from 'zod'
import * as z3 from 'zod/v3'
import { endpoints } from '../../examples/own-endpoints/pods.ts'
import { createSimulator, endpoint, recordTable, refuse, replay } from '../../src/index.ts'
import { groupBy } from '../../src/lib/lists.ts'
import { quote } from '../../src/lib/quote.ts'
import { serve } from '../../src/server/http/server.ts'
import { servedBy } from '../../src/service/http/service.ts'
import { usageItems } from '../../src/simulation/reporting/monthly-usage.ts'
import { findCauseTree } from '../../src/simulator/explain/cause-tree.ts'
import { MoneyTracker, moneySeries } from '../../src/simulator/explain/money-tracker.ts'
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator.ts'
import { explore, flow } from '../../src/workbench/explore/index.ts'
import { matchers } from '../../src/workbench/testing/matchers.ts'
import { forAllAsync } from '../setup/for-all.ts'
import { askTo, refusalOf, sendTo } from '../setup/send-to.ts'

const made = (options: SimulatorOptions = {}) => createSimulator({ endpoints, fixtures: 'empty', seed: 1, ...options })

const create = async (sim: Simulator, name = 'chat') =>
  (await askTo(sim, 'POST /rest/v1/pods', { name, gpuTypeId: 'H100' })).body as { readonly id: string }

const statusOf = async (sim: Simulator, id: string) => (await askTo(sim, `GET /rest/v1/pods/${id}`)).body.desiredStatus

test('validates, authenticates and refuses as the endpoints of the provider do', { tags: 'slow' }, async () => {
  const sim = made()
  const invalid = await askTo(sim, 'POST /rest/v1/pods', { name: '', gpuTypeId: 'T4' })
  expect(invalid.status).toBe(422)
  const expected = ['body.name', 'body.gpuTypeId']
  expect(invalid.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))).toEqual(expected)
  expect((await sim.fetch('http://sim/rest/v1/pods')).status).toBe(401)
  expect((await askTo(sim, 'PATCH /rest/v1/pods')).status).toBe(405)
  expect(await refusalOf(askTo(sim, 'GET /rest/v1/pods/x'))).toEqual([404, 'no pod x'])
  await create(sim)
  expect((await askTo(sim, 'POST /rest/v1/pods', { name: 'chat', gpuTypeId: 'H100' })).status).toBe(409)
  expect(sim.requests.map(({ operation, status }) => `${operation} ${status}`)).toContain('createPod 409')
  const { paths } = (await askTo(sim, 'GET /openapi.json')).body
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
  await askTo(sim, `DELETE /rest/v1/pods/${id}`)
  await sim.clock.advance('1h')
  const rent = sim.ledger.entries().filter(({ subject }) => subject === id)
  expect(rent.reduce((sum, { microcents }) => sum + microcents, 0) / 1e8).toBeCloseTo(-2.39, 2)
  expect(matchers.toBeQuiet(sim).pass).toBe(true)
})

test('the result of a move has the changes of status of records, and not those of other fields', async () => {
  const sim = made({ endpoints: { createPod: endpoints.createPod, putThing: putThing(), drop: dropThing } })
  const { id } = await create(sim)
  await askTo(sim, 'PUT /a', { id: 'x', status: 'on', usd: 1, later: { usd: 2 } })
  const becameIn = async (move: Promise<{ transitions: readonly { subject: string; became: string }[] }>) =>
    (await move).transitions.map(({ subject, became }) => [subject, became])
  expect(await becameIn(sim.clock.advance('39s'))).toEqual([])
  expect(await becameIn(sim.clock.next({ visible: true }))).toEqual([[id, 'pod.RUNNING']])
  await askTo(sim, 'PUT /a', { id: 'y', status: 'on', usd: 1, later: { status: 'off' } })
  expect(await becameIn(sim.clock.advance('2h'))).toEqual([['y', 'thing.off']])
  const ended = sim.clock.until(async () => (await askTo(sim, 'DELETE /a/x')).status === 200)
  expect(await becameIn(ended)).toEqual([['x', 'thing.deleted']])
})

test('a deleted record changes no more, and its key is free again', async () => {
  const sim = made({ check: true })
  const { id } = await create(sim)
  await askTo(sim, `DELETE /rest/v1/pods/${id}`)
  await sim.clock.advance('1h')
  expect((await askTo(sim, 'GET /rest/v1/pods')).body).toEqual([])
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
  expect((await askTo(sim, 'GET /rest/v1/pods')).body).toHaveLength(1)
  expect((await askTo(twin, 'GET /rest/v1/pods')).body).toHaveLength(2)
  const other = made({ seed: 2 })
  other.restore(sim.snapshot().toBytes())
  await other.clock.advance('40s')
  expect(await statusOf(other, id)).toBe('RUNNING')
  sim.reset()
  expect((await askTo(sim, 'GET /rest/v1/pods')).body).toEqual([])
})

test('a snapshot with records is refused where no endpoints are, and continues in explore', async () => {
  const sim = made()
  const { id } = await create(sim)
  await create(sim, 'mail')
  const snapshot = sim.snapshot()
  const refusal =
    "Failed to continue the snapshot: it has 2 records of the table 'pod' of own endpoints, which are missing here. Give"
  expect(() => createSimulator({ fixtures: snapshot })).toThrow(refusal)
  const bare = createSimulator({ fixtures: 'empty' })
  const { digest } = bare
  expect(() => bare.restore(snapshot.toBytes())).toThrow(refusal)
  expect(bare.digest).toBe(digest)
  const server = await serve(bare, { port: 0 })
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(snapshot.toBytes())]), 's.snapshot')
  const imported = await fetch(`${server.url}/_sim/snapshots/theirs/import`, { method: 'POST', body: form })
  expect([imported.status, JSON.stringify(await imported.json())]).toEqual([400, expect.stringContaining(refusal)])
  await server.close()
  const recording = sim.record()
  sim.restore(snapshot)
  recording.stop()
  expect(await replay(recording)).toMatchObject({ outcome: 'same' })
  const statuses: number[] = []
  await sim.explore(
    async ({ fetch, url, token }) => {
      const headers = { authorization: `Bearer ${token}` }
      statuses.push((await fetch(`${url}/rest/v1/pods/${id}`, { headers })).status)
    },
    { faults: 'singles', classes: ['status503'] },
  )
  expect(statuses[0]).toBe(200)
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
  await askTo(sim, 'DELETE /v1/me')
  expect([...sim.world.ownRecords.entries()]).toEqual([])
})

test('equal endpoints are combined once, so that simulators share their routes', () => {
  expect(servedBy({ endpoints })).toBe(servedBy({ endpoints }))
  expect(Object.keys(servedBy({ endpoints, neighbours: false }).operations)).toContain('createPod')
})

test('the role of a change follows from method and path, and the declaration wins', () => {
  const roles = ['read pod'] as const
  const at = (route: string, more: object = {}) =>
    endpoint({ route, summary: 'x', returns: z.object({}), handle: () => ({}), ...more })
  const own = {
    get: at('GET /pods/{id}', { roles }),
    drop: at('DELETE /pods/{podId}'),
    patch: at('PATCH /pods/{id}'),
    put: at('PUT /pods/{id}'),
    start: at('POST /pods/{id}/start'),
    cancel: at('POST /pods/{id}/cancel'),
    ask: at('POST /pods/{id}/ask'),
    kept: at('PUT /pods/{id}/label', { roles: ['update pod'] }),
    none: at('POST /pods/{id}/stop', { roles: [] }),
    listNotes: at('GET /notes', { roles: ['list note'] }),
    dropNote: at('DELETE /notes/{id}'),
    dropOther: at('DELETE /others/{id}'),
  }
  const { operations } = createSimulator({ endpoints: own, fixtures: 'empty' }).api
  const concluded = Object.keys(own).map(id => `${id}: ${operations[id]!.roles.join()}`)
  expect(concluded).toEqual([
    ...['get: read pod', 'drop: delete pod', 'patch: update pod', 'put: update pod', 'start: start pod'],
    ...['cancel: stop pod', 'ask: ', 'kept: update pod', 'none: ', 'listNotes: list note', 'dropNote: delete note'],
    'dropOther: ',
  ])
})

test('a role follows also if another copy of the package declared the endpoint, as a command meets it', {
  tags: 'slow',
}, async () => {
  vi.resetModules()
  const other = await import('../../src/index.ts')
  expect(other.endpoint).not.toBe(endpoint)
  const more = { summary: 'x', returns: z.object({}), handle: () => ({}) }
  const own = {
    get: other.endpoint({ route: 'GET /pods/{id}', roles: ['read pod'], ...more }),
    patch: other.endpoint({ route: 'PATCH /pods/{id}', ...more }),
    none: other.endpoint({ route: 'POST /pods/{id}/stop', roles: [], ...more }),
  }
  const { operations } = createSimulator({ endpoints: own, fixtures: 'empty' }).api
  expect(['patch', 'none'].map(id => operations[id]!.roles)).toEqual([['update pod'], []])
})

const { getPod } = endpoints
const returns = z.object({})
const declared = (route: string) => endpoint({ route, summary: 'An endpoint', returns, handle: () => ({}) })

test.each([
  ['endpoints is []. Give an object.', []],
  ['endpoints.a: {} is not an endpoint. Give the result of endpoint({ … }).', { a: {} }],
  ['endpoints.a-b: this key is not a valid operation id. Begin with a letter, then use letters,', { 'a-b': getPod }],
  ['endpoints.addVoice: the provider has an operation of this name. Give it another.', { addVoice: getPod }],
  ['endpoints.a: POST /deploy/llm is the route of createLlmDeployment.', { a: declared('POST /deploy/llm') }],
  ['endpoints.b: GET /rest/v1/pods/{podId} is the route of a. Give it another path.', { a: getPod, b: getPod }],
  ["endpoints.a: the route 'GET /_sim/pods' is invalid.", { a: declared('GET /_sim/pods') }],
  ['endpoints.a: the route has the parameter {id} twice. Give each another nam', { a: declared('GET /a/{id}/b/{id}') }],
  ["endpoints.a: the route 'pods' is invalid. Give a method and a path,", { a: declared('pods') }],
  [
    "endpoints.a: the route 'POST /t/{id}:cancel' is invalid. Give a method and a path, as in 'GET /v2/pods/{id}'. A parameter is a whole part between slashes.",
    { a: declared('POST /t/{id}:cancel') },
  ],
])('an endpoint is refused with %s', (problem, given) => {
  expect(() => made({ endpoints: given as never })).toThrow(`Failed to make a simulator: ${problem}`)
})

const Thing = z.object({ id: z.string(), status: z.enum(['on', 'off']), usd: z.number().default(0) })
const LOOSE = [z.any(), z.unknown(), z.void(), z.object({}).optional()]
const things = { kind: 'thing', record: Thing, key: 'id', status: 'status', ended: ['off'], usdPerHour: 'usd' } as const

/** Puts a thing, with what becomes of it an hour later. */
const putThing = (table = recordTable(things), key = 'a', role: `create ${string}` = 'create thing') =>
  endpoint({
    ...{ route: `PUT /${key}`, summary: 'Put a thing', roles: [role], body: z.any(), returns: Thing },
    handle: ({ body: { later, ...thing }, world }) =>
      world.records(table).put(thing, ...(later === undefined ? [] : [{ after: '1h', set: later }])),
  })

test('a number with a fractional part is not an integer, in a body and in a path', async () => {
  const a = endpoint({
    ...{ route: 'POST /a/{count}', summary: 'A', returns: z.object({}), body: z.object({ n: z.number().int() }) },
    params: { count: z.int() },
    handle: () => ({}),
  })
  const sim = made({ endpoints: { a } })
  const detailOf = async (count: string, n: unknown) => (await askTo(sim, `POST /a/${count}`, { n })).body.detail
  const detail = { msg: 'Input should be a valid integer, got a number with a fractional part', type: 'int_from_float' }
  expect(await detailOf('1', 1.5)).toEqual([{ loc: ['body', 'n'], ...detail }])
  expect(await detailOf('1.5', 1)).toEqual([{ loc: ['path', 'count'], ...detail }])
})

test('an endpoint may be named as a property of all objects is', async () => {
  const sim = made({ endpoints: { constructor: getPod } as never })
  const { paths } = (await askTo(sim, 'GET /openapi.json')).body
  expect(paths['/rest/v1/pods/{podId}'].get.operationId).toBe('constructor')
})

test('bugs of an endpoint are answered with 500, and named', async () => {
  const answer = (value: unknown) =>
    endpoint({ route: 'GET /answer', summary: 'Answer', returns: Thing, handle: () => value as never })
  const bugs: string[] = []
  const bugOf = async (own: object, method: string, path: string, body?: unknown) => {
    const sim = made({ endpoints: own as never, onBug: bug => bugs.push(String(bug)) })
    if (method === 'PUT') await askTo(sim, 'PUT /a', { id: 'x', status: 'on' })
    expect((await askTo(sim, `${method} ${path}`, body)).status).toBe(500)
    return bugs.at(-1)
  }
  const put = { a: putThing(), b: putThing(recordTable({ ...things }), 'b') }
  expect(await bugOf(put, 'PUT', '/b', { id: 'y', status: 'on' })).toContain(
    'another call of recordTable has this kind',
  )
  expect(await bugOf(put, 'PUT', '/a', { id: 'y', status: 'broken' })).toContain('Failed to put a thing: $.status: ')
  expect(await bugOf(put, 'PUT', '/a', { id: 'y', status: 'on', usd: -1 })).toContain('usd is -1. Give dollars an hour')
  const renamed = { id: 'y', status: 'on', later: { id: 'z' } }
  expect(await bugOf(put, 'PUT', '/a', renamed)).toContain(
    "the 'set' of a later change has another id. Leave id out of 'set'.",
  )
  const batches = { a: putThing({ ...things, kind: 'batch' as 'thing' }) }
  const refused = made({ endpoints: batches, onBug: bug => bugs.push(String(bug)) })
  await askTo(refused, 'PUT /a', { id: 'y', status: 'on' })
  expect(bugs.at(-1)).toContain("the table 'batch': its kind is not one word, or the provider uses it")
  expect(await bugOf({ a: answer(undefined) }, 'GET', '/answer')).toContain("does not fit 'returns'")
  expect(await bugOf({ a: answer(Promise.resolve({})) }, 'GET', '/answer')).toContain('returned a promise')
  for (const [returns, value] of [...LOOSE.map(one => [one, undefined] as const), [z.any(), () => {}] as const]) {
    const loose = endpoint({ route: 'GET /answer', summary: 'Answer', returns, handle: () => value as never })
    expect(await bugOf({ loose }, 'GET', '/answer')).toMatch(/GET \/answer does not fit 'returns': it is /)
    const server = await serve(made({ endpoints: { loose }, onBug: () => {} }), { port: 0 })
    const answered = await fetch(`${server.url}/answer`, { headers: { authorization: 'Bearer sim_empty_token' } })
    expect([answered.status, await answered.json()]).toEqual([500, { detail: 'Internal Server Error' }])
    expect(answered.headers.get('x-sim-error')).toContain('loose: TypeError: the answer of GET /answer does not fit')
    await server.close()
  }
  expect(() => refuse(204, 'no')).toThrow('Failed to refuse with the status 204. Give one from 400 to 599.')
  expect(() => refuse('404' as never, 'no')).toThrow('the status: "404" is a text. Give one from 400 to 599.')
  expect(() => refuse(404.5, 'no')).toThrow('Failed to refuse with the status 404.5.')
  expect(() => refuse(400, undefined as never)).toThrow('the status 400: the message is undefined. Give a text.')
})

test.each([
  [{ roles: ['enlarge pod'] }, "unknown role 'enlarge pod'. Give one of create pod, read pod, list pod, show pod, con"],
  [{ roles: ['creates pod'] }, "unknown role 'creates pod'. Did you mean 'create pod'?"],
  [{ roles: ['read  pod'] }, "unknown role 'read  pod'. Did you mean 'read pod'?"],
  [{ roles: ['read deployment'] }, "the role 'read deployment' has a kind of the provider. Give the kind of a table"],
  [{ roles: null }, "'roles' is null. Give a list, as in ['create pod']."],
  [{ roles: 'create pod' }, '\'roles\' is "create pod". Give a list'],
  [{ auth: 'session' }, "unknown auth 'session'. Give one of token, optional, none."],
  [{ errorShape: 'simpel' }, "unknown errorShape 'simpel'. Did you mean 'simple'?"],
  [{ consumes: 'xml' }, "unknown consumes 'xml'. Give one of json, form."],
  [{ query: z.object({ a: z.string() }) }, "'query' is one schema. Give an object of schemas, as in { id: z.string()"],
  [{ params: { id: z.string() } }, "its path has no parameter 'id'. Rename or remove it, or add {id} to the path."],
  [{ params: z.object({}) }, "'params' is one schema. Give an object of schemas"],
  [{ returns: undefined }, "the schema 'returns' is missing, or not one of zod 4. Install zod 4, and declare the sche"],
  [{ returns: undefined, status: 204 }, "the schema 'returns' is missing, or not one of zod 4."],
  [{ returns: {} }, "the schema 'returns' is missing, or not one of zod 4."],
  [{ returns: z3.string() }, "the schema 'returns' is missing, or not one of zod 4."],
  [{ query: { a: z3.string() } }, "the schema 'a' is missing, or not one of zod 4."],
  [{ body: 'text' }, "the schema 'body' is missing, or not one of zod 4."],
  [{ handle: undefined }, "'handle' is not a function. Give one that returns the answer."],
  [{ status: 204 }, 'with the status 204, the answer has no body. Give returns: z.null().'],
  [{ refusals: { 404: 'gone', 200: 'fine' } }, "the refusal '200' is not a status from 400 to 599. Give one of those."],
  [{ refusals: { abc: 'z' } }, "the refusal 'abc' is not a status from 400 to 599."],
  [{ body: z.object({ a: z.string() }) }, 'a GET has no body. Leave body out, or give another method.'],
])('a declaration with %o is refused', (fields, problem) => {
  const declare = () => endpoint({ route: 'GET /x', summary: 'x', returns, handle: () => ({}), ...(fields as object) })
  expect(declare).toThrow(`Failed to declare the endpoint 'GET /x': ${problem}`)
})

test('a declaration without a route is refused', () => {
  const declare = () => endpoint({ summary: 'x', returns, handle: () => ({}) } as never)
  expect(declare).toThrow("Failed to declare an endpoint: its route is not a text. Give one as in 'GET /v2/pods/{id}'.")
})

test.each([
  [{ kind: 'pod template' }, "Failed to use the table 'pod template': its kind is not one word, or the provider"],
  [{ kind: undefined }, "Failed to use the table 'undefined': its kind is not one word"],
  [{ record: {} }, "Failed to declare the table 'thing': its record is not a schema of zod 4."],
  [{ record: undefined }, "Failed to declare the table 'thing': its record is not a schema of zod 4."],
  [{ kind: '' }, "Failed to use the table '': its kind is not one word"],
  [{ kind: 'file' }, "Failed to use the table 'file': its kind is not one word, or the provider uses it."],
  [{ key: 'ids' }, "the table 'thing': key is 'ids', a field that its record lacks. Did you mean 'id'?"],
  [{ status: 'phase' }, "status is 'phase', a field that its record lacks. Add it to the schema."],
  [{ usdPerHour: 'cost' }, "usdPerHour is 'cost', a field that its record lacks. Add it to the schema."],
  [{ key: undefined }, 'key is undefined. Give the name of a field of its record.'],
  [{ status: undefined }, "the table 'thing': status is undefined. Give the name of a field of its record."],
  [{ status: undefined, record: z.union([Thing, Thing]) }, 'status is undefined. Give the name of a field'],
  [{ usdPerHour: null }, 'usdPerHour is null. Give the name of a field of its record.'],
  [{ usdPerHr: 'usd' }, "Failed to declare a table: unknown field 'usdPerHr'. Did you mean 'usdPerHour'?"],
  [{ ended: 'off' }, 'Failed to declare the table \'thing\': ended is "off". Give a list of texts.'],
  [{ ended: undefined }, "Failed to declare the table 'thing': ended is undefined. Give a list of texts."],
  [{ ended: ['offf'] }, "ended has 'offf', and status is never that. Did you mean 'off'?"],
  [{ ended: ['over'] }, "ended has 'over', and status is never that. Give some of on, off."],
  [{ ended: [1], status: 'id' }, 'ended is [1]. Give a list of texts.'],
  [{ record: z.string() }, "the table 'thing': its record is of the type string. Give a schema of an object, as in"],
  [{ record: z.array(Thing) }, 'its record is of the type array. Give a schema of an object'],
  [{ key: 'usd' }, "the table 'thing': key is 'usd', whose values are not texts. Give a field with texts."],
])('a table with %o is refused', (fields, problem) => {
  expect(() => recordTable({ ...things, ...(fields as object) })).toThrow(problem)
})

const Priced = z.object({ id: z.string(), status: z.string(), usd: z.any() })
const priced = () =>
  recordTable({ kind: 'thing', record: Priced, key: 'id', status: 'status', ended: [], usdPerHour: 'usd' })

test.each([
  ['2.5', 2.5],
  ['2', 2],
  [2.5, 2.5],
  [null, 0],
  [undefined, 0],
])('a record with the price %o costs %d dollars an hour', async (usd, dollars) => {
  const sim = made({ endpoints: {} })
  sim.world.records(priced()).put({ id: 'x', status: 'on', usd })
  await sim.clock.advance('1h')
  const rent = sim.ledger.entries().filter(({ subject }) => subject === 'x')
  expect(rent.reduce((sum, { microcents }) => sum - microcents, 0) / 1e8).toBe(dollars)
})

test.each(['cheap', '', ' ', '0x10', '$2', '1,000', '-1', '2000000', true, [5], {}, Number.NaN])(
  'a record with the price %o is refused',
  usd => {
    const put = () => made({ endpoints: {} }).world.records(priced()).put({ id: 'x', status: 'on', usd })
    expect(put).toThrow(
      `usd is ${quote(usd)}. Give dollars an hour, from 0 to 1,000,000: a number, or a text such as '1.99'.`,
    )
  },
)

test('another value in place of a table or of a name is refused', () => {
  const { world } = made({ endpoints: {} })
  for (const [table, found] of [
    [null, 'null'],
    [undefined, 'undefined'],
    ['pod', '"pod"'],
  ] as const) {
    expect(() => world.records(table as never)).toThrow(
      `Failed to use a table: ${found} is not one. Give the result of recordTable({ … }).`,
    )
  }
  expect(() => world.records(priced()).newId(undefined as never)).toThrow(
    'Failed to make an id of a thing: its name is undefined. Give a text.',
  )
})

test('a role whose kind is nearly that of a table is a bug of the endpoint', async () => {
  const bugs: string[] = []
  const put = (role: `create ${string}`) => {
    const own = { a: putThing(recordTable(things), 'a', role) }
    return askTo(made({ endpoints: own, onBug: bug => bugs.push(String(bug)) }), 'PUT /a', { id: 'x', status: 'on' })
  }
  expect([(await put('create invoice')).status, (await put('create thng')).status]).toEqual([200, 500])
  expect(bugs).toEqual([
    expect.stringContaining("no table has the kind of the role 'create thng' of PUT /a. Did you mean 'create thing'?"),
  ])
})

test.each([
  [{ after: '1s', set: { staus: 'off' } }, "the 'set' of a later change: unknown field 'staus'. Did you mean 'status'"],
  [{ after: '1s', sett: { status: 'off' } }, "a later change: unknown field 'sett'. Did you mean 'set'?"],
  [{ after: '1s' }, "the 'set' of a later change: expected an object of fields, got nothing. Give id, status"],
  [{ after: '1s', set: () => ({}) }, "the 'set' of a later change: expected an object of fields"],
  [null, 'a later change: expected an object of fields, got null.'],
])('the later change %o is refused', async (change, problem) => {
  const table = recordTable(things)
  const put = endpoint({
    ...{ route: 'POST /a', summary: 'x', returns },
    handle: ({ world }) => {
      world.records(table).put({ id: 'x', status: 'on', usd: 0 }, change as never)
      return {}
    },
  })
  const bugs: string[] = []
  const sim = made({ endpoints: { put }, onBug: bug => bugs.push(String(bug)) })
  expect((await askTo(sim, 'POST /a')).status).toBe(500)
  expect(bugs).toEqual([expect.stringContaining(`Failed to put a thing: ${problem}`)])
})

test('a record that fits no form of a union is refused with what its own form lacks', async () => {
  const on = z.object({ id: z.string(), status: z.literal('on') })
  const record = z.union([on, on.extend({ status: z.literal('off'), ip: z.string() })])
  const table = recordTable({ kind: 'thing', record, key: 'id', status: 'status', ended: ['off'] })
  const optional = recordTable({ ...things, kind: 'spare', record: Thing.extend({ note: z.string().optional() }) })
  const { world } = made()
  const put = (value: object, ...later: object[]) => world.records(table).put(value as never, ...(later as never[]))
  const problem = 'Failed to put a thing: $.ip: expected a string, got nothing. Add that field.'
  expect(() => put({ id: 'x', status: 'off' })).toThrow(problem)
  expect(() => put({ id: 'x', status: 'on' }, { after: '1s', set: { status: 'off' } })).toThrow(problem)
  const set = { ntoe: 'x' } as never
  expect(() => world.records(optional).put({ id: 'x', status: 'on', usd: 1 }, { after: '1s', set })).toThrow(
    "unknown field 'ntoe'. Did you mean 'note'?",
  )
})

test('a price follows the record, ends while the account is cut off, and starts again with a record of the same key', async () => {
  const sim = made({ endpoints: { putThing: putThing(), drop: dropThing }, check: true })
  await askTo(sim, 'PUT /a', { id: 'x', status: 'on', usd: 1, later: { usd: 10 } })
  await sim.clock.advance('2h')
  const costOf = (id: string) =>
    sim.ledger.entries().reduce((sum, one) => sum - (one.subject === id ? one.microcents : 0), 0) / 1e8
  expect(costOf('x')).toBeCloseTo(11, 3)
  await askTo(sim, 'DELETE /a/x')
  // A copy is checked from its start: two meters of one record are counted together.
  const twin = sim.fork()
  await twin.clock.advance('1h')
  expect((await askTo(twin, 'GET /v1/me')).status).toBe(200)
  await askTo(sim, 'PUT /a', { id: 'x', status: 'on', usd: 1000 })
  sim.cluster.card.decline()
  sim.funds.set(1)
  await sim.clock.advance('10d')
  const cost = costOf('x')
  await sim.clock.advance('1d')
  expect(costOf('x')).toBe(cost)
  expect((await askTo(sim, 'GET /v1/me')).status).toBe(200)
})

test('reports and money equal the ledger for random prices of records, and for keys that are used again', async () => {
  const put = fc.record({ id: fc.constantFrom('x', 'y'), status: fc.constantFrom('on', 'off'), usd: fc.nat(4) })
  const step = fc.record({
    act: fc.oneof(put, put, fc.constantFrom('x', 'y')),
    minutes: fc.integer({ min: 1, max: 90 }),
  })
  await forAllAsync(
    [fc.array(step, { minLength: 1, maxLength: 12 })],
    { numRuns: Number(process.env.INVARIANT_RUNS ?? 10) },
    async steps => {
      const sim = made({ endpoints: { putThing: putThing(), drop: dropThing }, check: true })
      const tracker = new MoneyTracker(sim)
      let seconds = 0
      for (const { act, minutes } of steps) {
        if (typeof act === 'string') await askTo(sim, `DELETE /a/${act}`)
        else await askTo(sim, 'PUT /a', act)
        const records = sim.world.records(things).all() as { readonly status: string; readonly usd: number }[]
        seconds += records.filter(({ status, usd }) => status === 'on' && usd > 0).length * minutes * 60
        await sim.clock.advance(`${minutes}m`)
        const { money } = sim.report()
        expect(money.closing_balance_microcents).toBe(sim.ledger.balance)
        const rents = sim.ledger.entries().filter(({ kind }) => kind === 'rent')
        expect(money.rent_microcents).toBe(rents.reduce((sum, { microcents }) => sum - microcents, 0))
        const costs = groupBy(rents, ({ subject }) => subject)
        const all = [...costs].map(([id, own]) => [id, own.reduce((sum, { microcents }) => sum - microcents, 0)]).sort()
        const { owners, balance, spent } = tracker.look()
        const paid = owners.filter(owner => owner.spent > 0)
        expect(paid.map(owner => [owner.id, owner.spent]).sort()).toEqual(all)
        expect([balance, spent]).toEqual([sim.ledger.balance, money.rent_microcents])
        expect(owners.map(({ id, burnPerHour }) => [id, burnPerHour])).toEqual(
          owners.map(({ id }) => [id, sim.world.ledger.meters.rateOf(id)]),
        )
        const series = moneySeries(sim.world, { from: 0, to: sim.world.clock.now, step: 7 * 60_000_000 })
        const columns = series.owners.map((id, at) => [id, series.spent.reduce((sum, row) => sum + row[at]!, 0)])
        expect(columns).toEqual(all)
        const tree = findCauseTree(sim, 1, 0, tracker.look())
        expect(tree.money.map(({ id }) => id)).toEqual([...new Set(tree.money.map(({ id }) => id))])
        const used = usageItems(sim.world, 0, sim.world.clock.now)
        expect(used.map(({ id, microcents }) => [id, microcents]).sort()).toEqual(all)
      }
      const billed = (await askTo(sim, 'GET /payment/usage/rent?from=0')).body.id_to_duration
      expect(Object.values<number>(billed).reduce((sum, one) => sum + one, 0)).toBe(seconds)
    },
  )
})

const dropThing = endpoint({
  ...{ route: 'DELETE /a/{id}', summary: 'Delete a thing', returns: z.object({}) },
  handle: ({ params, world }) => {
    world.records(things).delete(params.id)
    return {}
  },
})

test('the cost of a later change does not grow with the number of changes after it', { tags: 'slow' }, async () => {
  const later = Array.from({ length: 20_000 }, (_, i) => ({ after: '1s', set: { usd: i } }) as const)
  const put = endpoint({
    ...{ route: 'PUT /a', summary: 'Put a thing', returns: Thing },
    handle: ({ world }) => world.records(things).put({ id: 'x', status: 'on', usd: 0 }, ...later),
  })
  const sim = made({ endpoints: { put } })
  await askTo(sim, 'PUT /a')
  await sim.clock.advance('1h')
  const twin = sim.fork()
  await twin.clock.advance('5h')
  expect(twin.world.records(things).get('x')).toMatchObject({ usd: 19_999 })
  expect(twin.explain('x').next).toBeUndefined()
  expect(sim.world.records(things).get('x')).toMatchObject({ usd: 3_599 })
})

test('simulators whose tables are equal do not know each other', async () => {
  for (const _ of [1, 2]) {
    const sim = made({ endpoints: { a: putThing() } })
    expect((await askTo(sim, 'PUT /a', { id: 'x', status: 'on' })).status).toBe(200)
  }
})

test('a word of a route comes before a parameter, and routes may overlap', async () => {
  const answer = (route: string) =>
    endpoint({ route, summary: 'Answer', returns: z.object({ route: z.string() }), handle: () => ({ route }) })
  const routes = ['GET /jobs/{id}/logs', 'GET /jobs/templates/{name}', 'GET /jobs/{id}', 'GET /jobs/all', 'GET /{any}']
  const sim = made({ endpoints: Object.fromEntries(routes.map((route, i) => [`own${i}`, answer(route)])) })
  const found = async (path: string) => (await askTo(sim, `GET ${path}`)).body.route
  expect(await found('/jobs/templates/logs')).toBe('GET /jobs/{id}/logs')
  expect(await found('/jobs/templates/x')).toBe('GET /jobs/templates/{name}')
  expect(await found('/jobs/all')).toBe('GET /jobs/all')
  expect(await found('/jobs/7')).toBe('GET /jobs/{id}')
  expect(await found('/anything')).toBe('GET /{any}')
})

test('explore does not take one more record for a repeated create', { tags: 'slow' }, async () => {
  const once = flow('once', { endpoints, fixtures: 'empty' }, async context => {
    const ask = (request: string, body?: object) =>
      askTo(context, request, body, { signal: AbortSignal.timeout(9_000) })
    const { status, body } = await ask('POST /rest/v1/pods', { name: 'chat', gpuTypeId: 'H100' })
    if (status >= 300) throw new Error(`${status}`)
    await ask(`DELETE /rest/v1/pods/${body.id}`)
  })
  const { findings } = await explore(once, { faults: 'singles', classes: ['status503', 'reset'] })
  expect(findings.map(({ invariant }) => invariant)).not.toContain('noDouble')
})

test('answers a success with the declared status, and no body with 204', async () => {
  const Thing = z.object({ id: z.string(), state: z.enum(['on', 'off']) })
  const things = recordTable({ kind: 'thing', record: Thing, key: 'id', status: 'state', ended: ['off'] })
  const own = {
    createThing: endpoint({
      ...{ route: 'POST /things', summary: 'Create', roles: ['create thing'], status: 201, returns: Thing },
      handle: ({ world }) => world.records(things).put({ id: world.records(things).newId('thing'), state: 'on' }),
    }),
    deleteThing: endpoint({
      ...{ route: 'DELETE /things/{id}', summary: 'Delete', status: 204, returns: z.null() },
      handle: ({ params, world }) => {
        world.records(things).delete(params.id)
        return null
      },
    }),
  }
  const sim = createSimulator({ endpoints: own, fixtures: 'empty' })
  const made = await askTo(sim, 'POST /things')
  expect(made).toMatchObject({ status: 201, body: { id: expect.any(String) } })
  const remove = () => sendTo(sim, `DELETE /things/${made.body.id}`)
  const gone = await remove()
  expect([gone.status, gone.body]).toEqual([204, null])
  expect(sim.requests.map(({ status }) => status)).toEqual([201, 204])
  const { paths } = (await askTo(sim, 'GET /openapi.json')).body
  expect(Object.keys(paths['/things'].post.responses)[0]).toBe('201')
  expect(paths['/things/{id}'].delete.responses['204'].content).toBeUndefined()
  // A fault of the body has nothing to change.
  const slow = { kind: 'slowBody', bytesPerSecond: 1 } as const
  for (const fault of [...(['garbled', 'empty', 'truncated', 'gzip'] as const).map(kind => ({ kind })), slow]) {
    const { id } = sim.faults.add({ on: 'deleteThing', fault, times: 1 })
    expect([fault.kind, (await remove()).status]).toEqual([fault.kind, 204])
    expect(sim.faults.list().find(rule => rule.id === id)).toMatchObject({ hits: 0 })
  }
})

test('reads a list of a query or a form from a repeated name', async () => {
  const list = z.array(z.string())
  const listOrText = z.union([z.string(), list]).optional()
  const split = z.preprocess(value => String(value).split(','), list).optional()
  const own = {
    find: endpoint({
      ...{
        route: 'GET /x',
        summary: 'x',
        query: { s: list.default([]), u: listOrText, c: split, t: z.string().optional() },
      },
      ...{ returns: z.any(), handle: ({ query }) => query },
    }),
    send: endpoint({
      route: 'POST /x',
      summary: 'x',
      consumes: 'form',
      body: z.object({ b: list.optional(), 'd[]': list.optional(), u: listOrText, t: z.string().optional() }),
      returns: z.any(),
      handle: ({ body }) => body,
    }),
  }
  const sim = made({ endpoints: own, strictRequests: true })
  const headers = { authorization: `Bearer ${sim.token}` }
  const find = async (search: string) => (await askTo(sim, `GET /x${search}`)).body
  expect(await find('?s=1&s=2&t=3&t=4')).toEqual({ s: ['1', '2'], t: '4' })
  expect(await find('?s=1')).toEqual({ s: ['1'] })
  expect(await find('')).toEqual({ s: [] })
  expect(await find('?u=1&c=a,b')).toEqual({ s: [], u: '1', c: ['a', 'b'] })
  expect(await find('?u=1&u=2')).toEqual({ s: [], u: ['1', '2'] })
  const pairs = [
    ['b=1&b=2&t=3&t=4', { b: ['1', '2'], t: '4' }],
    ['b=1', { b: ['1'] }],
    ['b[]=1&b[]=2', { b: ['1', '2'] }],
    ['d[]=1', { 'd[]': ['1'] }],
    ['u=1', { u: '1' }],
    ['u=1&u=2', { u: ['1', '2'] }],
  ] as const
  for (const [text, expected] of pairs) {
    const form = new FormData()
    for (const [name, value] of new URLSearchParams(text)) form.append(name, value)
    for (const body of [new URLSearchParams(text), form]) {
      const answer = await sim.fetch('http://sim/x', { method: 'POST', headers, body })
      expect([text, await answer.json()]).toEqual([text, expected])
    }
  }
})

const numbers = z.array(z.number().catch(7))
test.each<[schema: z.ZodType, sent: string, read: unknown]>([
  [z.number(), '5', 5],
  [z.literal(3), '3', 3],
  [z.literal([1, 2]), '2', 2],
  [z.literal(['a', 1, true]), 'a', 'a'],
  [z.union([z.literal(1), z.literal(2)]), '2', 2],
  [z.enum({ A: 1, B: 2 }), '2', 2],
  [z.literal(true), 'true', true],
  [z.union([z.literal(false), z.number()]), 'false', false],
  [z.literal(3), '4', undefined],
  [z.literal(true), 'false', undefined],
  [z.number().catch(7), '5', 5],
  [z.number().catch(7), 'x', 7],
  [z.literal([3, 1]).catch(1).optional(), '3', 3],
  [z.string().catch('none'), '5', '5'],
  [z.array(z.literal([1, 2])), '1', [1]],
  [numbers, '5', [5]],
  [z.array(z.number()).catch([]), '5', [5]],
])('reads a number and a boolean from a text as the schema needs: case %#, %j as %j', async (schema, sent, read) => {
  const common = { summary: 'x', returns: z.any() }
  const own = {
    find: endpoint({ route: 'GET /x', ...common, query: { v: schema }, handle: ({ query }) => query }),
    get: endpoint({ route: 'GET /x/{v}', ...common, params: { v: schema }, handle: ({ params }) => params }),
    send: endpoint({
      ...{ route: 'POST /x', ...common, consumes: 'form', body: z.object({ v: schema }) },
      handle: ({ body }) => body,
    }),
  }
  for (const validation of ['lax', 'strict']) {
    const sim = made({ endpoints: own, profile: { policies: { validation } } as never })
    const headers = { authorization: `Bearer ${sim.token}` }
    const form = { method: 'POST', headers, body: new URLSearchParams({ v: sent }) }
    const answers = [askTo(sim, `GET /x?v=${sent}`), sim.fetch('http://sim/x', form).then(answer => answer.json())]
    const [query, body] = await Promise.all(answers)
    expect([query.body.v, body.v]).toEqual([read, read])
    // A path has no lists.
    if (!Array.isArray(read)) expect((await askTo(sim, `GET /x/${sent}`)).body.v).toEqual(read)
  }
})

test.each([404, null])('refuses %j as the status of a success', status => {
  const own = {
    find: endpoint({ route: 'GET /x', summary: 'x', status: status as never, returns: z.null(), handle: () => null }),
  }
  expect(() => createSimulator({ endpoints: own })).toThrow(
    `endpoints.find: the status ${status} is invalid. Give one of 200`,
  )
})

test('a field may have the name of a property that every object inherits', async () => {
  const shape = { constructor: z.string().optional(), toString: z.string().optional() }
  const Race = z.object({
    ...shape,
    id: z.string(),
    inner: z.union([z.object(shape), z.number()]).optional(),
    over: z.boolean(),
  })
  const races = recordTable({ kind: 'race', record: Race, key: 'id', status: 'over', ended: ['true'] })
  const createRace = endpoint({
    ...{ route: 'POST /races', summary: 'Create', query: shape, body: Race, returns: z.array(Race) },
    handle: ({ query, body, world }) => {
      world.records(races).put({ ...body, constructor: query.constructor ?? body.constructor ?? 'none' })
      world.records(races).put({ id: 'bare', over: false } as never)
      return world.records(races).all()
    },
  })
  const sim = made({ endpoints: { createRace } })
  const race = { id: 'a', inner: {}, over: false }
  const bare = { id: 'bare', over: false }
  expect((await askTo(sim, 'POST /races', race)).body).toEqual([{ ...race, constructor: 'none' }, bare])
  expect((await askTo(sim, 'POST /races?constructor=x', race)).body).toEqual([{ ...race, constructor: 'x' }, bare])
  const own = { ...race, constructor: 'own', toString: 'text' }
  expect((await askTo(sim, 'POST /races', own)).body).toEqual([own, bare])
  expect((await askTo(sim, 'POST /races', { ...race, constructor: 1 })).body.detail).toEqual([
    expect.objectContaining({ loc: ['body', 'constructor'], msg: 'Input should be a valid string' }),
  ])
  const missing = endpoint({
    ...{ route: 'GET /races', summary: 'List', query: { valueOf: z.string() }, returns },
    handle: () => ({}),
  })
  expect((await askTo(made({ endpoints: { missing } }), 'GET /races')).body.detail).toEqual([
    expect.objectContaining({ loc: ['query', 'valueOf'], msg: 'Field required' }),
  ])
})
