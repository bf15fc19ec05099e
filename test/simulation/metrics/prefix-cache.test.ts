import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withoutPause } from '../../../src/lib/slices.ts'
import { EngineReader } from '../../../src/server/control/metrics/engine-values.ts'
import { metricsPage } from '../../../src/server/control/metrics/metrics-text.ts'
import { hardwareOf } from '../../../src/simulation/deployments/instance-speed.ts'
import { findModelTarget } from '../../../src/simulation/deployments/model-lookup.ts'
import type { InferenceHandle } from '../../../src/simulation/inference/request-row.ts'
import { InstanceEngine } from '../../../src/simulation/load/engine.ts'
import {
  countCachedBlocks,
  EMPTY_PREFIX_CACHE,
  hashPromptBlocks,
  type PrefixCache,
  tokensOfBlocks,
  withEndedPrompt,
  withPrompt,
} from '../../../src/simulation/load/prefix-cache.ts'
import type { Simulator, SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { forAll } from '../../setup/for-all.ts'
import { sendTo } from '../../setup/send-to.ts'
import { pass, stage } from '../small-world.ts'
import { parseExposition } from './exposition-parser.ts'

const SYSTEM = 'You answer questions of customers about rivers, lakes and the sea. '.repeat(40)

function served(deployment: object = {}, options: SimulatorOptions = {}): Simulator {
  const deployments = [
    {
      model_name: 'acme/chat',
      status: 'running' as const,
      max_batch_size: 8,
      weights: { repo: 'acme/chat-8b' },
      settings: { min_instances: 1, max_instances: 1 },
      ...deployment,
    },
  ]
  return stage([{ count: 2, gpus: 2 }], {}, { ...options, with: { deployments } })
}

async function post(sim: Simulator, path: string, body: object) {
  const response = await sendTo(sim, `POST ${path}`, { model: 'acme/chat', ...body })
  expect(response.status).toBe(200)
  return response.json()
}

async function chat(sim: Simulator, question: string, system = SYSTEM, fields: object = {}): Promise<void> {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: question },
  ]
  await post(sim, '/v1/chat/completions', { messages, max_tokens: 5, ...fields })
}

/** Returns the sum of the samples of a name over all engines. */
function metric({ world }: Simulator, name: string): number {
  const text = [...metricsPage(withoutPause(new EngineReader(world).readAll()), 'openmetrics')].join('')
  return [...parseExposition(text, 'openmetrics').values()]
    .flatMap(({ samples }) => samples)
    .filter(sample => sample.name === name)
    .reduce((sum, { value }) => sum + value, 0)
}

const hits = (sim: Simulator) => metric(sim, 'vllm:prefix_cache_hits_total')
const queries = (sim: Simulator) => metric(sim, 'vllm:prefix_cache_queries_total')
const prefill = (sim: Simulator) => metric(sim, 'vllm:request_prefill_time_seconds_sum')

/** Returns how much hits and prefill seconds grow by some work. */
async function growth(sim: Simulator, work: () => Promise<void>): Promise<{ hits: number; prefill: number }> {
  const before = { hits: hits(sim), prefill: prefill(sim) }
  await work()
  return { hits: hits(sim) - before.hits, prefill: prefill(sim) - before.prefill }
}

