import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/lib/limits.ts'
import { findRequests, type RequestFilter } from '../../../src/simulator/requests/find.ts'
import { type Asking, asking, NEW } from './asking.ts'

/** Four requests, 10 minutes apart: a list, a create, a read of an unknown thing, and one without a valid token. */
async function played(): Promise<Asking & { readonly id: string }> {
  const client = asking()
  const { sim, ask } = client
  await ask('GET', '/deploy/list?page=2')
  await sim.clock.advance('10m')
  await ask('POST', '/deploy/llm', NEW)
  const id = sim.requests.at(-1)!.subjects[0]!
  await sim.clock.advance('10m')
  await ask('GET', '/deploy/missing')
  await sim.clock.advance('10m')
  await ask('GET', `/deploy/${id}`, undefined, 'wrong')
  return { ...client, id }
}

test('a filter selects requests by each of its fields', async () => {
  const { sim, id } = await played()
  const numbers = (filter: RequestFilter) =>
    findRequests(sim, filter).requests.map(request => sim.requests.findIndex(({ seq }) => seq === request.seq))
  const { token_id, name } = sim.world.store.tokens.all()[0]!
  expect(numbers({})).toEqual([0, 1, 2, 3])
  expect(numbers({ operation: 'create*' })).toEqual([1])
  expect(numbers({ operation: ['listDeployments', 'getDeployment'] })).toEqual([0, 2, 3])
  expect(numbers({ method: 'post' })).toEqual([1])
  expect(numbers({ path: '/deploy/list' })).toEqual([0])
  expect(numbers({ path: '/deploy/list?page=1' })).toEqual([])
  expect(numbers({ status: '4xx' })).toEqual([2, 3])
  expect(numbers({ status: [200, 401] })).toEqual([0, 1, 3])
  expect(numbers({ decidedBy: 'state' })).toEqual([2])
  expect(numbers({ token: token_id })).toEqual([0, 1, 2])
  expect(numbers({ token: name })).toEqual([0, 1, 2])
  expect(numbers({ token: '' })).toEqual([3])
  expect(numbers({ subject: id })).toEqual([1, 3])
  expect(numbers({ body: { hub: { repo: 'acme/chat-8b' } } })).toEqual([1])
  expect(numbers({ from: '10m', to: '2026-01-01T00:20:00Z' })).toEqual([1, 2])
  expect(numbers({ from: new Date('2026-01-01T00:20:00Z') })).toEqual([2, 3])
  expect(numbers({ to: '1767225600' })).toEqual([0])
  expect(numbers({ from: 600_000_000, limit: 1 })).toEqual([1])
  expect(numbers({ after: sim.requests[1]!.seq })).toEqual([2, 3])
  expect(findRequests(sim, { limit: 1 })).toMatchObject({ matched: 4, dropped: 0 })
})

test('a log that is full says how many requests it dropped', { tags: 'slow' }, async () => {
  const { sim, ask } = asking()
  for (let i = 0; i < LIMITS.requests + 7; i++) await ask('GET', '/v1/voices')
  expect(findRequests(sim)).toMatchObject({ matched: LIMITS.requests, dropped: 7 })
  sim.reset()
  expect(findRequests(sim)).toEqual({ requests: [], matched: 0, dropped: 0 })
})

describe('an invalid filter', () => {
  const BAD: readonly (readonly [name: string, filter: object, says: string])[] = [
    ['field', { operaton: 'x' }, "unknown field 'operaton'. Did you mean 'operation'?"],
    ['operation', { operation: 'getDeploymnt' }, "unknown operation 'getDeploymnt'. Did you mean 'getDeployment'?"],
    ['empty list of operations', { operation: [] }, 'operation is an empty list. Give at least one item'],
    ['empty list of statuses', { status: [] }, 'status is an empty list.'],
    ['empty list of deciders', { decidedBy: [] }, 'decidedBy is an empty list.'],
    ['method', { method: 'psot' }, 'unknown method "PSOT". Did you mean \'POST\'?'],
    ['path', { path: 'deploy/list' }, 'invalid path "deploy/list". Give one that begins with a slash, or with *.'],
    ['pattern', { operation: 'zzz*' }, "unknown operation 'zzz*'"],
    ['status', { status: '6xx' }, 'invalid status "6xx". Give one as in 429'],
    ['number of a status', { status: 42 }, 'invalid status 42'],
    ['decider', { decidedBy: 'falt' }, 'unknown decidedBy "falt". Did you mean \'fault\'?'],
    ['token', { token: 'defautl' }, 'unknown token "defautl". Did you mean'],
    ['time', { from: 'yesterday' }, 'invalid time "yesterday" in \'from\'. Give ISO 8601'],
    ['day', { to: '2026-02-30T00:00:00Z' }, 'invalid time'],
    ['date', { to: new Date('x') }, 'invalid time'],
    ['window', { from: '2h', to: '1h' }, 'ends before it begins'],
    ['limit', { limit: -1 }, 'limit is -1. Give a whole number from 0.'],
    ['position', { after: 1.5 }, 'after is 1.5'],
    ['method', { method: 7 }, 'method is 7. Give a text.'],
  ]
  test.each(BAD)('%s is refused with what helps', (_, filter, says) => {
    const { sim } = asking()
    expect(() => findRequests(sim, filter)).toThrow(`Failed to list requests: `)
    expect(() => findRequests(sim, filter)).toThrow(says)
  })

  test('secret in place of a token is refused, and not repeated', () => {
    const { sim } = asking()
    const thrown = (() => {
      try {
        findRequests(sim, { token: sim.token })
      } catch (error) {
        return String(error)
      }
    })()
    expect(thrown).toContain('the token is given by its secret. Give its id or its name')
    expect(thrown).not.toContain(sim.token)
  })
})
