/** A week of each weather: what happens in the world and on the wire is what the name of the pack says. */
import { expect, test } from 'vitest'
import { createClient } from '../../../src/service/client/client.ts'
import { Refusal } from '../../../src/service/client/refusal.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'

const PACKS = ['calm', 'office-day', 'launch-day', 'bad-week', 'provider-incident', 'payment-trouble'] as const
type Pack = (typeof PACKS)[number]

const model = 'aurora-labs/aurora-8b-instruct'
const url = '/v1/completions'
const file = JSON.stringify({ custom_id: 'q', method: 'POST', url, body: { model, prompt: 'Tea.', max_tokens: 20 } })
const account = { funds_cents: 5000, topup: { amount: 2000, threshold: 1000, enabled: true } }

/** A week of a client that polls every ten minutes and sends a batch every three hours, and what became of it all. */
async function week(weather: Pack) {
  const patch = { account, deployments: [{ model_name: 'acme/chat' }] }
  const sim = createSimulator({ fixtures: 'empty', weather, seed: 3, journalLimit: 1_000_000, with: patch })
  // Only this loop moves time for late answers.
  const patient = async (request: Request) => {
    let answer: Response | undefined
    await sim.clock.until(async () => {
      answer = await sim.fetch(request)
      return true
    })
    return answer!
  }
  const api = createClient(patient, { baseUrl: 'http://sim', token: sim.token })
  const outcomes = new Map<string, number>()
  const call = async <T>(what: Promise<T>): Promise<T | undefined> => {
    try {
      return await what
    } catch (error) {
      const outcome = error instanceof Refusal ? String(error.status) : 'broken'
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      return undefined
    }
  }
  for (let poll = 0; poll < 7 * 24 * 6; poll++) {
    if (poll % 18 === 0) {
      const upload = await call(api.uploadFile({ purpose: 'batch', file }))
      if (upload) await call(api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' }))
    }
    await call(api.listDeployments())
    await sim.clock.advance('10m')
  }
  await sim.clock.advance('25h')
  const counts = new Map<string, number>()
  for (const { kind } of sim.journal.entries()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return {
    digest: sim.digest,
    refused: (outcome: string) => outcomes.get(outcome) ?? 0,
    happened: (...kinds: string[]) => kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0),
  }
}

/** The first week of each pack. Every test may read it. */
const firstWeeks = new Map<Pack, ReturnType<typeof week>>()

function firstWeek(pack: Pack): ReturnType<typeof week> {
  const first = firstWeeks.get(pack) ?? week(pack)
  firstWeeks.set(pack, first)
  return first
}

type Week = Awaited<ReturnType<typeof week>>
const hardware = ({ happened }: Week) => happened('node.crashed', 'gpu.failed', 'node.drained', 'node.degraded')
const wire = ({ refused }: Week) => refused('503') + refused('429') + refused('broken')

/** What holds of a week of each; 1,008 polls, 56 batches, and the money for 18 top-ups. */
const SAYS: Record<Pack, (week: Week) => Record<string, boolean>> = {
  calm: week => ({
    'the hardware holds': hardware(week) <= 1,
    'the wire holds': wire(week) === 0,
    'money comes': week.happened('topup.declined', 'account.suspended') === 0,
    'batches complete': week.happened('batch.completed') === 56 && week.happened('batch.expired') === 0,
  }),
  'office-day': week => ({
    'a request in a hundred is 429': week.refused('429') > 2 && week.refused('429') < 30,
    'few errors': week.refused('503') < 10,
    'nearly all batches complete': week.happened('batch.expired') === 0,
  }),
  'launch-day': week => ({
    'GPUs are out of stock': week.happened('pool.stockedOut') >= 10,
    'nodes are slow in coming': week.happened('provisioning.slowed') >= 3,
    'the hub is slow': week.happened('hub.throttled') >= 3,
    'a request in ten is 429': week.refused('429') > 60 && week.refused('429') < 200,
  }),
  'bad-week': week => ({
    'the hardware fails': hardware(week) >= 6,
    'the money comes': week.happened('topup.charged') >= 10,
    'no 429': week.refused('429') === 0,
  }),
  'provider-incident': week => ({
    'batches expire': week.happened('batch.expired') >= 20,
    '5 % of requests are 503': week.refused('503') > 25 && week.refused('503') < 100,
    'the autoscaler freezes': week.happened('autoscaler.frozen') >= 2,
  }),
  'payment-trouble': week => ({
    'top-ups are declined': week.happened('topup.declined') >= 3,
    'the wire holds': wire(week) === week.refused('402'),
  }),
}

test.each(PACKS)('a week of %s is what its name says', async pack => {
  const one = await firstWeek(pack)
  const said = SAYS[pack](one)
  expect(said).toEqual(Object.fromEntries(Object.keys(said).map(what => [what, true])))
})

test('a week of bad weather has the same digest each time', async () => {
  const one = await firstWeek('bad-week')
  expect((await week('bad-week')).digest).toBe(one.digest)
})
