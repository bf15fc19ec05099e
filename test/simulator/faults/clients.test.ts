/**
 * Every kind of fault as clients meet it that know nothing of the simulator: `fetch` and `node:http`, through MSW and at a
 * server. All at one world and one server, with rules that come and go.
 */
import plainHttp, { request as unwatchedRequest } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { serve } from '../../../src/server/http/server.ts'
import { operations } from '../../../src/service/index.ts'
import { FAULT_KINDS } from '../../../src/simulator/faults/kinds/index.ts'
import type { Fault } from '../../../src/simulator/faults/rules.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { openTransports, type Transport } from '../../server/transports.ts'

const sim = createSimulator({ seed: 1 })
const at = openTransports(sim, { base: 'http://clients.example.test', latency: 'real' })
beforeEach(() => sim.reset())

interface Ask {
  readonly method?: string
  readonly path: string
  readonly body?: string
}

/** The head of an answer; the rest is read when it is asked for. */
interface Head {
  readonly status: number
  header(name: string): string | null
  text(): Promise<string>
}

type Send = (ask: Ask, signal?: AbortSignal) => Promise<Head>

function throughFetch(transport: Transport, behind = () => at(transport).url): Send {
  return async ({ path, ...init }, signal) => {
    const { fetch } = at(transport)
    const headers = { authorization: `Bearer ${sim.token}` }
    const answer = await fetch(`${behind()}${path}`, { ...init, headers, signal: signal ?? null })
    return { status: answer.status, header: name => answer.headers.get(name), text: () => answer.text() }
  }
}

