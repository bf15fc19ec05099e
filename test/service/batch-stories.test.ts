/** The ways in which a batch ends, through the public API. */
import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { batchLine, rowsOf } from '../setup/batches.ts'

const CATALOG = 'aurora-labs/aurora-8b-instruct'
const ENDPOINT = '/v1/chat/completions'

const line = (custom_id: string, body: object = {}, model = CATALOG) =>
  JSON.stringify(
    batchLine(custom_id, { model, messages: [{ role: 'user', content: `Tell me ${custom_id}.` }], ...body }),
  )
const ids = (count: number) => Array.from({ length: count }, (_, i) => `line-${i}`)

interface OutputLine {
  custom_id: string
  response: { status_code: number; body: { usage: { total_tokens: number } } } | null
  error: { code: string; message: string } | null
}

async function begun(lines: readonly string[], options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'empty', seed: 1, ...options })
  const client = createClient(request => sim.fetch(request), { baseUrl: 'http://sim', token: sim.token })
  const file = await client.uploadFile({ purpose: 'batch', file: lines.join('\n') })
  const { id } = await client.createBatch({ input_file_id: file.id, endpoint: ENDPOINT, completion_window: '24h' })
  const now = () => client.getBatch({ batch_id: id })
  const read = async (file_id: string | null | undefined) =>
    rowsOf<OutputLine>(await client.getFileContent({ file_id: file_id! }))
  return {
    sim,
    now,
    cancel: () => sim.world.batches.get(id)!.cancel(),
    until: (status: string, within = '25h') => sim.clock.until(async () => (await now()).status === status, { within }),
    /** Returns both files. Asserts that each line is in exactly one of them. */
    async files() {
      const { output_file_id, error_file_id } = await now()
      const [output, errors] = [await read(output_file_id), await read(error_file_id)]
      const all = [...output, ...errors].map(one => one.custom_id)
      expect([...all].sort()).toEqual(lines.map(text => JSON.parse(text).custom_id as string).sort())
      return { output, errors }
    },
    charged: () => -sim.ledger.entries().reduce((sum, one) => sum + (one.kind === 'tokens' ? one.microcents : 0), 0),
  }
}

describe('a batch', () => {
  test('completes with failed lines in the error file, and charges only the others', async () => {
    const lines = ids(30).map((id, i) => line(id, i % 3 === 0 ? { stream: true } : {}))
    const here = await begun(lines)
    await here.until('completed')
    expect((await here.now()).request_counts).toEqual({ total: 30, completed: 20, failed: 10 })
    const { output, errors } = await here.files()
    expect(output).toHaveLength(20)
    expect(new Set(errors.map(one => one.error!.code))).toEqual(new Set(['500']))
    const good = await begun(ids(30).flatMap((id, i) => (i % 3 === 0 ? [] : [line(id)])))
    await good.until('completed')
    expect(here.charged()).toBe(good.charged())
  })

  test('expires with the lines that had ended, and charges only these', { tags: 'slow' }, async () => {
    const here = await begun(
      ids(3_000).map(id => line(id)),
      { profile: { timings: { batch_shared_tokens_per_second: 1.75, batch_shared_day_swing: 0 } } },
    )
    await here.sim.clock.advance('23h59m59s')
    const before = (await here.now()).request_counts!
    await here.until('expired', '2s')
    const { expired_at, expires_at, request_counts } = await here.now()
    expect(expired_at).toBe(expires_at)
    expect(request_counts!.completed - before.completed).toBeLessThanOrEqual(1)
    const { output, errors } = await here.files()
    expect(output).toHaveLength(request_counts!.completed)
    expect(new Set(errors.map(one => one.error!.code))).toEqual(new Set(['batch_expired']))
    // All lines except the running one: 24 hours at 1.75 tokens/s, minus the validation.
    const tokens = output.reduce((sum, one) => sum + one.response!.body.usage.total_tokens, 0)
    expect(tokens).toBeLessThanOrEqual(1.75 * 86_400)
    expect(tokens).toBeGreaterThan(1.75 * 86_400 - 400)
    const finished = await begun(output.map(one => line(one.custom_id)))
    await finished.until('completed')
    expect(here.charged()).toBe(finished.charged())
  })

  test('keeps finished lines when it is cancelled; the rest is batch_cancelled', { tags: 'slow' }, async () => {
    const here = await begun(ids(2000).map(id => line(id)))
    await here.sim.clock.advance('15s')
    const { completed } = (await here.now()).request_counts!
    expect(completed).toBeGreaterThan(100)
    expect(here.cancel()).toBe(true)
    expect(await here.now()).toMatchObject({ status: 'cancelling', request_counts: { completed } })
    const charged = here.charged()
    await here.until('cancelled', '1m')
    const { output, errors } = await here.files()
    expect(output).toHaveLength(completed)
    expect(new Set(errors.map(one => one.error!.code))).toEqual(new Set(['batch_cancelled']))
    expect(here.charged()).toBe(charged)
    expect(here.cancel()).toBe(false)
  })

  test('completes when its last lines are done before the cancel takes effect', { tags: 'slow' }, async () => {
    const here = await begun(
      ids(200).map(id => line(id)),
      { profile: { timings: { batch_validation: '2s', batch_finalizing: '5s', batch_shared_shortest: '30s' } } },
    )
    await here.sim.clock.advance('31s')
    expect((await here.now()).request_counts!.completed).toBeLessThan(200)
    expect(here.cancel()).toBe(true)
    const cancelling_at = 1_767_225_600 + 31
    expect(await here.now()).toMatchObject({ status: 'cancelling', cancelling_at })
    await here.until('completed', '1m')
    expect(await here.now()).toMatchObject({
      cancelling_at,
      cancelled_at: null,
      request_counts: { total: 200, completed: 200, failed: 0 },
    })
    const { output } = await here.files()
    const undisturbed = await begun(output.map(one => line(one.custom_id)))
    await undisturbed.until('completed')
    expect(here.charged()).toBe(undisturbed.charged())
  })

  test('progresses line by line and ends equally with and without polling', { tags: 'slow' }, async () => {
    const [polled, alone] = [await begun(ids(200).map(id => line(id))), await begun(ids(200).map(id => line(id)))]
    const seen: number[] = []
    for (let second = 0; second < 120; second++) {
      await polled.sim.clock.advance('1s')
      seen.push((await polled.now()).request_counts?.completed ?? 0)
    }
    await alone.sim.clock.advance('2m')
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    expect(new Set(seen).size).toBeGreaterThan(25)
    expect(await alone.now()).toEqual(await polled.now())
    expect(alone.charged()).toBe(polled.charged())
    expect(alone.sim.digest).toBe(polled.sim.digest)
  })
})

describe('limits of the profile', () => {
  test('the option maxStorageBytes takes precedence over limits.storage_bytes', async () => {
    const upload = (options: SimulatorOptions) => {
      const sim = createSimulator({ fixtures: 'empty', ...options })
      const client = createClient(request => sim.fetch(request), { baseUrl: 'http://sim', token: sim.token })
      return client.uploadFile({ purpose: 'batch', file: 'x'.repeat(2000) })
    }
    const profile = { limits: { storage_bytes: 1000 } }
    await expect(upload({ profile })).rejects.toMatchObject({ status: 413 })
    await expect(upload({ profile, maxStorageBytes: 3000 })).resolves.toMatchObject({ bytes: 2000 })
  })
})
