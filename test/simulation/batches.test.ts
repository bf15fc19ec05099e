import { describe, expect, test } from 'vitest'
import { Chance } from '../../src/kernel/random.ts'
import { countTokens } from '../../src/service/openai/tokenizer.ts'
import { decodeLines } from '../../src/simulation/batches/files.ts'
import { answerKey, drawAnswerLength, generateText } from '../../src/simulation/inference/text-generator.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { batchOf, CATALOG, chat, linesIn, many } from './batch-world.ts'
import { pass, passUntil, spec, stage, story } from './small-world.ts'

/** The sum of all postings, in micro-cents. */
function charged(sim: Simulator): number {
  return sim.ledger.entries().reduce((sum, entry) => sum + entry.microcents, 0)
}

describe('a batch', () => {
  test('counts usage by the tokenizer: the tokens of an answer are those of its text', () => {
    const sim = stage()
    const batch = batchOf(sim, many(50))
    passUntil(sim, () => batch.status === 'completed')
    for (const line of linesIn(sim, batch.toRecord().output_file_id)) {
      const { usage, choices } = line.response!.body
      expect(usage.completion_tokens).toBe(countTokens(choices[0]!.message.content))
      expect(usage.prompt_tokens).toBe(3 + 3 + 1 + countTokens(`Question ${line.custom_id.slice(5)}`))
      expect(usage.total_tokens).toBe(usage.prompt_tokens! + usage.completion_tokens!)
    }
  })

  test('cuts answers at max_tokens and says so', () => {
    const sim = stage()
    const batch = batchOf(sim, many(20, { body: { max_tokens: 5 } }))
    passUntil(sim, () => batch.status === 'completed')
    for (const line of linesIn(sim, batch.toRecord().output_file_id)) {
      expect(line.response!.body.usage.completion_tokens).toBe(5)
      expect(line.response!.body.choices[0]!.finish_reason).toBe('length')
    }
    const uncut = batchOf(sim, many(20))
    passUntil(sim, () => uncut.status === 'completed')
    const said = (one: typeof batch) =>
      Object.fromEntries(
        linesIn(sim, one.toRecord().output_file_id).map(line => [
          line.custom_id,
          line.response!.body.choices[0]!.message.content,
        ]),
      )
    const cutTexts = said(batch)
    for (const [id, text] of Object.entries(said(uncut))) expect(text.startsWith(cutTexts[id]!)).toBe(true)
  })

  test.each([
    ['invalid_json', [chat(0), '{"custom_id": '], 1],
    ['invalid_json', ['[1, 2]'], 0],
    ['invalid_line', [chat(0), chat(1), chat(2, { line: { url: '/v1/embeddings' } })], 2],
    ['invalid_line', [chat(0, { line: { method: 'GET' } })], 0],
    ['invalid_line', [chat(0, { line: { custom_id: 7 } })], 0],
    ['invalid_line', [chat(0, { line: { body: null } })], 0],
    ['invalid_line', [chat(0, { body: { model: null } })], 0],
    ['duplicate_custom_id', [chat(0), chat(1), chat(0)], 2],
    ['model_mismatch', [chat(0), chat(1, { model: 'acme/other' })], 1],
    ['invalid_line', [chat(0), chat(1, { body: { messages: [] } })], 1],
    ['invalid_line', [chat(0), chat(1, { body: { max_tokens: -1 } })], 1],
    ['unknown_model', [chat(0, { model: 'unknown/nothing' })], null],
    ['invalid_json', [], null],
    ['invalid_json', ['', '  '], null],
  ] as const)('fails its validation with %s', { tags: 'slow' }, (code, lines, line) => {
    const sim = stage()
    const batch = batchOf(sim, lines)
    pass(sim, '5s')
    const record = batch.toRecord()
    expect(record).toMatchObject({ status: 'failed', request_counts: null, output_file_id: null, error_file_id: null })
    expect(record.errors!.object).toBe('list')
    expect(record.errors!.data[0]).toMatchObject({ code, line, message: expect.any(String) })
    expect(Object.keys(record.errors!.data[0]!)).toEqual(expect.arrayContaining(['code', 'line', 'message', 'param']))
    expect(record.failed_at).not.toBeNull()
  })

  test('reports every broken line', () => {
    const sim = stage()
    const batch = batchOf(sim, ['{', chat(1), 'x', chat(1)])
    pass(sim, '5s')
    expect(batch.toRecord().errors!.data.map(error => [error.line, error.code])).toEqual([
      [0, 'invalid_json'],
      [2, 'invalid_json'],
      [3, 'duplicate_custom_id'],
    ])
  })
})