describe('the prefix cache of an engine', () => {
  test('has hits for a second chat with the same system prompt, which gets its first token earlier', {
    tags: 'slow',
  }, async () => {
    const sim = served()
    const first = await growth(sim, () => chat(sim, 'How long is the Rhine?'))
    expect(first.hits).toBe(0)
    const second = await growth(sim, () => chat(sim, 'How deep is it in Basel?'))
    expect(second.hits % 16).toBe(0)
    const tokens = queries(sim)
    expect(tokens).toBe(metric(sim, 'vllm:prompt_tokens_total'))
    expect(second.hits).toBeGreaterThan(0.9 * (tokens / 2))
    expect(second.hits).toBeLessThan(tokens / 2)
    const work = { ...hardwareOf(sim.world.deployments.read(0)), promptTokens: tokens / 2, outputTokens: 5 }
    const [whole, rest] = [0, (2 * second.hits) / tokens].map(
      cachedShare => new InstanceEngine({ ...work, cachedShare }).at(1).firstTokenTime,
    )
    expect(first.prefill - second.prefill).toBeGreaterThan(0.9 * (whole! - rest!))
    expect(second.prefill).toBeGreaterThan(0)
  })

  test('has no hits for another system prompt, other tools, and a prompt shorter than a block', async () => {
    const sim = served()
    await chat(sim, 'How long is the Rhine?')
    await chat(sim, 'How long is the Rhine?', `Today: ${SYSTEM}`)
    const parameters = { type: 'object', properties: {} }
    const tools = [{ type: 'function', function: { name: 'measure', parameters } }]
    await chat(sim, 'How long is the Rhine?', SYSTEM, { tools })
    for (let i = 0; i < 2; i++) await post(sim, '/v1/completions', { prompt: 'Hi', max_tokens: 2 })
    expect(hits(sim)).toBe(0)
    await chat(sim, 'And the Elbe?', SYSTEM, { tools })
    expect(hits(sim)).toBeGreaterThan(0)
  })

  test('has hits for completions, messages and native inference, and none for embeddings', {
    tags: 'slow',
  }, async () => {
    const sim = served()
    const calls: [path: string, body: object][] = [
      ['/v1/completions', { prompt: SYSTEM, max_tokens: 3 }],
      [
        '/vendor_a/v1/messages',
        { system: `Politely. ${SYSTEM}`, max_tokens: 3, messages: [{ role: 'user', content: 'Hi' }] },
      ],
      ['/v1/inference/acme/chat', { input: `Read: ${SYSTEM}`, max_new_tokens: 3 }],
    ]
    for (const [path, body] of calls) {
      expect([path, (await growth(sim, () => post(sim, path, body))).hits]).toEqual([path, 0])
      expect((await growth(sim, () => post(sim, path, body))).hits).toBeGreaterThan(400)
    }
    const embeddings = served({ model_name: 'acme/embed', task: 'embeddings' })
    for (let i = 0; i < 2; i++) await post(embeddings, '/v1/embeddings', { model: 'acme/embed', input: SYSTEM })
    expect(queries(embeddings)).toBeGreaterThan(800)
    expect(hits(embeddings)).toBe(0)
  })

  test('grows with a conversation, also in a fork and after a restored snapshot', { tags: 'slow' }, async () => {
    const sim = served()
    await chat(sim, 'How long is the Rhine?')
    const bytes = sim.snapshot().toBytes()
    const fork = sim.fork()
    await chat(sim, 'And the Elbe?')
    const expected = hits(sim)
    expect(expected).toBeGreaterThan(0)
    expect(hits(fork)).toBe(0)
    await chat(fork, 'And the Elbe?')
    expect(hits(fork)).toBe(expected)
    sim.restore(bytes)
    expect(hits(sim)).toBe(0)
    await chat(sim, 'And the Elbe?')
    expect(hits(sim)).toBe(expected)
  })

  test('ends with its instance', async () => {
    const sim = served()
    await chat(sim, 'How long is the Rhine?')
    sim.cluster.node(sim.world.nodes.read(sim.world.instances.read(0).node).id).crash()
    pass(sim, '30m')
    await chat(sim, 'How long is the Rhine?')
    expect(queries(sim)).toBeGreaterThan(0)
    expect(hits(sim)).toBe(0)
  })
})

describe('a prompt that an engine reads', () => {
  function ask({ world }: Simulator, question: string): InferenceHandle {
    const prompt = `${SYSTEM}${question}`
    const lengths = { promptTokens: 600, answerTokens: 50, longestAnswer: 50 }
    const promptBlocks = hashPromptBlocks('acme/chat', prompt, 600)!
    const target = findModelTarget(world, 'acme/chat')!
    const spec = { prefix: 'chatcmpl-', hash: question, promptBlocks, ...lengths }
    return world.inferenceRequests.submit(spec, { model: 'acme/chat', token: 'token' }, target)
  }
  const cachedTokens = ({ world }: Simulator) =>
    [...world.inferenceRequests.entries()].map(([, row]) => row.cachedTokens)

  test('gives hits from its first token on, while its answer is generated', () => {
    const sim = served()
    const { firstTokenAt } = ask(sim, 'a')
    ask(sim, 'b')
    sim.world.runTo(firstTokenAt - 1)
    ask(sim, 'c')
    expect(cachedTokens(sim)).toEqual([0, 0, 0])
    sim.world.runTo(firstTokenAt)
    ask(sim, 'd')
    // 41 blocks of 64 of 2,681 characters are 587 of 600 tokens, which are 36 blocks of 16.
    expect(cachedTokens(sim)).toEqual([0, 0, 0, 576])
  })

  test('gives no hits if its client leaves before the first token', () => {
    const sim = served()
    ask(sim, 'a').abandon(0)
    pass(sim, '1m')
    ask(sim, 'b')
    expect(cachedTokens(sim)).toEqual([0])
  })
})