function throughHttp(request: () => typeof unwatchedRequest, transport: Transport): Send {
  return ({ method = 'GET', path, body }, signal) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${sim.token}` }
      const outgoing = request()(
        `${at(transport).url}${path}`,
        { method, headers, ...(signal && { signal }) },
        incoming => {
          const text = new Promise<string>((resolve, reject) => {
            const parts: Buffer[] = []
            incoming.on('data', (part: Buffer) => parts.push(part))
            incoming.on('end', () => resolve(Buffer.concat(parts).toString()))
            incoming.on('error', reject)
          })
          // A client that never reads the text must not see its rejection.
          text.catch(() => {})
          const { statusCode = 0 } = incoming
          const header = (name: string) => [incoming.headers[name]].flat().join() || null
          resolve({ status: statusCode, header, text: () => text })
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })
}

/** The platform's own request is `unwatchedRequest`: `plainHttp.request` is what MSW puts itself in the place of. */
const CLIENTS = {
  'sim.fetch': throughFetch('sim.fetch'),
  'fetch, MSW': throughFetch('MSW'),
  'node:http, MSW': throughHttp(() => plainHttp.request as typeof unwatchedRequest, 'MSW'),
  'fetch, server': throughFetch('server'),
  'node:http, server': throughHttp(() => unwatchedRequest, 'server'),
} as const
type ClientName = keyof typeof CLIENTS
const NAMES = Object.keys(CLIENTS) as ClientName[]

type Outcome = Readonly<Record<string, unknown>>

/** Returns what a client sees of an answer, or of a request without an answer. */
async function outcomeOf(asked: Promise<Head>): Promise<Outcome> {
  let head: Head
  try {
    head = await asked
  } catch (error) {
    return { threw: nameOf(error) }
  }
  const { status, header } = head
  const seen = { status, type: header('content-type'), retryAfter: header('retry-after') }
  return head.text().then(
    text => ({ ...seen, text }),
    error => ({ ...seen, broke: nameOf(error) }),
  )
}

/** The code that a client would look at, of the error or of its cause. */
function nameOf(error: unknown): string {
  const { name, message, code, cause } = error as Error & { code?: unknown; cause?: { code?: string } }
  if (name === 'AbortError') return name
  return cause?.code ?? (typeof code === 'string' ? code : message)
}

const CREATE: Ask = {
  method: 'POST',
  path: '/deploy/llm',
  body: JSON.stringify({ model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }),
}
const BATCH: Ask = { path: '/v1/batches/batch_4bszUZ9REqRnzm2DdbW5wBgB' }
const JSON_TYPE = 'application/json'

/** What all clients see, but for those that are named. */
type Seen = { readonly all: Outcome } & Partial<Record<ClientName, Outcome>>

const reset: Seen = {
  all: { threw: 'ECONNRESET' },
  // All that MSW can say of a connection that breaks.
  'fetch, MSW': { threw: 'Failed to fetch' },
  'node:http, MSW': { threw: 'Network error' },
}
const refused: Seen = { ...reset, 'sim.fetch': { threw: 'ECONNREFUSED' } }
const cut: Seen = {
  all: { status: 200, type: JSON_TYPE, broke: 'UND_ERR_SOCKET' },
  'node:http, MSW': { status: 200, broke: 'ECONNRESET' },
  'node:http, server': { status: 200, broke: 'ECONNRESET' },
}
// MSW gives the head to node:http with the first bytes of the body.
const cutAtOnce: Seen = { ...cut, 'node:http, MSW': { threw: 'ECONNRESET' } }
const json = (status: number, text: unknown, more: Outcome = {}): Seen => ({
  all: { status, type: JSON_TYPE, text, ...more },
})
const limited = (retryAfter: string | null): Seen => ({ all: { status: 429, retryAfter } })
const page = (status: number, title: string): Seen => ({
  all: { status, type: 'text/html', text: expect.stringContaining(`<h1>${title}</h1>`) },
})
const overloaded = { headers: { 'Retry-After': '7' }, body: { error: { code: 'engine_overloaded' } } }

/** A fault, what clients see of it, and whether the deployment that was asked for is there afterwards. */
const ROWS: readonly (readonly [fault: Fault, seen: Seen, isDone: boolean])[] = [
  [{ kind: 'status', status: 503 }, json(503, '{"error":"Service Unavailable"}', { retryAfter: '1' }), false],
  [{ kind: 'status', status: 504, message: 'slow', effect: 'done' }, json(504, '{"error":"slow"}'), true],
  [{ kind: 'rateLimit', retryAfter: '90s' }, json(429, '{"error":"Too Many Requests"}', { retryAfter: '90' }), false],
  [{ kind: 'rateLimit', retryAfter: '90s', as: 'date' }, limited('Thu, 01 Jan 2026 00:01:30 GMT'), false],
  [{ kind: 'rateLimit', headers: { 'Retry-After': null } }, limited(null), false],
  [{ kind: 'rateLimit' }, limited('1'), false],
  [
    { kind: 'status', status: 529, ...overloaded },
    json(529, JSON.stringify(overloaded.body), { retryAfter: '7' }),
    false,
  ],
  [{ kind: 'status', status: 500, body: 'oops' }, json(500, 'oops', { type: 'text/plain; charset=utf-8' }), false],
  [{ kind: 'reset' }, reset, false],
  [{ kind: 'reset', effect: 'done' }, reset, true],
  [{ kind: 'refused' }, refused, false],
  [{ kind: 'empty' }, json(200, ''), true],
  [{ kind: 'truncated' }, cut, true],
  [{ kind: 'truncated', bytes: 0 }, cutAtOnce, true],
  [{ kind: 'truncated', bytes: 9, chunked: true }, cut, true],
  [{ kind: 'garbled' }, json(200, expect.stringMatching(/^\ufffd/)), true],
  [{ kind: 'html' }, page(502, '502 Bad Gateway'), false],
  [{ kind: 'html', status: 504, effect: 'done' }, page(504, '504 Gateway Time-out'), true],
  [{ kind: 'html', status: 200 }, page(200, '200 Welcome'), false],
  [{ kind: 'duplicate' }, json(200, expect.stringContaining('"model_name":"acme/new"')), true],
  [{ kind: 'duplicate', answer: 'second' }, json(409, expect.stringContaining('is deployed already')), true],
]

describe.each(ROWS)('the fault %j', (fault, seen, isDone) => {
  test.each(NAMES)('%s', { tags: 'slow' }, async name => {
    const send = CLIENTS[name]
    const rule = sim.faults.add({ on: 'createLlmDeployment', times: 1, fault })
    expect(await outcomeOf(send(CREATE))).toMatchObject(seen[name] ?? seen.all)
    expect(rule.hits).toBe(1)
    // The next one comes through: a live deployment has the name, or gets it.
    expect((await send(CREATE)).status).toBe(isDone ? 409 : 200)
    expect(rule).toMatchObject({ matches: 2, hits: 1 })
  })
})

test.each(NAMES)("an error has its endpoint's own shape, %s", async name => {
  sim.faults.add({ on: 'getBatch', fault: { kind: 'status', status: 500 } })
  expect(await outcomeOf(CLIENTS[name](BATCH))).toMatchObject({
    status: 500,
    text: '{"detail":{"error":"Internal Server Error"}}',
  })
})

type Drift = readonly [
  on: keyof typeof operations,
  change: Extract<Fault, { kind: 'drift' }>['change'],
  field: string,
  /** What differs from the true answer. */
  differs: readonly string[],
]
const PATHS: Readonly<Record<string, string>> = {
  ...{ listDeployments: '/deploy/list', listModels: '/models/deployment/list', getBatch: BATCH.path },
  ...{ listSshKeys: '/v1/ssh_keys', listBatches: '/v1/batches' },
}
const LATER = '[].instances.not_in_the_document: "a field of a later version"'
const LEGAL: Drift[] = [
  ['listDeployments', 'extraField', '[].instances', [LATER]],
  ['listDeployments', 'absentField', '[].config', ['[].config: undefined']],
  ['listModels', 'nullField', '[].max_tokens', ['[].max_tokens: null']],
  ['listModels', 'unknownValue', '[].pricing.type', ['[].pricing.type: "not_in_the_document"']],
  ['getBatch', 'keyOrder', '', []],
  ['listSshKeys', 'missingElement', '', ['[]: undefined']],
  ['listBatches', 'trueBoolean', 'has_more', ['has_more: true']],
]
const ILLEGAL: Drift[] = [
  ['getBatch', 'missingField', 'id', ['id: undefined']],
  ['getBatch', 'numberAsString', 'request_counts.total', ['request_counts.total: "20"']],
  ['listDeployments', 'unlistedValue', '[].status', ['[].status: "not_in_the_document"']],
  ['listDeployments', 'nullElement', '', ['[]: null']],
]

describe.each([...LEGAL, ...ILLEGAL])('an answer of %s with %s', (on, change, field, differs) => {
  const path = PATHS[on]!
  const isLegal = LEGAL.some(one => one[1] === change)
  test.each(NAMES)('%s', { tags: 'slow' }, async name => {
    const send = CLIENTS[name]
    const truth = await (await send({ path })).text()
    sim.faults.add({ on, fault: { kind: 'drift', change, ...(field !== '' && { field }) } })
    const { text, ...head } = (await outcomeOf(send({ path }))) as { text: string }
    expect(head).toMatchObject({ status: 200, type: JSON_TYPE })
    const seen = JSON.parse(text)
    expect(differences(JSON.parse(truth), seen)).toEqual(differs)
    expect(text).not.toBe(truth)
    // A declaration lists the values that are known, even where the document leaves room for others.
    expect(operations[on].returns.safeParse(seen).success).toBe(isLegal && change !== 'unknownValue')
  })
})

/** Returns the paths at which two values differ, each with the second value, each path once. `[]` is any entry of a list. */
function differences(one: unknown, other: unknown, place = ''): string[] {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return one === other ? [] : [`${place}: ${JSON.stringify(other)}`]
  const isList = Array.isArray(one)
  const below = (key: string) => (isList ? `${place}[]` : place === '' ? key : `${place}.${key}`)
  const keys = Object.keys({ ...one, ...other })
  const found = keys.flatMap(key => differences(one[key as never], other[key as never], below(key)))
  return [...new Set(found)]
}

test('a refused connection leaves other servers reachable, and a closed server refuses connections', async () => {
  const other = await serve(createSimulator(), { port: 0 })
  const healthAt = (url: string) => outcomeOf(throughFetch('server', () => url)({ path: '/_sim/health' }))
  sim.faults.add({ on: '*', fault: { kind: 'refused' } })
  expect(await outcomeOf(CLIENTS['fetch, server']({ path: '/v1/voices' }))).toEqual({ threw: 'ECONNRESET' })
  expect(await healthAt(at('server').url)).toMatchObject({ status: 200 })
  expect(sim.journal.entries().at(-1)).toMatchObject({ kind: 'request', fields: { status: 0 } })
  await other.close()
  expect(await healthAt(other.url)).toEqual({ threw: 'ECONNREFUSED' })
})

/** Time as the client waits: at a server it is real, in a process it is moved. */
async function waits(name: ClientName, by: string): Promise<void> {
  if (!name.endsWith('server')) await sim.clock.advance(by)
}

describe('in time', () => {
  test.each(NAMES)('a late answer, %s', async name => {
    const rule = sim.faults.add({ on: 'createLlmDeployment', fault: { kind: 'latency', delay: '30ms' } })
    const began = performance.now()
    let isHere = false
    const answer = CLIENTS[name](CREATE).finally(() => {
      isHere = true
    })
    await expect.poll(() => rule.hits, { interval: 1 }).toBe(1)
    await waits(name, '29ms')
    expect(isHere).toBe(false)
    // The work is done on arrival.
    expect(sim.world.deployments.findLive('acme/new')).toBeDefined()
    await waits(name, '1ms')
    expect((await answer).status).toBe(200)
    if (name.endsWith('server')) expect(performance.now() - began).toBeGreaterThan(28)
  })

  test.each(NAMES)('a slow body, %s', { tags: 'slow' }, async name => {
    // It comes in one piece, which takes a tenth of a second.
    const rule = sim.faults.add({ on: 'createLlmDeployment', fault: { kind: 'slowBody', bytesPerSecond: 50_000 } })
    const began = performance.now()
    const asked = CLIENTS[name](CREATE)
    let isHere = false
    const text = asked
      .then(head => head.text())
      .finally(() => {
        isHere = true
      })
    await expect.poll(() => rule.hits, { interval: 1 }).toBe(1)
    // MSW gives it the head with the first bytes of the body.
    if (name !== 'node:http, MSW') expect((await asked).status).toBe(200)
    await waits(name, '99ms')
    expect(isHere).toBe(false)
    await waits(name, '1ms')
    expect(JSON.parse(await text)).toMatchObject({ model_name: 'acme/new' })
    if (name.endsWith('server')) expect(performance.now() - began).toBeGreaterThan(90)
  })

  test.each(NAMES)('no answer, until the client leaves, %s', { tags: 'slow' }, async name => {
    const rule = sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'hang', effect: 'done' } })
    const leaving = new AbortController()
    const asked = outcomeOf(CLIENTS[name](CREATE, leaving.signal))
    await expect.poll(() => rule.hits, { interval: 1 }).toBe(1)
    await sim.clock.advance('1h')
    leaving.abort()
    expect(await asked).toEqual({ threw: 'AbortError' })
    expect((await CLIENTS[name](CREATE)).status).toBe(409)
  })

  test.each(NAMES)('a list that lags behind a create, %s', { tags: 'slow' }, async name => {
    const send = CLIENTS[name]
    const names = async () => {
      const text = await (await send({ path: '/deploy/list' })).text()
      return (JSON.parse(text) as { model_name: string }[]).map(one => one.model_name)
    }
    const rule = sim.faults.add({ on: 'listDeployments', fault: { kind: 'stale', lag: '5s' } })
    expect((await send(CREATE)).status).toBe(200)
    expect(await names()).not.toContain('acme/new')
    await sim.clock.advance('4s')
    expect(await names()).not.toContain('acme/new')
    await sim.clock.advance('1s')
    expect(await names()).toContain('acme/new')
    expect(rule.hits).toBe(3)
  })
})

test('the rows have every change of drift', () => {
  const changes = FAULT_KINDS.drift.schema.shape.change.options
  expect([...LEGAL, ...ILLEGAL].map(([, change]) => change)).toEqual(changes)
})
