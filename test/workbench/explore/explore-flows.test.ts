/** Explorations of real clients in real worlds. */
import { expect, test } from 'vitest'
import type { FlowFunction } from '../../../src/workbench/explore/flow.ts'
import { InvariantThrew } from '../../../src/workbench/explore/run/verdict.ts'
import { careful, explore } from './deploying-clients.ts'

test('a flow that uses the real clock or Math.random is refused with the request that differs', async () => {
  let run = 0
  // As with Math.random(), but the numbers surely differ.
  const flow: FlowFunction = ({ fetch, url }) => fetch(`${url}/deploy/${run++}`)
  await expect(explore(flow)).rejects.toThrow(
    'Failed to explore deploys: the flow is not repeatable: request 1 was GET /deploy/0 in the first run and ' +
      'GET /deploy/1 in the second. Use now(), sleep() and the seed instead of the wall clock and Math.random().',
  )
})

test('a flow that never ends is one finding without a fault', async () => {
  const flow: FlowFunction = async ({ sleep }) => {
    for (;;) await sleep(3_600_000)
  }
  const report = await explore(flow)
  expect(report).toMatchObject({ runs: 2, stoppedBecause: 'unsettled' })
  expect(report.findings).toMatchObject([{ invariant: 'settles', plan: [], stage: 'base' }])
})

test('a flow that throws at once is refused with its error', async () => {
  const flow: FlowFunction = () => {
    throw new TypeError('no token')
  }
  await expect(explore(flow)).rejects.toThrow(
    'Failed to explore deploys: it throws in a run without faults: TypeError: no token. Correct the flow, its fixtures or its seed.',
  )
})

test('a flow that gets only errors without faults has a note that says so', async () => {
  const withToken =
    (own?: string): FlowFunction =>
    async ({ fetch, url, token }) =>
      (await fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${own ?? token}` } })).text()
  const options = { faults: 'singles', classes: ['status503'] } as const
  expect((await explore(withToken('expired'), options)).notes).toEqual([
    'Without faults, the client got only errors (401), so little of it was explored. Check its token, its paths and its fixtures.',
  ])
  expect((await explore(withToken(), options)).notes).toEqual([])
})

test('a flow whose request leaves the world gets an error that says how to send it', async () => {
  const flow: FlowFunction = () => {
    const cause = Object.assign(new Error('getaddrinfo ENOTFOUND sim'), { code: 'ENOTFOUND', hostname: 'sim' })
    throw new TypeError('fetch failed', { cause })
  }
  await expect(explore(flow)).rejects.toThrow(
    'fetch failed. A request has left the world, because it was not sent with the fetch of the flow. Send it with that fetch',
  )
})

test('an invariant that throws is an error of the user, in the base run and later', async () => {
  const odd = (requests: number) => ({
    invariants: {
      odd: ({ requests: { length } }: { requests: { length: number } }) => {
        if (length >= requests) throw new Error('odd')
        return undefined
      },
    },
  })
  const words = "Failed to check the invariant 'odd': it threw Error: odd."
  await expect(explore(careful, {}, odd(1))).rejects.toThrow(words)
  await expect(explore(careful, {}, odd(13))).rejects.toThrow(InvariantThrew)
})
