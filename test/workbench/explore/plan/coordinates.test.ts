import { describe, expect, test } from 'vitest'
import type { ObservedRequest } from '../../../../src/simulator/judge/observation.ts'
import { type CoordinateOptions, coordinatesOf } from '../../../../src/workbench/explore/plan/coordinates.ts'

type Sent = Partial<ObservedRequest> & Pick<ObservedRequest, 'method' | 'path'>

function requests(...sent: readonly Sent[]): ObservedRequest[] {
  return sent.map((request, at) => ({
    ...{
      index: at + 1,
      operation: operationOf(request),
      body: undefined,
      sentAt: at,
      endedAt: at,
      outcome: 'answered',
    },
    ...{ status: 200, retryAfter: undefined, answer: {}, readError: undefined, decidedBy: 'none', fault: undefined },
    ...{ start: 1 },
    ...request,
  }))
}

function operationOf({ method, path }: Sent): string {
  if (path.startsWith('/unknown')) return ''
  return method === 'POST'
    ? 'createLlmDeployment'
    : path.startsWith('/deploy/list')
      ? 'listDeployments'
      : 'getDeployment'
}

const poll = (id: string, status: string): Sent => ({ method: 'GET', path: `/deploy/${id}`, answer: { status } })
const polls = (count: number, id: string, status: string) => Array.from({ length: count }, () => poll(id, status))
const names = (all: readonly ObservedRequest[], options?: CoordinateOptions) =>
  coordinatesOf(all, options).map(({ method, path, nth }) => `${method} ${path} ${nth}`)

describe('coordinates', () => {
  test('count the requests of each operation and path, and ignore the query', () => {
    const all = requests(
      { method: 'POST', path: '/deploy/llm' },
      { method: 'GET', path: '/deploy/list?page=1' },
      poll('a', 'initializing'),
      poll('b', 'initializing'),
      { method: 'GET', path: '/deploy/list?page=2' },
      poll('b', 'running'),
    )
    expect(names(all)).toEqual([
      'POST /deploy/llm 1',
      'GET /deploy/list 1',
      'GET /deploy/a 1',
      'GET /deploy/b 1',
      'GET /deploy/list 2',
      'GET /deploy/b 2',
    ])
    expect(coordinatesOf(all).map(({ nthOfOperation }) => nthOfOperation)).toEqual([1, 1, 1, 2, 2, 3])
  })

  test('keep the first, the second, a middle one and the last of equal polls', () => {
    const all = requests(...polls(9, 'a', 'initializing'), ...polls(2, 'a', 'running'))
    const kept = [1, 2, 5, 9, 10, 11].map(nth => `GET /deploy/a ${nth}`)
    expect(names(all)).toEqual(kept)
    expect(names(all, { exhaustive: true })).toHaveLength(11)
  })

  test('see the status in an answer that the client read as text', () => {
    const read = polls(9, 'a', 'initializing').map(one => ({ ...one, answer: JSON.stringify(one.answer) }))
    expect(names(requests(...read, poll('a', 'running')))).toHaveLength(5)
    const changing = read.map((one, at) => ({ ...one, answer: JSON.stringify({ status: `s${at}` }) }))
    expect(names(requests(...changing))).toHaveLength(9)
  })

  test('keep equal polls of one thing together when polls of another stand between them', () => {
    const all = requests(...polls(6, 'a', 'initializing').flatMap(one => [one, poll('b', 'running')]))
    expect(names(all)).toHaveLength(8)
  })

  test('keep every write, and every poll whose outcome differs', () => {
    const writes = Array.from({ length: 6 }, () => ({ method: 'POST', path: '/deploy/llm' }))
    expect(names(requests(...writes))).toHaveLength(6)
    const failing = polls(6, 'a', 'initializing').map((one, at) =>
      at === 3 ? { ...one, outcome: 'failed' as const } : one,
    )
    expect(names(requests(...failing))).toHaveLength(6)
  })

  test('leave out requests to unknown paths', () => {
    expect(names(requests({ method: 'GET', path: '/unknown' }, poll('a', 'running')))).toEqual(['GET /deploy/a 1'])
  })
})