describe('a batch on an own deployment', () => {
  test('runs at the speed of its instances and costs no tokens', () => {
    const sim = stage()
    const own = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => own.status === 'running')
    const batch = batchOf(sim, many(200, { model: 'acme/chat' }))
    passUntil(sim, () => batch.status === 'completed', '5m')
    expect(sim.ledger.entries().filter(entry => entry.kind === 'tokens')).toEqual([])
  })

  test('waits while nothing runs, goes on when something does, and keeps what was done', { tags: 'slow' }, () => {
    const sim = stage([{ gpu: 'L4-24GB', gpus: 1 }])
    const own = sim.world.deployments.createLlm(spec({ gpu: 'L4-24GB', max_batch_size: 8 }))
    passUntil(sim, () => own.status === 'running')
    const batch = batchOf(sim, many(800, { model: `deploy_id:${own.deploy_id}` }))
    passUntil(sim, () => (batch.toRecord().request_counts?.completed ?? 0) > 200)
    const { completed } = batch.toRecord().request_counts!
    own.stop()
    // The lines stand still when the drain begins, and none runs again.
    passUntil(sim, () => sim.journal.entries().some(({ kind }) => kind === 'instance.gone'), '1m')
    expect(batch.toRecord().request_counts).toMatchObject({ completed })
    pass(sim, '3h')
    expect(batch.toRecord()).toMatchObject({ status: 'in_progress', request_counts: { completed } })
    expect(sim.journal.entries().map(({ kind }) => kind)).not.toContain('batch.linesRetried')
    own.start()
    passUntil(sim, () => batch.status === 'completed', '10h')
    expect(linesIn(sim, batch.toRecord().output_file_id)).toHaveLength(800)
  })

  test('expires by command with what was done, and its window then ended at that time', async () => {
    const sim = stage([{ gpu: 'L4-24GB', gpus: 1 }])
    const batch = batchOf(
      sim,
      Array.from({ length: 40 }, (_, i) => chat(i)),
    )
    expect(() => sim.cluster.batch('batch_0').expire()).toThrow(
      "Failed to find the batch 'batch_0': its id is unknown.",
    )
    passUntil(sim, () => (batch.toRecord().request_counts?.completed ?? 0) > 5, '2h')
    const done = batch.toRecord().request_counts!.completed
    const { digest } = sim
    expect(() => sim.cluster.batch('').expire()).toThrow('target is missing. Give a batch')
    expect(sim.digest).toBe(digest)
    sim.cluster.batch(batch.id).expire()
    const record = batch.toRecord()
    expect(record).toMatchObject({
      status: 'expired',
      expires_at: record.expired_at,
      in_progress_at: expect.any(Number),
    })
    expect(linesIn(sim, record.output_file_id)).toHaveLength(done)
    expect(linesIn(sim, record.error_file_id).map(({ error }) => error!.code)).toEqual(
      Array.from({ length: 40 - done }, () => 'batch_expired'),
    )
    expect(() => sim.cluster.batch(batch.id).expire()).toThrow(
      `Failed to expire the batch '${batch.id}': it is expired. Only a batch that is validating or in_progress ends early.`,
    )
    await sim.clock.advance('30h')
    expect(batch.toRecord()).toEqual(record)
  })
})

