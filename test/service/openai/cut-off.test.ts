/** Answers of catalog models when the grace period of the account ends. */
import { expect, test } from 'vitest'
import type { SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'
import { CATALOG } from '../../simulation/batch-world.ts'
import { HELLO, openaiWorld } from './openai-world.ts'

/** Creates a world with a short grace period. Invariants are checked after every event. */
function soonOver(options: SimulatorOptions = {}) {
  return openaiWorld({
    fixtures: 'two-nodes',
    with: {},
    inferencePace: 'clock',
    profile: { extends: 'realistic', policies: { suspension_grace: '100ms' } } as never,
    ...options,
  })
}

const ASK = { model: CATALOG, messages: HELLO, stream: true as const }

/** Reads a stream. Returns its chunks and how it ended. */
async function read(answer: Response): Promise<{ tokens: number; end: string }> {
  let tokens = 0
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      tokens += [...piece.value.matchAll(/"delta":\{"content":"[^"]/g)].length
      if (piece.value.includes('[DONE]')) return { tokens, end: 'done' }
    }
  } catch (error) {
    return { tokens, end: (error as Error).message }
  }
  return { tokens, end: 'over' }
}

test('a stream of a catalog model is cut off at the end of the grace period and charged until then', async () => {
  const one = soonOver()
  const { sim } = one
  const ask = (body: object = ASK) => sendTo(sim, 'POST /v1/chat/completions', body)
  const whole = one.client.chat.completions.create({ model: CATALOG, messages: HELLO }).catch(error => error.status)
  const stream = read(await ask())
  await sim.clock.advance('100ms')
  sim.cluster.account.suspend('overdue-invoices')
  expect((await ask()).status).toBe(402)
  await sim.clock.advance('5m')
  const { tokens, end } = await stream
  expect(end).toBe('terminated')
  expect(tokens).toBeGreaterThan(3)
  expect(await whole).toBe(402)
  expect(one.inferenceKinds()).toEqual(['cutOff', 'cutOff'])
  expect(sim.world.inferenceRequests.inFlightCount).toBe(0)
  const charged = sim.ledger.entries().filter(({ kind }) => kind === 'tokens')
  expect(new Set(charged.map(({ time }) => time))).toEqual(new Set([200_000]))
  // The same request without a stream, in a world with funds.
  const { usage } = await openaiWorld({ fixtures: 'two-nodes', with: {} }).client.chat.completions.create({
    model: CATALOG,
    messages: HELLO,
  })
  expect(usage!.completion_tokens).toBeGreaterThan(tokens + 5)
  const offered = sim.world.store.hardware.get(CATALOG)!.hardware.find(({ type }) => type === 'serverless')!
  const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = (
    offered as unknown as { pricing: Record<string, number> }
  ).pricing as { [price: string]: number }
  const cost = -charged.reduce((sum, { microcents }) => sum + microcents, 0)
  // Jitter moves a token slightly.
  const made = (cost / 2 - usage!.prompt_tokens * input!) / output!
  expect(Math.abs(made - tokens)).toBeLessThanOrEqual(1.1)
})

test('at suspension own instances drain, and answers of catalog models are cut off', async () => {
  const one = soonOver({
    with: { account: { funds_cents: 1 }, deployments: [{ model_name: 'acme/chat' }] } as never,
  })
  const { sim } = one
  const suspendedAt = (journal: typeof sim.journal) =>
    journal.entries().find(({ kind }) => kind === 'account.suspended')?.time
  const twin = sim.fork()
  await twin.clock.until(() => suspendedAt(twin.journal) !== undefined)
  const at = suspendedAt(twin.journal)!
  const ask = (model: string) => sendTo(sim, 'POST /v1/chat/completions', { ...ASK, model })
  await sim.clock.advance(`${at - 100_000}us`)
  const streams = [read(await ask(CATALOG)), read(await ask('acme/chat'))]
  await sim.clock.advance('5m')
  expect((await Promise.all(streams)).map(({ end }) => end)).toEqual(['terminated', 'done'])
  expect(one.inferenceKinds()).toEqual(['cutOff', 'served'])
  expect(sim.ledger.entries().filter(({ kind }) => kind === 'tokens')).toMatchObject([{ time: at + 100_000 }])
  expect(sim.ledger.balance).toBeLessThan(0)
  expect((await ask(CATALOG)).status).toBe(402)
})
