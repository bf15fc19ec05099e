/** settles, spendsAtMost, honoursRetryAfter and pollsAtMost: limits of time, money and rate. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HOUR, SECOND } from '../../../../src/kernel/duration.ts'
import { MICROCENTS_PER_USD } from '../../../../src/simulation/account/money.ts'
import type { ClientEnd } from '../../../../src/simulator/judge/observation.ts'
import { forAll } from '../../../setup/for-all.ts'
import { awaitBatch, CHAT_MODEL, call, createBatch, MODEL, onlyWords, upload, violationsOf } from '../../clients.ts'
import { type Client, observe } from '../../observe.ts'

describe('settles', () => {
  test('a client that ends holds it', async () => {
    expect(violationsOf('settles', await observe(context => call(context, 'GET', '/deploy/list')))).toEqual([])
  })

  test('a request that is never answered breaks it', async () => {
    const observation = await observe(context => call(context, 'GET', '/deploy/list'), {
      faults: [{ on: 'listDeployments', fault: { kind: 'hang' } }],
      settings: { settles: 60 * SECOND },
    })
    expect(onlyWords('settles', observation)).toBe(
      'The client did not end within 1m: it waits for request 1. Its last request was request 1 (listDeployments, no ' +
        'answer), sent 0s after its start.',
    )
    expect(violationsOf('settles', observation)[0]!.operation).toBe('listDeployments')
  })

  test('the advice names the limit that ended the client', async () => {
    const observation = await observe(context => call(context, 'GET', '/deploy/list'))
    const wordsOf = (end: ClientEnd) => onlyWords('settles', { ...observation, end })
    const end = { kind: 'unsettled', waitsFor: 'time' } as const
    expect(wordsOf(end)).toContain("allow it, as in invariants: { settles: '4d' }.")
    expect(wordsOf({ ...end, bound: '60s of real time (--command-timeout)' })).not.toContain('allow it')
  })

  test('a client that ends after the bound breaks it', async () => {
    const slow: Client = async context => {
      await call(context, 'GET', '/deploy/list')
      await context.sleep(2 * 3_600_000)
    }
    const observation = await observe(slow, { settings: { settles: 3 * HOUR } })
    expect(violationsOf('settles', observation)).toEqual([])
    expect(onlyWords('settles', { ...observation, settings: { ...observation.settings, settles: HOUR } })).toBe(
      'The client ended after 2h, later than the bound of 1h. Its last request was request 1 (listDeployments, 200), ' +
        'sent 0s after its start.',
    )
  })
})

describe('spendsAtMost', () => {
  const deployFor =
    (hours: number): Client =>
    async context => {
      const { deploy_id } = await call(context, 'POST', '/deploy/llm', MODEL)
      await context.sleep(hours * 3_600_000)
      await call(context, 'DELETE', `/deploy/${deploy_id}`)
    }

  test('without a limit it holds', async () => {
    expect(violationsOf('spendsAtMost', await observe(deployFor(2)))).toEqual([])
  })

  test('the rent of what it created counts until it ended', async () => {
    const observation = await observe(deployFor(2), { settings: { spendsAtMost: 1 } })
    const id = observation.created[0]!.id
    expect(onlyWords('spendsAtMost', observation)).toMatch(
      new RegExp(
        '^The client spent \\$[3-9]\\.\\d\\d in 2h, more than its limit of \\$1\\.00\\. ' +
          `The deployment ${id} \\(deleted\\) cost \\$[3-9]\\.\\d\\d of it\\.$`,
      ),
    )
    expect(violationsOf('spendsAtMost', await observe(deployFor(2), { settings: { spendsAtMost: 50 } }))).toEqual([])
  })

  test('the tokens of its chats count, and those of its batches once', { tags: 'slow' }, async () => {
    const messages = [{ role: 'user', content: 'How is tea made?' }]
    const chat: Client = context => call(context, 'POST', '/v1/chat/completions', { model: CHAT_MODEL, messages })
    const batch: Client = async context =>
      awaitBatch(context, await createBatch(context, await upload(context, ['How is tea made?'])))
    for (const client of [chat, batch]) {
      const { sim, created } = await observe(client)
      const usd = sim.ledger.entries().reduce((sum, { microcents }) => sum - microcents, 0) / MICROCENTS_PER_USD
      expect([usd > 0, created.length]).toEqual([true, client === batch ? 1 : 0])
      const broken = async (spendsAtMost: number) =>
        violationsOf('spendsAtMost', await observe(client, { settings: { spendsAtMost } })).length
      expect([await broken(usd * 0.99), await broken(usd * 1.01)]).toEqual([1, 0])
    }
  })

  test('what a deployment costs after the end of the client does not count', async () => {
    const keep: Client = async context => call(context, 'POST', '/deploy/llm', MODEL)
    const observation = await observe(keep, { settings: { spendsAtMost: 0.01 }, recovery: '5h' })
    expect(observation.created[0]!.microcents).toBeGreaterThan(1e8)
    expect(violationsOf('spendsAtMost', observation)).toEqual([])
  })
})

describe('honoursRetryAfter', () => {
  const retryAfterSeconds =
    (seconds: number): Client =>
    async context => {
      await call(context, 'GET', '/deploy/list').catch(() => undefined)
      await context.sleep(seconds * 1000)
      return call(context, 'GET', '/deploy/list')
    }
  const faults = [{ on: 'listDeployments', nth: 1, fault: { kind: 'rateLimit', retryAfter: '20s' } }] as const

  test('a client that waits as long as asked holds it', async () => {
    expect(violationsOf('honoursRetryAfter', await observe(retryAfterSeconds(20), { faults }))).toEqual([])
  })

  test('a client that comes back earlier breaks it', async () => {
    const observation = await observe(retryAfterSeconds(1), { faults })
    expect(onlyWords('honoursRetryAfter', observation)).toBe(
      'Request 1 (listDeployments, 429) was answered 0s after the start, and asked for a wait of 20s. The client sent ' +
        'request 2 (listDeployments, 200) after 1s.',
    )
  })

  test('a request to another operation may come at once', async () => {
    const client: Client = async context => {
      await call(context, 'GET', '/deploy/list').catch(() => undefined)
      return call(context, 'GET', '/v1/models')
    }
    expect(violationsOf('honoursRetryAfter', await observe(client, { faults }))).toEqual([])
  })
})

describe('pollsAtMost', () => {
  const poll =
    (times: number, everyMs: number): Client =>
    async context => {
      for (let i = 0; i < times; i++) {
        await call(context, 'GET', '/deploy/list')
        await context.sleep(everyMs)
      }
    }

  test.each([
    [100, 1000],
    [3, 0],
  ])('%i reads every %i ms hold it', { tags: 'slow' }, async (times, everyMs) => {
    expect(violationsOf('pollsAtMost', await observe(poll(times, everyMs)))).toEqual([])
  })

  test('reads that go on faster than the limit break it', async () => {
    const observation = await observe(poll(30, 500))
    expect(onlyWords('pollsAtMost', observation)).toBe(
      'The client read /deploy/list 8 times within 3s, from 0s after the start: its limit is 1 a second.',
    )
    expect(violationsOf('pollsAtMost', await observe(poll(30, 500), { settings: { pollsAtMost: 2 } }))).toEqual([])
  })

  test('five reads at once break it', async () => {
    expect(onlyWords('pollsAtMost', await observe(poll(5, 0)))).toContain('5 times within 0s')
  })

  test('reads are counted from 0 after each own write to what they read, and not after other writes', async () => {
    const tokens =
      (isWriter: boolean): Client =>
      async context => {
        const setLimit = () => call(context, 'POST', '/payment/config', { limit: 400 })
        for (const name of ['one', 'two', 'three']) {
          await call(context, 'GET', '/v1/api-tokens')
          const created = await (isWriter ? call(context, 'POST', '/v1/api-tokens', { name }) : setLimit())
          await call(context, 'GET', '/v1/api-tokens')
          await (isWriter ? call(context, 'DELETE', `/v1/api-tokens/${created.token_id}`) : setLimit())
        }
      }
    expect(violationsOf('pollsAtMost', await observe(tokens(true)))).toEqual([])
    expect(onlyWords('pollsAtMost', await observe(tokens(false)))).toContain('5 times within 0s')
  })

  test('of any number of reads, those at the limit hold it, and those at twice the limit break it', async () => {
    const observation = await observe(poll(1, 0))
    const [read] = observation.requests
    const countAt = (reads: number, perSecond: number, pollsAtMost: number) => {
      const requests = Array.from({ length: reads }, (_, i) => ({ ...read!, sentAt: (i / perSecond) * SECOND }))
      const settings = { ...observation.settings, pollsAtMost }
      return violationsOf('pollsAtMost', { ...observation, requests, settings }).length
    }
    forAll([fc.integer({ min: 40, max: 200 }), fc.constantFrom(0.1, 0.5, 1, 2, 10)], (reads, limit) => {
      expect(countAt(reads, limit, limit)).toBe(0)
      expect(countAt(reads, 2 * limit, limit)).toBe(1)
    })
  })
})