describe('a list of cached prompts', () => {
  const block = 64
  const blocksOf = (text: string) => hashPromptBlocks('m', text, text.length / 4)!
  const remember = (cache: PrefixCache, text: string, sequence: number, capacity = 1e9): PrefixCache => {
    const blocks = blocksOf(text)
    const prompt = { sequence, hashes: blocks.hashes, tokens: text.length / 4, readAt: sequence }
    return withPrompt(cache, prompt, countCachedBlocks(cache, blocks, sequence), capacity, sequence)
  }
  const cached = (cache: PrefixCache, text: string, now = 1e6) =>
    tokensOfBlocks(countCachedBlocks(cache, blocksOf(text), now), blocksOf(text), text.length / 4)

  test('finds the longest common beginning of whole blocks', () => {
    const letters = fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 6 })
    forAll([fc.array(letters, { maxLength: 12 }), letters], (known, asked) => {
      const text = (parts: readonly string[]) => parts.map(part => part.repeat(block)).join('')
      const cache = known.reduce((list, parts, i) => remember(list, text(parts), i), EMPTY_PREFIX_CACHE)
      const common = known.map(parts => {
        const first = asked.findIndex((part, i) => part !== parts[i])
        return first < 0 ? asked.length : first
      })
      // The last token is always read, so its block is not a hit.
      const expected = Math.min(Math.max(0, ...common), asked.length - 1) * 16
      expect(cached(cache, text(asked))).toBe(expected)
    })
  })

  test('keeps one prompt of equal ones, and of those that continue each other', () => {
    let cache = EMPTY_PREFIX_CACHE
    for (let i = 0; i < 300; i++) cache = remember(cache, 'a'.repeat(block * 8), i)
    expect(cache.prompts.length).toBeLessThanOrEqual(2)
    let talk = ''
    for (let i = 0; i < 50; i++) {
      talk += String(i).padEnd(block, '.')
      cache = remember(cache, talk, 300 + i)
    }
    expect(cache.prompts.length).toBeLessThanOrEqual(4)
  })

  test('forgets the oldest prompts beyond its capacity, and beyond 64 prompts', () => {
    const text = (i: number) => String(i).padEnd(block * 4, '.')
    const fill = (capacity: number) =>
      Array.from({ length: 200 }, (_, i) => i).reduce(
        (list, i) => remember(list, text(i), i, capacity),
        EMPTY_PREFIX_CACHE,
      )
    const small = fill(640)
    expect(small.prompts.map(({ sequence }) => sequence)).toEqual([190, 191, 192, 193, 194, 195, 196, 197, 198, 199])
    expect([cached(small, text(189)), cached(small, text(190))]).toEqual([0, 48])
    expect(fill(1e9).prompts.length).toBe(64)
  })

  test('counts a prompt as read at once when its request is served early', () => {
    const cache = remember(EMPTY_PREFIX_CACHE, 'a'.repeat(block * 4), 100)
    const asked = 'a'.repeat(block * 4)
    expect(cached(cache, asked, 50)).toBe(0)
    expect(cached(withEndedPrompt(cache, 100, true, 50), asked, 50)).toBe(48)
    expect(withEndedPrompt(cache, 100, false, 50)).toEqual(EMPTY_PREFIX_CACHE)
  })
})

describe('the prefix cache under offered load', () => {
  const load = { kind: 'constant', rps: 5, prompt_tokens: 2000, output_tokens: 100 } as const
  const loaded = (share: number) => {
    const sim = served({ load }, { profile: { timings: { prefix_cache_share: share } } })
    pass(sim, '1h')
    return sim
  }

  test('has the share of the profile as hits, which shortens prefill and raises the capacity', () => {
    const [without, half] = [loaded(0), loaded(0.5)]
    expect(hits(without)).toBe(0)
    expect(queries(half)).toBe(queries(without))
    expect(hits(half)).toBe(queries(half) / 2)
    const meanPrefill = (sim: Simulator) => prefill(sim) / metric(sim, 'vllm:request_prefill_time_seconds_count')
    expect(meanPrefill(half)).toBeLessThan(meanPrefill(without))
    const capacity = ({ world }: Simulator) => world.deployments.read(0).load!.speed.requestsPerSecond
    expect(capacity(half)).toBeGreaterThan(capacity(without))
  })
})
