import { expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../setup/batches.ts'
import { askTo } from '../setup/send-to.ts'

const MODEL = 'aurora-labs/aurora-70b-instruct'

const ask = (sim: Simulator, path: string, body?: unknown) =>
  askTo(sim, `${body === undefined ? 'GET' : 'POST'} ${path}`, body)

/** Returns what each list of the catalog says about the model. */
async function listings(sim: Simulator) {
  const find = (list: { model_name?: string; id?: string }[]) =>
    // biome-ignore lint/suspicious/noExplicitAny: the records of many operations
    list.find(one => (one.model_name ?? one.id) === MODEL) as any
  return {
    deployable: find((await ask(sim, '/models/deployment/list')).body),
    listed: find((await ask(sim, '/models/list')).body),
    info: (await ask(sim, `/models/${MODEL}`)).body,
    served: find((await ask(sim, '/v1/models')).body.data),
    aggregator: find((await ask(sim, '/aggregator/models')).body.data),
    hardware: (await ask(sim, `/v2/hardware?model=${MODEL}`)).body.hardware,
  }
}

const chat = (sim: Simulator, model = MODEL) =>
  ask(sim, '/v1/chat/completions', { model, max_tokens: 5, messages: [{ role: 'user', content: 'Hi.' }] })

test('a model with a date of deprecation shows it at once and is refused from that date on', async () => {
  const sim = createSimulator({ check: true, clock: 'on-poll' })
  sim.cluster.model.deprecate(MODEL, '10d')
  const date = sim.world.clock.unix() + 10 * 86_400
  const before = await listings(sim)
  expect([before.deployable.deprecated, before.listed.deprecated, before.info.deprecated]).toEqual([date, date, date])
  expect(before.aggregator.deprecation_date).toBe(new Date(date * 1000).toISOString().slice(0, 10))
  expect(before.served.id).toBe(MODEL)
  expect((await chat(sim)).status).toBe(200)

  await sim.clock.advance('10d')
  expect((await chat(sim)).status).toBe(404)
  const after = await listings(sim)
  expect(after.served).toBeUndefined()
  const names = (await ask(sim, '/models/list')).body.map((one: { model_name: string }) => one.model_name)
  expect(names.indexOf(MODEL)).toBeGreaterThan(names.indexOf('acornworks/acorn-pii-tagger'))
  const deploy = { model_name: 'acme/late', gpu: 'H100-80GB', num_gpus: 2, base_model: MODEL }
  expect((await ask(sim, '/deploy/llm', deploy)).status).toBe(404)

  sim.cluster.model.restore(MODEL)
  expect((await chat(sim)).status).toBe(200)
  expect((await listings(sim)).aggregator.deprecation_date).toBe('')
})

test('a batch finishes on a model that is deprecated while it runs', { tags: 'slow' }, async () => {
  const sim = createSimulator({ check: true })
  const body = { model: MODEL, max_tokens: 800, messages: [{ role: 'user', content: 'Hi.' }] }
  const lines = Array.from({ length: 2000 }, (_, nth) => batchLine(`${nth}`, body))
  const { id } = await startBatch(sim, lines)
  const status = async () => (await ask(sim, `/v1/batches/${id}`)).body.status
  while ((await status()) !== 'in_progress') await sim.clock.advance('5s')
  const undisturbed = sim.fork()
  await sim.clock.advance('2s')
  expect(await status()).toBe('in_progress')
  sim.cluster.model.deprecate(MODEL)
  for (const one of [sim, undisturbed]) await one.clock.advance('1d')
  expect(await status()).toBe('completed')
  const charged = (one: Simulator) => one.ledger.entries().filter(({ subject }) => subject === id)
  expect(charged(sim).length).toBeGreaterThan(1)
  expect(charged(sim)).toEqual(charged(undisturbed))
})

test('a new version is the newest one, with the time of its addition', async () => {
  const sim = createSimulator({ check: true, clock: 'on-poll' })
  const versions = async () => (await ask(sim, `/models/${MODEL}/versions`)).body
  const old = await versions()
  await sim.clock.advance('3h')
  sim.cluster.model.addVersion(MODEL)
  const [added, ...rest] = (await versions()).reverse()
  expect(rest).toHaveLength(old.length)
  expect(added).toMatchObject({ uploaded_at: sim.world.clock.iso() })
  expect(added.version).toMatch(/^[0-9a-f]{64}$/)
  expect((await ask(sim, `/models/${MODEL}`)).body.version).toBe(added.version)
  expect((await chat(sim, `${MODEL}:${added.version}`)).status).toBe(200)
})

test('a changed price is the same in every list, and new requests pay it', async () => {
  const sim = createSimulator({ check: true, clock: 'on-poll' })
  const cost = async () => {
    const { usage } = (await chat(sim)).body
    await sim.clock.advance('1m')
    const { microcents } = sim.ledger.entries().findLast(({ subject }) => subject === MODEL)!
    return { prompt: usage.prompt_tokens, answer: usage.completion_tokens, microcents: -microcents }
  }
  const first = await cost()
  sim.world.commands.schedule({ verb: 'model.setInputPrice', target: MODEL, args: { cents: 46.5 } })
  sim.cluster.model.setOutputPrice(MODEL, 100)
  const { deployable, listed, info, served, aggregator, hardware } = await listings(sim)
  const pricing = { type: 'tokens', cents_per_input_token: 0.0000465, cents_per_output_token: 0.0001 }
  expect([listed.pricing, info.pricing]).toMatchObject([pricing, pricing])
  expect(listed.pricing.short).toBe('$0.465 in, $1.00 out / 1M tokens')
  expect(deployable.pricing.type).toBe('time')
  expect(served.metadata.pricing).toMatchObject({ input_tokens: 0.465, output_tokens: 1 })
  const expected = { prompt: '0.000000465', completion: '0.000001', input_cache_read: '0.00000011625' }
  expect(aggregator.pricing).toEqual(expected)
  expect(hardware[0].pricing).toEqual({
    cents_per_million_input_tokens: 46.5,
    cents_per_million_output_tokens: 100,
  })
  const second = await cost()
  expect(first.microcents).toBe(first.prompt * 23 + first.answer * 40)
  expect(second.microcents).toBe(Math.floor(second.prompt * 46.5) + second.answer * 100)
})

test.each([
  [{ verb: 'model.deprecate', target: 'aurora-labs/aurora-70b' }, `Did you mean '${MODEL}'?`],
  [{ verb: 'model.setOutputPrice', target: 'aurora-labs/aurora-embed-large', args: { cents: 1 } }, 'has no such price'],
  [{ verb: 'model.setInputPrice', target: 'inkfold/canvas-fast', args: { cents: 1 } }, 'has no such price'],
  [{ verb: 'model.setInputPrice', target: MODEL, args: { cents: -1 } }, 'Give cents per million tokens'],
])('the command %j is refused and changes nothing', (command, message) => {
  const sim = createSimulator()
  const { digest } = sim
  expect(() => sim.world.commands.schedule(command)).toThrow(message)
  expect(sim.digest).toBe(digest)
})