describe('work that meets the rest of the world', () => {
  test('keeps a deployment with min_instances 0 awake until it is over, and wakes it again', () => {
    const sim = stage([{ gpu: 'L4-24GB', gpus: 1 }])
    const own = sim.world.deployments.createLlm(spec({ gpu: 'L4-24GB', max_batch_size: 8, min_instances: 0 }))
    passUntil(sim, () => own.status === 'running')
    const batch = batchOf(sim, many(500, { model: 'acme/chat' }))
    passUntil(sim, () => batch.status === 'completed', '3h')
    expect(own.toRecord().instances.running).toBe(1)
    pass(sim, '6m')
    expect(own.toRecord()).toMatchObject({ status: 'running', instances: { running: 0, pending: 0 } })
    const second = batchOf(sim, many(10, { model: 'acme/chat' }))
    passUntil(sim, () => second.status === 'completed', '30m')
    expect(story(sim, own.deploy_id)).toContain('deployment.woken')
  })

  test('shares a deployment evenly: two batches at once take as long as one after the other', { tags: 'slow' }, () => {
    const took = (batches: number) => {
      const sim = stage([{ gpu: 'L4-24GB', gpus: 1 }])
      const own = sim.world.deployments.createLlm(spec({ gpu: 'L4-24GB', max_batch_size: 8 }))
      passUntil(sim, () => own.status === 'running')
      const all = Array.from({ length: batches }, () => batchOf(sim, many(500, { model: 'acme/chat' })))
      passUntil(sim, () => all.every(one => one.status === 'in_progress'))
      return passUntil(sim, () => all.every(one => one.status === 'finalizing'), '10h')
    }
    expect(took(2) / took(1)).toBeCloseTo(2, 2)
  })

  test('on an adapter waits until the adapter is loaded, and while it is stopped', { tags: 'slow' }, () => {
    const sim = stage()
    const tone = sim.world.loraAdapters.create({
      model_name: 'acme/tone',
      base_model: CATALOG,
      modelhub_url: 'https://hub.example/tone',
      private: true,
      description: '',
    })
    const batch = batchOf(sim, many(500, { model: 'acme/tone' }))
    pass(sim, '9s')
    expect(batch.toRecord().request_counts).toEqual({ total: 500, completed: 0, failed: 0 })
    passUntil(sim, () => batch.toRecord().request_counts!.completed > 50)
    tone.stop()
    const { completed } = batch.toRecord().request_counts!
    pass(sim, '1h')
    expect(batch.toRecord().request_counts!.completed).toBe(completed)
    tone.start()
    passUntil(sim, () => batch.status === 'completed')
  })

  test('is charged at the price in force when its lines were over', () => {
    const sim = stage()
    const batch = batchOf(sim, many(1000))
    passUntil(sim, () => batch.toRecord().request_counts?.completed === 500)
    const half = charged(sim)
    sim.cluster.model.setInputPrice(CATALOG, 0)
    sim.cluster.model.setOutputPrice(CATALOG, 0)
    passUntil(sim, () => batch.status === 'completed')
    expect(half).toBeLessThan(0)
    expect(charged(sim)).toBe(half)
  })

  test('keeps the old price of the lines that were over when the price changed, counted or not', () => {
    const sim = stage()
    const batch = batchOf(sim, many(1000))
    passUntil(sim, () => batch.toRecord().request_counts?.completed === 300)
    // In the middle of a step, some lines are over that no journal entry has counted.
    const counted = charged(sim)
    pass(sim, '300ms')
    const cancelled = sim.fork()
    cancelled.world.batches.get(batch.id)!.cancel()
    sim.cluster.model.setInputPrice(CATALOG, 0)
    sim.cluster.model.setOutputPrice(CATALOG, 0)
    expect(charged(sim)).toBeLessThan(counted)
    passUntil(sim, () => batch.status === 'completed')
    expect(charged(sim)).toBe(charged(cancelled))
  })

  test('reads its input even when the file expires before its validation is over', () => {
    const sim = stage()
    const bytes = new TextEncoder().encode(JSON.stringify(chat(0)))
    const { now } = sim.world.clock
    const file = { filename: 'in.jsonl', purpose: 'batch', chunks: [bytes], bytes: bytes.length, hash: 'x' }
    const { id } = sim.world.files.create({ ...file, expiresAt: now + 1_000_000 })
    const batch = sim.world.batches.create({
      input_file_id: id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      metadata: null,
    })
    passUntil(sim, () => batch.status === 'completed')
  })

  test('that a fixture has completed counts the lines that fail alone', () => {
    const epoch = 1_767_225_600
    const lines = [chat(0), chat(1, { body: { stream: true } }), chat(2)]
    const content = lines.map(line => JSON.stringify(line)).join('\n')
    const file = { id: 'file_1', filename: 'in.jsonl', created_at: epoch - 900, content }
    const seed = { id: 'batch_1', input_file_id: 'file_1', status: 'completed' as const, created_at: epoch - 900 }
    const sim = stage([{}], {}, { with: { files: [file], batches: [seed] } })
    expect(sim.world.batches.get('batch_1')!.toRecord().request_counts).toEqual({ total: 3, completed: 2, failed: 1 })
  })

  test.each(['completed', 'in_progress'] as const)('of a fixture that is %s cannot have an invalid line', status => {
    const epoch = 1_767_225_600
    const content = [chat(0), chat(1, { body: { temperature: 9 } })].map(line => JSON.stringify(line)).join('\n')
    const file = { id: 'file_1', filename: 'in.jsonl', created_at: epoch - 900, content }
    const seed = { id: 'batch_1', input_file_id: 'file_1', status, created_at: epoch - 900 }
    const start = () => stage([{}], {}, { with: { files: [file], batches: [seed] } })
    if (status === 'completed') return expect(start).toThrow(/batch_1.*line 2.*2/)
    const sim = start()
    pass(sim, '1s')
    expect(sim.world.batches.get('batch_1')!.toRecord()).toMatchObject({
      status: 'failed',
      request_counts: null,
      errors: { data: [{ code: 'invalid_line', line: 1, param: '/v1/chat/completions.body.temperature' }] },
    })
    expect(sim.world.batches.active.length).toBe(0)
  })

  test('that has expired stays expired', () => {
    const epoch = 1_767_225_600
    const file = { id: 'file_1', filename: 'in.jsonl', created_at: epoch - 90_000, content: JSON.stringify(chat(0)) }
    const seed = { id: 'batch_1', input_file_id: 'file_1', status: 'validating' as const, created_at: epoch - 86_400 }
    const sim = stage([{}], {}, { with: { files: [file], batches: [seed] } })
    pass(sim, '1h')
    expect(sim.world.batches.get('batch_1')!.toRecord()).toMatchObject({ status: 'expired', in_progress_at: null })
    expect(sim.world.batches.active.length).toBe(0)
  })
})

