import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createEndpointFactory } from '../../src/service/endpoint.ts'
import type { IncomingRequest } from '../../src/service/http/incoming-request.ts'
import { Pipeline } from '../../src/service/http/pipeline.ts'
import { type Middleware, toPathAndQuery } from '../../src/service/http/request-context.ts'
import { refuse, rejectInput } from '../../src/service/refusals.ts'
import { Bytes, JsonText, ServerSentEvents } from '../../src/service/results.ts'

interface Context {
  now: number
  log: string[]
}
interface Scope {
  log: string[]
}

const endpoint = createEndpointFactory<Scope, true>('assumed')
const base = { summary: '', returns: z.unknown() } as const

const operations = {
  plain: endpoint({ ...base, route: 'GET /plain', handle: () => ({ plain: true }) }),
  kept: endpoint({ ...base, route: 'GET /kept', handle: () => JsonText.list(['{"a":1}', '2']) }),
  bytes: endpoint({
    ...base,
    route: 'GET /bytes',
    produces: 'application/octet-stream',
    handle: () => new Bytes([new Uint8Array([104, 105]), new Uint8Array([33])]),
  }),
  none: endpoint({ ...base, route: 'GET /none', produces: 'text/plain', handle: () => new Bytes([]) }),
  events: endpoint({
    ...base,
    route: 'GET /events',
    handle: () => new ServerSentEvents(new Blob(['data: x\n\n']).stream() as ReadableStream<Uint8Array<ArrayBuffer>>),
  }),
  post: endpoint({
    ...base,
    route: 'POST /post',
    body: z.object({ a: z.string().optional() }),
    handle: ({ body, log }) => {
      log.push('handle')
      return body
    },
  }),
  start: endpoint({ ...base, route: 'POST /start', handle: () => ({}) }),
  slow: endpoint({ ...base, route: 'GET /slow', handle: async () => 'later' }),
  slowRefusal: endpoint({
    ...base,
    route: 'GET /slow-refusal',
    handle: async () => refuse(409, 'too late'),
  }),
  simple: endpoint({ ...base, route: 'GET /simple', handle: () => refuse(404, 'no such thing') }),
  detail: endpoint({ ...base, route: 'GET /detail', errorShape: 'detail', handle: () => refuse(404, 'no such thing') }),
  wrapped: endpoint({
    ...base,
    route: 'GET /wrapped',
    errorShape: 'wrapped',
    handle: () => refuse(429, 'slow down', { 'retry-after': '3' }),
  }),
  invalid: endpoint({
    ...base,
    route: 'GET /invalid',
    handle: () => rejectInput(['body', 'hub'], 'Value error, no', 'value_error'),
  }),
  bug: endpoint({
    ...base,
    route: 'GET /bug',
    handle: () => {
      throw new TypeError('x is not a fünction\n')
    },
  }),
}

const bugs: unknown[] = []
const pipeline = new Pipeline<Context, Scope>({
  operations,
  createScope: context => {
    if (context.header('authorization') === 'no') refuse(401, 'who are you')
    return { log: context.backend.log }
  },
  clock: context => ({ epochMs: context.now, now: 0 }),
  openEntry(context, operation, method, path) {
    context.log.push(`open ${operation} ${method} ${path}`)
    return undefined
  },
  closeEntry: (context, _entry, status) => context.log.push(`close ${status}`),
  onBug: error => bugs.push(error),
})

const context = (now = 0): Context => ({ now, log: [] })
const get = (path: string, init?: RequestInit) => new Request(`http://sim${path}`, init)

async function seen(answer: Response | Promise<Response>) {
  const response = await answer
  const text = await response.text()
  return [
    response.status,
    response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text,
  ]
}

describe('answers', () => {
  test.each<[string, number, unknown]>([
    ['/plain', 200, { plain: true }],
    ['/kept', 200, [{ a: 1 }, 2]],
    ['/bytes', 200, 'hi!'],
    ['/none', 200, ''],
    ['/events', 200, 'data: x\n\n'],
    ['/slow', 200, 'later'],
    ['/slow-refusal', 409, { error: 'too late' }],
    ['/simple', 404, { error: 'no such thing' }],
    ['/detail', 404, { detail: 'no such thing' }],
    ['/wrapped', 429, { detail: { error: 'slow down' } }],
    ['/invalid', 422, { detail: [{ loc: ['body', 'hub'], msg: 'Value error, no', type: 'value_error' }] }],
    ['/nowhere', 404, { detail: 'Not Found' }],
    ['/post', 405, { detail: 'Method Not Allowed' }],
  ])('%s', async (path, status, body) => {
    expect(await seen(pipeline.answer(context(), get(path)))).toEqual([status, body])
  })

  test('a request without a body is answered without a promise', () => {
    expect(pipeline.answer(context(), get('/plain'))).toBeInstanceOf(Response)
    expect(pipeline.answer(context(), get('/start', { method: 'POST', body: 'ignored' }))).toBeInstanceOf(Response)
  })

  test('HEAD is GET without the body', async () => {
    const response = await pipeline.answer(context(), get('/plain', { method: 'HEAD' }))
    const expected = [200, 'application/json', '']
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual(expected)
  })

  test('headers of a refusal', async () => {
    expect((await pipeline.answer(context(), get('/wrapped'))).headers.get('retry-after')).toBe('3')
    expect((await pipeline.answer(context(), get('/post'))).headers.get('allow')).toBe('POST')
    expect((await pipeline.answer(context(), get('/bytes'))).headers.get('content-length')).toBe('3')
  })

  test('Date is the time of the world, to the second', async () => {
    const dateAt = async (now: number) => (await pipeline.answer(context(now), get('/plain'))).headers.get('date')
    expect(await dateAt(1_767_225_600_999)).toBe('Thu, 01 Jan 2026 00:00:00 GMT')
    expect(await dateAt(1_767_225_601_000)).toBe('Thu, 01 Jan 2026 00:00:01 GMT')
    expect(await dateAt(1_767_225_600_000)).toBe('Thu, 01 Jan 2026 00:00:00 GMT')
  })
})

