/** Requests that stay in the process are as `Request` makes them. */

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createInProcessRequest } from '../../src/service/client/in-process-request.ts'
import { forAllAsync } from '../setup/for-all.ts'

const create = (input: URL | string, init?: RequestInit) => new Request(input, init)

/** Everything that a request shows, or the error of its creation. */
async function shown(make: typeof create, input: URL | string, init: RequestInit | undefined, read: string) {
  let request: Request
  try {
    request = make(input, init)
  } catch (error) {
    return (error as Error).constructor.name
  }
  const outcome = (promise: Promise<unknown>) =>
    promise.then(
      value => value,
      (error: Error) => error.constructor.name,
    )
  const { url, method, headers } = request
  const facts = [url, method, [...headers], request.signal.aborted, request.bodyUsed]
  if (read === 'clone') return [facts, request.body === null, await request.clone().text(), await request.text()]
  const reader = read as 'text' | 'json' | 'formData'
  const toValue = (value: unknown) => (value instanceof FormData ? [...value] : value)
  const first = toValue(await outcome(request[reader]()))
  return [
    facts,
    first,
    request.bodyUsed,
    await outcome(request.text()),
    request.body === null,
    await outcome(request.blob()),
  ]
}

const Url = fc.oneof(
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.webUrl().map(url => new URL(url)),
  fc.constantFrom('http://sim/a b/ü?q=ü', 'HTTP://SIM:80/%zz', 'http://[::1]:8080'),
)
const Headers = fc.oneof(
  fc.dictionary(fc.constantFrom('X-One', 'content-type', 'Accept'), fc.constantFrom('a', ' b ', 'é', '')),
  fc.array(fc.tuple(fc.constantFrom('x-one', 'cookie'), fc.constantFrom('1', '2'))),
)
const Body = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('{"a":1}', '\ufeff{}', '\ufeff\ufeff', '\ud800', 'a\udc00', '', 'a=1&b=2'),
)
const Signal = fc.constantFrom(undefined, null, AbortSignal.abort())
const Usual = fc.oneof(
  fc.record(
    { method: fc.constantFrom('GET', 'HEAD', 'DELETE'), headers: Headers, signal: Signal },
    { requiredKeys: [] },
  ),
  fc.record({
    ...{ method: fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'), headers: fc.option(Headers, { nil: undefined }) },
    ...{ body: fc.oneof({ weight: 5, arbitrary: Body }, { weight: 1, arbitrary: fc.constant(null) }), signal: Signal },
  }),
)
const Read = fc.constantFrom('text', 'text', 'json', 'formData', 'clone')

test('a request in the process shows the same as a Request, without creating one', async () => {
  await forAllAsync([Url, fc.option(Usual, { nil: undefined, freq: 9 }), Read], async (url, usual, read) => {
    const init = usual as RequestInit | undefined
    expect(createInProcessRequest(url, init) instanceof Request).toBe(false)
    expect(await shown(createInProcessRequest, url, init, read)).toEqual(await shown(create, url, init, read))
  })
})

test.each<[string, URL | string, object?]>([
  ['a relative address', '/relative'],
  ['no address', ''],
  ['an address with a password', 'http://user:word@sim/'],
  ['a body of a GET', 'http://sim/', { body: 'text' }],
  ['a body of a HEAD', 'http://sim/', { method: 'HEAD', body: 'text' }],
  ['a method in small letters', 'http://sim/', { method: 'post', body: 'text' }],
  ['a forbidden method', 'http://sim/', { method: 'TRACE' }],
  ['an unusual method', 'http://sim/', { method: 'QUERY' }],
  ['an invalid method', 'http://sim/', { method: 'a b' }],
  ['an invalid name of a header', 'http://sim/', { headers: { 'b ad': '1' } }],
  ['an invalid value of a header', 'http://sim/', { headers: { bad: '€' } }],
  ['a form as the body', 'http://sim/', { method: 'POST', body: new URLSearchParams({ a: '1' }) }],
  ['bytes as the body', 'http://sim/', { method: 'POST', body: new Uint8Array([1, 2]) }],
  ['an invalid signal', 'http://sim/', { signal: {} }],
  ['an invalid option', 'http://sim/', { redirect: 'never' }],
])('%s has the outcome of a Request', async (_, url, init) => {
  expect(await shown(createInProcessRequest, url, init as RequestInit, 'text')).toEqual(
    await shown(create, url, init as RequestInit, 'text'),
  )
})

test('a request in the process has the signal that it was given, and one that is never aborted without one', () => {
  const controller = new AbortController()
  const { signal } = createInProcessRequest('http://sim/', { signal: controller.signal })
  controller.abort(new Error('left'))
  expect([signal.aborted, (signal.reason as Error).message]).toEqual([true, 'left'])
  expect(createInProcessRequest('http://sim/').signal.aborted).toBe(false)
})
