/** The price of one model, at every endpoint that shows it, and in what requests really cost. */
import { expect, test } from 'vitest'
import { GPU_TYPES } from '../../src/data/records/gpu-config.ts'
import { type Client, createClient } from '../../src/service/client/client.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../setup/batches.ts'

const MICROCENTS_PER_CENT = 1e6
/** The ledger has whole micro-cents. */
const PRECISION = 1e-6

interface TokenPrices {
  /** Cents per token. */
  readonly input: number
  readonly output: number
}

function open(fixtures: string): { sim: Simulator; client: Client } {
  const sim = createSimulator({ fixtures, seed: 1, check: true })
  return { sim, client: createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token }) }
}

/** Returns the micro-cents of tokens that the ledger has charged, of one batch or of all subjects. */
function chargedTokens(sim: Simulator, batch?: string): number {
  return -sim.ledger
    .entries()
    .filter(({ kind, subject }) => kind === 'tokens' && (batch === undefined || subject === batch))
    .reduce((sum, { microcents }) => sum + microcents, 0)
}

async function readTokenPrices(client: Client, model: string): Promise<TokenPrices> {
  const { hardware } = await client.getHardware({ model })
  const serverless = hardware.find(one => one.type === 'serverless')
  const pricing = (serverless?.pricing ?? {}) as Record<string, number>
  return {
    input: (pricing.cents_per_million_input_tokens ?? 0) / 1e6,
    output: (pricing.cents_per_million_output_tokens ?? 0) / 1e6,
  }
}

function expectClose(actual: number, expected: number, place: string): void {
  expect(Math.abs(actual - expected), `${place}: ${actual}, expected ${expected}`).toBeLessThanOrEqual(
    PRECISION * Math.max(1, Math.abs(expected)),
  )
}

/** The bundled worlds with a catalog. */
const WORLDS = ['default', 'empty', 'full', 'two-nodes']

test.each(WORLDS)('each model of %s has one price and one creation time at every endpoint', async fixtures => {
  const { sim, client } = open(fixtures)
  const byTime = new Map((await client.listModels()).map(one => [one.model_name, one.pricing]))
  const served = new Map((await client.listServedModels()).data.map(one => [one.id, one]))
  const aggregator = new Map((await client.listAggregatorModels()).data.map(one => [one.id, one]))
  const catalog = await client.listPublicModels()
  expect(catalog.length).toBeGreaterThanOrEqual(10)
  for (const { model_name, pricing } of catalog) {
    const { input, output } = await readTokenPrices(client, model_name)
    const info = await client.getModel({ model_name })
    expect([model_name, info.pricing]).toEqual([model_name, pricing])
    if (pricing.type === 'tokens') {
      expectClose(pricing.cents_per_input_token * 1e6, input * 1e6, `${model_name} input`)
      expectClose(pricing.cents_per_output_token * 1e6, output * 1e6, `${model_name} output`)
    }
    if (pricing.type === 'input_tokens')
      expectClose(pricing.cents_per_input_token * 1e6, input * 1e6, `${model_name} input`)
    const prices = served.get(model_name)?.metadata?.pricing
    if (prices !== undefined && (input > 0 || output > 0)) {
      expectClose(prices.input_tokens!, input * 1e4, `${model_name} in GET /v1/models`)
      expectClose(prices.output_tokens!, output * 1e4, `${model_name} in GET /v1/models`)
    }
    const entry = aggregator.get(model_name)
    if (entry !== undefined) {
      expect(Number(entry.pricing.prompt), model_name).toBeCloseTo(input / 100, 14)
      expect(Number(entry.pricing.completion), model_name).toBeCloseTo(output / 100, 14)
    }
    const created = Date.parse(info.import_time!) / 1000
    if (served.has(model_name)) expect([model_name, served.get(model_name)!.created]).toEqual([model_name, created])
    if (entry !== undefined && info.deprecated === null)
      expect([model_name, entry.created]).toEqual([model_name, created])
    const { hardware } = await client.getHardware({ model: model_name })
    const perMinute = hardware.flatMap(one => (one.type === 'dedicated' ? [one.pricing.cents_per_minute] : []))
    const time = byTime.get(model_name)!
    if (perMinute.length > 0 && pricing.type !== 'time')
      expectClose(time.cents_per_sec * 60, Math.min(...perMinute), model_name)
    const expected = [model_name, info.deprecated === null && perMinute.length > 0]
    expect([model_name, info.is_custom_deployable]).toEqual(expected)
    for (const [nth, one] of hardware.filter(({ type }) => type === 'dedicated').entries()) {
      const [gpus, gpu] = /^(\d+)x(.+)$/.exec(one.id)?.slice(1) ?? []
      if (gpu === undefined) continue
      const cents = sim.world.ledger.meters.priceCentsPerHour(gpu as 'H100-80GB') * Number(gpus)
      expectClose(perMinute[nth]!, cents / 60, `${model_name} on ${one.id}`)
    }
  }
})

