import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/lib/limits.ts'
import { type RequestExpectation, verifyRequests } from '../../../src/simulator/requests/verify.ts'
import { forAll } from '../../setup/for-all.ts'
import { type Asking, asking, NEW } from './asking.ts'

/** Lists, creates, reads the new deployment twice, and stops it. */
async function deployed(): Promise<Asking & { readonly id: string }> {
  const client = asking()
  const { sim, ask } = client
  await ask('GET', '/deploy/list')
  await ask('POST', '/deploy/llm', NEW)
  const id = sim.requests.at(-1)!.subjects[0]!
  await ask('GET', `/deploy/${id}`)
  await ask('GET', `/deploy/${id}`)
  await ask('POST', `/deploy/${id}/stop`)
  return { ...client, id }
}

test('counts decide: at least one by default, exactly, a range, or none', async () => {
  const { sim } = await deployed()
  const isOk = (expected: RequestExpectation) => verifyRequests(sim, expected).ok
  const GET = { operation: 'getDeployment' }
  expect(isOk(GET)).toBe(true)
  expect([0, 1, 2, 3].map(exactly => isOk({ ...GET, exactly }))).toEqual([false, false, true, false])
  expect([2, 3].map(atLeast => isOk({ ...GET, atLeast }))).toEqual([true, false])
  expect([1, 2].map(atMost => isOk({ ...GET, atMost }))).toEqual([false, true])
  expect(isOk({ ...GET, atLeast: 1, atMost: 2 })).toBe(true)
  expect(isOk({ ...GET, none: true })).toBe(false)
  expect(isOk({ operation: 'deleteDeployment', none: true })).toBe(true)
  expect(isOk({ operation: 'deleteDeployment' })).toBe(false)
})

test('a failure shows the closest requests and what differs, in words', async () => {
  const { sim } = await deployed()
  const expected = { operation: 'createLlmDeployment', status: 200, body: { gpu: 'B200-180GB', hub: { repo: 'a/b' } } }
  const { ok, results, message } = verifyRequests(sim, expected)
  expect(ok).toBe(false)
  const [{ near, found, problem }] = results as [(typeof results)[number]]
  expect([found, problem]).toEqual([0, 'expected at least 1, received 0.'])
  expect(near[0]).toEqual({
    ...{ seq: sim.requests[1]!.seq, operation: 'createLlmDeployment', method: 'POST', path: '/deploy/llm' },
    ...{ status: 200, sentAt: '2026-01-01T00:00:00.000000+00:00' },
    differs: [
      'body.gpu: expected "B200-180GB", received "H100-80GB"',
      'body.hub.repo: expected "a/b", received "acme/chat-8b"',
    ],
  })
  expect(message).toContain(
    'createLlmDeployment with status 200, body {"gpu":"B200-180GB","hub":{"repo":"a/b"}}: expected',
  )
  expect(message).toContain('request 2: POST /deploy/llm → 200\n    body.gpu: expected')
})

test('a near miss never shows a credential of a body', async () => {
  const { sim, ask } = asking()
  await ask('POST', '/deploy/llm', { ...NEW, hub: { repo: 'acme/chat-8b', token: 'hub_secret' } })
  const verification = verifyRequests(sim, { operation: 'createLlmDeployment', body: { hub: { token: 'hub_other' } } })
  expect(verification.ok).toBe(false)
  expect(JSON.stringify(verification)).not.toMatch(/hub_secret|hub_other/)
  expect(verification.message).toContain('body.hub.token: received another value than expected')
})