describe('cancelling', () => {
  test('a batch of a fixture before the world first moves leaves each line in the error file', () => {
    const epoch = 1_767_225_600
    const content = many(300)
      .map(line => JSON.stringify(line))
      .join('\n')
    const file = { id: 'file_1', filename: 'in.jsonl', created_at: epoch - 900, content }
    const seed = { id: 'batch_1', input_file_id: 'file_1', status: 'in_progress' as const, created_at: epoch - 900 }
    const sim = stage([{}], {}, { with: { files: [file], batches: [seed] } })
    const batch = sim.world.batches.get('batch_1')!
    expect(batch.toRecord().request_counts).toEqual({ total: 300, completed: 0, failed: 0 })
    batch.cancel()
    pass(sim, '1h')
    expect(batch.toRecord()).toMatchObject({ status: 'cancelled', request_counts: { total: 300, completed: 0 } })
    const { output_file_id, error_file_id } = batch.toRecord()
    expect(linesIn(sim, output_file_id)).toEqual([])
    expect(linesIn(sim, error_file_id)).toHaveLength(300)
  })
})

describe('files', () => {
  test('are read line by line, however their bytes were cut', () => {
    const bytes = new TextEncoder().encode('é1\r\n\nü2\nlast')
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect([...decodeLines([bytes.subarray(0, cut), bytes.subarray(cut)])]).toEqual(['é1', '', 'ü2', 'last'])
    }
  })
})

describe('answers', () => {
  test('have exactly the tokens they say, for every length', () => {
    const chance = new Chance(5)
    for (let i = 0; i < 300; i++) {
      const key = answerKey(chance, 'm', `prompt ${i}`)
      const { tokens, cut } = drawAnswerLength(chance, key, i < 20 ? i + 1 : undefined)
      expect(countTokens(generateText(chance, key, tokens, cut))).toBe(tokens)
    }
  })

  test('are the same for the same model and prompt', () => {
    const chance = new Chance(5)
    const text = (model: string, prompt: string) => generateText(chance, answerKey(chance, model, prompt), 20)
    expect(text('m', 'a')).toBe(text('m', 'a'))
    expect(new Set([text('m', 'a'), text('m', 'b'), text('n', 'a')]).size).toBe(3)
  })
})
