/** The rate limits of the account: shown, enforced, raised by a review. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { FixturePatch } from '../../src/data/records/fixture.ts'
import { createClient } from '../../src/service/client/client.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'
import { issues, refused, SECOND, service } from './service-world.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const DAY = 86_400 * SECOND
const chat = { model: MODEL, messages: [{ role: 'user' as const, content: 'Hello!' }] }

beforeAll(async () => {
  await loadTokenizer()
})

/** A simulator whose clock only the test moves, so that requests stay in flight. */
function held(account: FixturePatch['account'] = {}, profile = {}) {
  const sim = createSimulator({ with: { account }, profile, check: true })
  return Object.assign(sim, { client: createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token }) })
}

type Sim = ReturnType<typeof held>

/** Sends a chat and returns its status, and Retry-After of a refusal. */
async function send(sim: Pick<Sim, 'fetch' | 'token'>): Promise<string> {
  const { status, headers } = await sendTo(sim, 'POST /v1/chat/completions', chat)
  return `${status} ${headers.get('retry-after') ?? ''}`.trim()
}

/** Submits requests that stay in flight. */
function fill(sim: Sim, requests: number): void {
  for (let i = 0; i < requests; i++) {
    const { inferenceRequests } = sim.world
    const token = sim.world.store.tokens.all()[0]!.token_id
    const spec = { prefix: 'chatcmpl-', hash: String(i), promptTokens: 1, answerTokens: 9, longestAnswer: 9 }
    const target = { kind: 'catalog', name: MODEL, model: MODEL, task: 'text-generation', priceShare: 1 }
    inferenceRequests.submit(spec, { model: MODEL, token }, target as never)
  }
}

describe('requests in flight', () => {
  test('are limited to the shown number', async () => {
    const sim = held({ rate_limit: 3 })
    expect(await sim.client.getRateLimits()).toEqual({ rate_limit: 3, tpm_rate_limit: -1 })
    fill(sim, 2)
    expect(await send(sim)).toBe('200')
    fill(sim, 1)
    expect(await send(sim)).toBe('429 1')
  })

  test('default to the limit of the profile', async () => {
    expect((await held().client.getRateLimits()).rate_limit).toBe(200)
    const { rate_limit } = await held({}, { limits: { requests_in_flight: 7 } }).client.getRateLimits()
    expect(rate_limit).toBe(7)
  })
})

test('tokens a minute are limited by model and token until the next minute', async () => {
  const sim = held({ tpm_rate_limit: 25 })
  expect((await sim.client.getRateLimits()).tpm_rate_limit).toBe(25)
  fill(sim, 2)
  expect(await send(sim)).toBe('200')
  expect(await send(sim)).toBe('429 60')
  const fork = sim.fork()
  expect(await send(fork)).toBe('429 60')
  await sim.clock.advance('45s')
  expect(await send(sim)).toBe('429 15')
  await sim.clock.advance('15s')
  expect(await send(sim)).toBe('200')
})

describe('a request for higher rate limits', () => {
  const more = { rate_limit: 400, reason: 'more traffic' }

  test('raises the enforced limit after its review', async () => {
    const sim = held({ rate_limit: 2, tpm_rate_limit: 1000 })
    expect(await sim.client.requestRateLimits({ ...more, rate_limit: 3, tpm_rate_limit: 2000 })).toEqual({})
    fill(sim, 2)
    expect(await send(sim)).toBe('429 1')
    expect((await sim.client.getRateLimits()).rate_limit).toBe(2)
    await sim.clock.advance('2d')
    expect(await sim.client.getRateLimits()).toEqual({ rate_limit: 3, tpm_rate_limit: 2000 })
    fill(sim, 2)
    expect(await send(sim)).toBe('200')
    const kinds = sim.journal.entries().map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(['rateLimit.requested', 'rateLimit.approved']))
  })

  test('is denied above rate_limit_approved_up_to, and by the policy deny', async () => {
    for (const reviews of [{ rate_limit_approved_up_to: 300 }, { limit_policy: 'deny' as const }]) {
      const sim = held({}, { reviews })
      await sim.client.requestRateLimits(more)
      await sim.clock.advance('2d')
      expect((await sim.client.getRateLimits()).rate_limit).toBe(200)
      expect(sim.world.access.rateLimits.isPending).toBe(false)
    }
  })

  test('is decided by a command under the policy manual', { tags: 'slow' }, async () => {
    const sim = held({}, { reviews: { limit_policy: 'manual' } })
    expect(() => sim.cluster.rateLimit.approve()).toThrow(
      "Failed to execute 'rateLimit.approve': no request is pending.",
    )
    await sim.client.requestRateLimits(more)
    await sim.clock.advance('3d')
    sim.cluster.rateLimit.deny()
    expect((await sim.client.getRateLimits()).rate_limit).toBe(200)
    await sim.client.requestRateLimits(more)
    sim.cluster.rateLimit.approve()
    expect((await sim.client.getRateLimits()).rate_limit).toBe(400)
  })

  test('never lowers a limit that a command set meanwhile', { tags: 'slow' }, async () => {
    const sim = held()
    await sim.client.requestRateLimits(more)
    sim.cluster.rateLimit.set(500)
    sim.cluster.rateLimit.setTokens(10)
    await sim.clock.advance('2d')
    expect(await sim.client.getRateLimits()).toEqual({ rate_limit: 500, tpm_rate_limit: 10 })
    sim.cluster.rateLimit.set(null)
    expect((await sim.client.getRateLimits()).rate_limit).toBe(-1)
  })

  test('is 403 while one is pending, and 400 if it raises nothing', async () => {
    const { client, world } = service()
    expect((await refused(client.requestRateLimits({ ...more, rate_limit: 200 })))[0]).toBe(400)
    expect((await refused(client.requestRateLimits({ ...more, rate_limit: 100, tpm_rate_limit: 9 })))[0]).toBe(400)
    expect(await client.requestRateLimits({ ...more, tpm_rate_limit: null })).toEqual({})
    expect((await refused(client.requestRateLimits({ ...more, rate_limit: 800 })))[0]).toBe(403)
    world.runTo(3 * DAY)
    expect((await client.getRateLimits()).rate_limit).toBe(400)
  })

  test('has validated fields', async () => {
    const { client } = service()
    const expected = ['body/rate_limit missing', 'body/reason missing']
    expect(await issues(client.requestRateLimits({} as never))).toEqual(expected)
    expect(await issues(client.requestRateLimits({ ...more, reason: 'x'.repeat(2049) }))).toEqual([
      'body/reason string_too_long',
    ])
    expect(await issues(client.requestRateLimits({ ...more, tpm_rate_limit: 1.5 }))).toEqual([
      'body/tpm_rate_limit int_from_float',
    ])
  })
})