describe('in an order', () => {
  const ORDER = [
    { operation: 'listDeployments' },
    { operation: 'getDeployment', exactly: 2 },
    { path: '/deploy/*/stop' },
  ]

  test('requests may have others between them', async () => {
    const { sim } = await deployed()
    expect(verifyRequests(sim, ORDER, { inOrder: true })).toMatchObject({ ok: true, message: '' })
  })

  test('a request that came before its turn is said', async () => {
    const { sim } = await deployed()
    const expected = [
      { operation: 'getDeployment' },
      { operation: 'createLlmDeployment' },
      { operation: 'stopDeployment' },
    ]
    const { ok, results } = verifyRequests(sim, expected, { inOrder: true })
    expect(ok).toBe(false)
    expect(results.map(one => one.ok)).toEqual([true, false, false])
    expect(results[1]!.problem).toBe(
      'expected at least 1, received 0 after request 3 (getDeployment), where 1 ended. 1 came before, such as request 2.',
    )
    expect(results[2]!.problem).toContain('not compared')
  })

  test('none has no place', async () => {
    const { sim } = await deployed()
    expect(() => verifyRequests(sim, [{ operation: 'listDeployments', none: true }], { inOrder: true })).toThrow(
      "expectation 1 is 'none', which has no place in an order",
    )
  })

  test('any subsequence of what was sent holds, and no other sequence', async () => {
    const { sim } = await deployed()
    const sent = sim.requests.map(({ operation }) => operation)
    const isSubsequence = (list: readonly string[]) => {
      let at = -1
      return list.every(name => {
        at = sent.indexOf(name, at + 1)
        return at >= 0
      })
    }
    const anyList = fc.array(fc.constantFrom(...new Set(sent), 'deleteDeployment'), { minLength: 1, maxLength: 6 })
    forAll([anyList], list => {
      const { ok } = verifyRequests(
        sim,
        list.map(operation => ({ operation })),
        { inOrder: true },
      )
      expect(ok).toBe(isSubsequence(list))
    })
  })
})

test('the counts of a pattern and of all else add up to all requests', { tags: 'slow' }, async () => {
  const { sim } = await deployed()
  const anyPattern = fc.record(
    {
      operation: fc.constantFrom('getDeployment', 'list*', '*Deployment'),
      method: fc.constantFrom('GET', 'POST'),
      status: fc.constantFrom(200, 404, '2xx', '4xx'),
      path: fc.constantFrom('/deploy/*', '/deploy/list'),
    },
    { requiredKeys: [] },
  )
  forAll([anyPattern], pattern => {
    const expected = pattern as RequestExpectation
    const { found } = verifyRequests(sim, expected).results[0]!
    for (const exactly of [found - 1, found, found + 1].filter(count => count >= 0))
      expect(verifyRequests(sim, { ...expected, exactly }).ok).toBe(exactly === found)
    const { near } = verifyRequests(sim, { ...expected, exactly: found + 1 }).results[0]!
    expect(near.length).toBe(Math.min(3, sim.requests.length - found))
    for (const { differs } of near) expect(differs.length).toBeGreaterThan(0)
  })
})

test('requests that are no longer kept are never taken for missing ones', { tags: 'slow' }, async () => {
  const { sim, ask } = asking()
  await ask('GET', '/deploy/list')
  for (let i = 0; i < LIMITS.requests; i++) await ask('GET', '/v1/voices')
  // Operation and status are counted for as long as the world lives.
  expect(verifyRequests(sim, { operation: 'listDeployments', exactly: 1 }).ok).toBe(true)
  const { ok, message } = verifyRequests(sim, { path: '/deploy/list', none: true })
  expect(ok).toBe(false)
  expect(message).toContain('The 1 oldest requests are no longer kept, so the number is unknown.')
  await sim.clock.advance('1h')
  await ask('GET', '/v1/voices')
  expect(verifyRequests(sim, { path: '/deploy/list', none: true }, { from: '1h' }).ok).toBe(true)
})

const BAD: readonly (readonly [name: string, expected: unknown, options: object, says: string])[] = [
  ['no expectation', [], {}, 'nothing is expected'],
  ['an unknown field', { operation: 'getMe', times: 1 }, {}, "unknown field 'times'"],
  ['an unknown option', { operation: 'getMe' }, { ordered: true }, "unknown option 'ordered'"],
  ['an unknown operation of the second', [{}, { operation: 'getM' }], {}, "expectation 2: unknown operation 'getM'"],
  ['two counts', { exactly: 1, atLeast: 1 }, {}, 'more than one count'],
  ['a negative count', { atLeast: -1 }, {}, 'atLeast is -1'],
  ['an empty range', { atLeast: 3, atMost: 2 }, {}, 'atLeast 3 is more than atMost 2'],
  ['none that is not a boolean', { none: 'yes' }, {}, 'none is "yes"'],
  ['a number', 7, {}, 'expected an object of fields'],
  ['too many', Array.from({ length: 101 }, () => ({})), {}, '101 expectations, and 100 are the most'],
]
test.each(BAD)('%s is refused', (_, expected, options, says) => {
  const { sim } = asking()
  expect(() => verifyRequests(sim, expected as RequestExpectation, options)).toThrow(says)
})