test.each(WORLDS)(
  'a chat, an embedding and a batch line of each model of %s cost what its price says',
  async fixtures => {
    const { sim, client } = open(fixtures)
    await client.addFunds({ amount: 10_000_000 })
    const expectedByModel = new Map<string, number>()
    for (const { model_name: model, type, deprecated } of sim.world.store.models.all()) {
      if (deprecated !== null || (type !== 'text-generation' && type !== 'embeddings')) continue
      const { input, output } = await readTokenPrices(client, model)
      const before = chargedTokens(sim)
      const { usage } =
        type === 'embeddings'
          ? await client.createEmbeddings({ model, input: 'A river in spring.' })
          : await client.createChatCompletion({
              model,
              messages: [{ role: 'user', content: 'Hello!' }],
              max_tokens: 20,
            })
      const answered = 'completion_tokens' in usage ? usage.completion_tokens : 0
      const chatCents = usage.prompt_tokens * input + answered * output
      expect(chatCents).toBeGreaterThan(0)
      expectClose((chargedTokens(sim) - before) / MICROCENTS_PER_CENT, chatCents, `${type} of ${model}`)
      let cents = chatCents
      if (type === 'text-generation') {
        const body = { model, messages: [{ role: 'user', content: 'Name a river.' }], max_tokens: 20 }
        const batch = await startBatch(sim, [batchLine('a', body)])
        await sim.clock.until(async () => (await client.getBatch({ batch_id: batch.id })).status === 'completed', {
          within: '25h',
        })
        const { output_file_id } = await client.getBatch({ batch_id: batch.id })
        const row = JSON.parse(await client.getFileContent({ file_id: output_file_id! }))
        const used = row.response.body.usage
        const lineCents = used.estimated_cost * 100
        const full = used.prompt_tokens * input + used.completion_tokens * output
        expectClose(lineCents, full * sim.world.profile.prices.batchShare, `estimated_cost of ${model}`)
        expectClose(chargedTokens(sim, batch.id) / MICROCENTS_PER_CENT, lineCents, `a batch of ${model}`)
        cents += lineCents
      }
      expectedByModel.set(model, cents)
    }
    expect(expectedByModel.size).toBeGreaterThanOrEqual(5)
    const { months } = await client.getUsage({ from: 'current' })
    const items = months.flatMap(month => month.items)
    for (const [model, cents] of expectedByModel) {
      const item = items.find(one => one.model.model_name === model)
      expect([model, item?.cost !== undefined]).toEqual([model, true])
      if (fixtures !== 'default') expect([model, item!.cost]).toEqual([model, Math.floor(cents)])
    }
  },
)

test('the price by time follows the price of GPUs, in each world on its own', async () => {
  const { sim, client } = open('default')
  const other = open('default')
  const model = 'aurora-labs/aurora-70b-instruct'
  const priceOf = async (one: Client) =>
    (await one.listModels()).find(({ model_name }) => model_name === model)!.pricing.cents_per_sec
  const before = await priceOf(client)
  expect(await priceOf(other.client)).toBe(before)
  for (const gpu of GPU_TYPES) {
    if (gpu !== 'other') sim.cluster.price.set(gpu, 2 * sim.world.ledger.meters.priceCentsPerHour(gpu))
  }
  expect(await priceOf(client)).toBeCloseTo(2 * before, 12)
  expect(await priceOf(other.client)).toBe(before)
})