test('an exception of a handler is answered 500 with a header and reported to the onBug hook', async () => {
  const here = context()
  const response = await pipeline.answer(here, get('/bug'))
  expect(await response.json()).toEqual({ detail: 'Internal Server Error' })
  expect(response.headers.get('x-sim-error')).toBe('bug: TypeError: x is not a f?nction?')
  expect(bugs).toHaveLength(1)
  expect(here.log).toEqual(['open bug GET /bug', 'close 500'])
})

describe('the journal', () => {
  test.each([
    ['/plain', ['open plain GET /plain', 'close 200']],
    ['/simple?x=1', ['open simple GET /simple', 'close 404']],
    ['/nowhere', ['open  GET /nowhere', 'close 404']],
    ['/post', ['open  GET /post', 'close 405']],
    ['/slow', ['open slow GET /slow', 'close 200']],
  ])('%s', async (path, log) => {
    const here = context()
    await pipeline.answer(here, get(path))
    expect(here.log).toEqual(log)
  })
})

describe('a request with a body', () => {
  const post = (body: BodyInit | null, headers: Record<string, string> = {}, enter?: () => void | Promise<void>) => {
    const here = context()
    const init = { method: 'POST', body, headers, duplex: 'half' }
    return { here, answer: pipeline.answer(here, get('/post', init), {}, enter && { enter }) }
  }

  test('enters its world in one step, when it is complete', async () => {
    const order: string[] = []
    const { here, answer } = post('{"a":"b"}', {}, () => void order.push(...here.log, 'enter'))
    await answer
    expect([...order, ...here.log]).toEqual(['enter', 'open post POST /post', 'handle', 'close 200'])
  })

  test('waits for its place when the world is busy', async () => {
    let release = () => {}
    const { here, answer } = post('{}', {}, () => new Promise(resolve => (release = resolve)))
    await new Promise(resolve => setImmediate(resolve))
    expect(here.log).toEqual([])
    release()
    expect((await answer).status).toBe(200)
  })

  test('is refused before its body is read when its token is invalid', async () => {
    const init = { method: 'POST', body: '{}', headers: { authorization: 'no' } }
    const request = get('/post', init)
    expect(await seen(pipeline.answer(context(), request))).toEqual([401, { error: 'who are you' }])
    expect(request.bodyUsed).toBe(false)
  })

  test.each<[string, BodyInit | null, Record<string, string>, number]>([
    ['any content type that is not a form is JSON', '{}', { 'content-type': 'text/plain' }, 200],
    ['a form', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['multipart', '{}', { 'content-type': 'multipart/form-data; boundary=x' }, 415],
    ['compressed', '{}', { 'content-encoding': 'gzip' }, 415],
    ['not compressed', '{}', { 'content-encoding': 'identity' }, 200],
    ['too long by its own word', '{}', { 'content-length': '1000000000' }, 413],
    ['chunked', '{}', { 'transfer-encoding': 'chunked' }, 200],
    ['a byte order mark', '\ufeff{}', {}, 200],
    ['nothing', null, {}, 422],
  ])('%s', async (_, body, headers, status) => {
    expect((await post(body, headers).answer).status).toBe(status)
  })

  test('a body of an unsupported media type is refused with the supported types, in the text and in a header', async () => {
    const refusal = async (headers: Record<string, string>) => {
      const answer = await post('{}', headers).answer
      const { detail } = await answer.json()
      return [detail, answer.headers.get('accept'), answer.headers.get('accept-encoding')]
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expect(await refusal(form)).toEqual(['Unsupported Media Type: send application/json', 'application/json', null])
    const packed = 'Unsupported Media Type: send the body as it is, not compressed'
    expect(await refusal({ 'content-encoding': 'gzip' })).toEqual([packed, null, 'identity'])
  })
})

test('a transport may pass a path and headers of its own', async () => {
  const call: IncomingRequest = { path: '/plain?x', header: name => (name === 'authorization' ? 'no' : null) }
  expect(await seen(pipeline.answer(context(), get('/prefix/plain'), call))).toEqual([401, { error: 'who are you' }])
})

test('faults apply to every step after the route', async () => {
  const faulty = new Pipeline<Context, Scope>({
    operations,
    createScope: ({ backend }) => ({ log: backend.log }),
    clock: () => ({ epochMs: 0, now: 0 }),
  })
  const middleware: Middleware<Context> = ({ operationId: operation }, proceed) =>
    operation === 'plain' ? new Response(null, { status: 503 }) : proceed()
  expect((await faulty.answer(context(), get('/plain'), {}, { middleware })).status).toBe(503)
  expect((await faulty.answer(context(), get('/kept'), {}, { middleware })).status).toBe(200)
  expect((await faulty.answer(context(), get('/nowhere'), {}, { middleware })).status).toBe(404)
  expect(faulty.findOperationId('GET', '/plain')).toBe('plain')
})

test.each([
  ['http://sim', '/'],
  ['http://sim/', '/'],
  ['http://sim/a/b?c=/d', '/a/b?c=/d'],
  ['http://sim:80/a#b', '/a'],
  ['https://user@sim/a?b#c', '/a?b'],
])('path of %s', (url, path) => {
  expect(toPathAndQuery(url)).toBe(path)
})
