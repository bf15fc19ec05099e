/** Native inference: the models of each type by name and by deployment, as a client of the service sees it. */
import { describe, expect, test } from 'vitest'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { askTo, formOf, sendTo } from '../setup/send-to.ts'
import { wavFile } from './media/audio-files.ts'
import { decodePng } from './media/png-reader.ts'

const TEXT = 'aurora-labs/aurora-8b-instruct'
const EMBED = 'cedarline/cedar-embed-base'
const RERANK = 'cedarline/cedar-rerank-base'
const CUSTOM = 'acornworks/acorn-pii-tagger'

/** US dollars. The ledger rounds down to it. */
const MICROCENT = 1e-8

type Service = ReturnType<typeof service>

function service(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'default', seed: 1, check: true, ...options })
  const ask = (path: string, body?: unknown, method = 'POST') => askTo(sim, `${method} ${path}`, body)
  return { sim, ask }
}

/** Returns what the ledger has charged a model for requests, in USD. */
function charged(sim: Simulator, model: string): number {
  const postings = sim.ledger.entries().filter(({ subject }) => subject === model)
  return postings.reduce((sum, { microcents }) => sum - microcents, 0) / 1e8
}

/** Returns the id of a deployment of the default world. */
function idOf(sim: Simulator, modelName: string): string {
  return sim.world.deployments.findLive(modelName)!.deploy_id
}

describe('text-generation', () => {
  test('a model answers with results, token counts and its cost', async () => {
    const { sim, ask } = service()
    const { status, body } = await ask(`/v1/inference/${TEXT}`, { input: 'Once upon a time' })
    expect(status).toBe(200)
    expect(body).toEqual({
      request_id: expect.stringMatching(/^R[A-Za-z0-9]{24}$/),
      inference_status: {
        status: 'succeeded',
        runtime_ms: expect.any(Number),
        cost: expect.any(Number),
        tokens_generated: body.num_tokens,
        tokens_input: 4,
      },
      results: [{ generated_text: expect.any(String) }],
      num_tokens: expect.any(Number),
      num_input_tokens: 4,
    })
    expect(body.inference_status.runtime_ms).toBeGreaterThan(0)
    expect(body.inference_status.cost).toBeCloseTo(charged(sim, TEXT), 10)
    expect(body.inference_status.cost).toBeGreaterThan(0)
  })

  test('the answers are those of completions', async () => {
    const { ask } = service()
    const native = await ask(`/v1/inference/${TEXT}`, { input: 'Rivers', num_responses: 2, max_new_tokens: 20 })
    const { body } = await ask('/v1/completions', { model: TEXT, prompt: 'Rivers', n: 2, max_tokens: 20 })
    expect(native.body.results.map((result: { generated_text: string }) => result.generated_text)).toEqual(
      body.choices.map((choice: { text: string }) => choice.text),
    )
    expect(native.body.num_tokens).toBe(body.usage.completion_tokens)
  })

  test('max_new_tokens defaults to 512, and stop ends the text', async () => {
    const { sim, ask } = service()
    sim.inference.add({ contains: 'long', answer: { text: 'word '.repeat(600) } })
    const long = await ask(`/v1/inference/${TEXT}`, { input: 'a long one' })
    expect(long.body.num_tokens).toBe(512)
    sim.inference.clear()
    sim.inference.add({ answer: { text: 'One. Two. Three.' } })
    const stopped = await ask(`/v1/inference/${TEXT}`, { input: 'count', stop: [' Two'] })
    expect(stopped.body.results).toEqual([{ generated_text: 'One.' }])
  })

  test('response_format gives JSON', async () => {
    const { ask } = service()
    const { body } = await ask(`/v1/inference/${TEXT}`, { input: 'List', response_format: { type: 'json_object' } })
    expect(JSON.parse(body.results[0].generated_text)).toBeTypeOf('object')
  })

  test('a stream has an event for each token, the last with the whole text', async () => {
    const { sim, ask } = service()
    const whole = await ask(`/v1/inference/${TEXT}`, { input: 'Rivers' })
    const { body } = await ask(`/v1/inference/${TEXT}`, { input: 'Rivers', stream: true, num_responses: 3 })
    const events = (body as string).trim().split('\n\n')
    expect(events.pop()).toBe('data: [DONE]')
    const tokens = events.map(event => JSON.parse(event.slice('data: '.length)))
    expect(tokens.map(({ token }) => token.text).join('')).toBe(whole.body.results[0].generated_text)
    expect(tokens.slice(0, -1).every(({ generated_text }) => generated_text === null)).toBe(true)
    expect(tokens.at(-1)).toMatchObject({
      generated_text: whole.body.results[0].generated_text,
      details: { finish_reason: 'stop', generated_tokens: whole.body.num_tokens },
      num_output_tokens: whole.body.num_tokens,
    })
    expect(charged(sim, TEXT)).toBeCloseTo(2 * whole.body.inference_status.cost, 10)
  })

  test('a stream of an empty text has one event', async () => {
    const { sim, ask } = service()
    sim.inference.add({ answer: { text: 'END' } })
    const { body } = await ask(`/v1/inference/${TEXT}`, { input: 'x', stop: ['END'], stream: true })
    const [event, done] = (body as string).trim().split('\n\n')
    const expected = { token: { text: '', special: true }, generated_text: '', num_output_tokens: 0 }
    expect(JSON.parse(event!.slice('data: '.length))).toMatchObject(expected)
    expect(done).toBe('data: [DONE]')
  })
})

describe('embeddings', () => {
  test('a model answers with the vectors of the embeddings endpoint', async () => {
    const { sim, ask } = service()
    const { status, body } = await ask(`/v1/inference/${EMBED}`, { inputs: ['a river', 'a stone'], dimensions: 64 })
    expect(status).toBe(200)
    const { body: list } = await ask('/v1/embeddings', { model: EMBED, input: ['a river', 'a stone'], dimensions: 64 })
    expect(body.embeddings).toEqual(list.data.map(({ embedding }: { embedding: number[] }) => embedding))
    expect(body.input_tokens).toBe(list.usage.prompt_tokens)
    expect(body.inference_status).toMatchObject({ status: 'succeeded', tokens_generated: 0, tokens_input: 4 })
    expect(charged(sim, EMBED)).toBeCloseTo(2 * body.inference_status.cost, 8)
  })

  test('custom_instruction is read before each input', async () => {
    const { ask } = service()
    const plain = await ask(`/v1/inference/${EMBED}`, { inputs: ['a river'] })
    const guided = await ask(`/v1/inference/${EMBED}`, { inputs: ['a river'], custom_instruction: 'Find floods' })
    expect(guided.body.embeddings).not.toEqual(plain.body.embeddings)
    expect(guided.body.input_tokens).toBeGreaterThan(plain.body.input_tokens)
  })

  test('dimensions above the length of the model are 400', async () => {
    const { status, body } = await service().ask(`/v1/inference/${EMBED}`, { inputs: ['x'], dimensions: 100_000 })
    expect([status, body]).toEqual([400, { error: expect.stringContaining('dimensions asks for 100000') }])
  })
})

describe('reranker', () => {
  const documents = ['Paris is the capital of France.', 'A recipe for soup.', 'The capital of Peru is Lima.']

  test('a document scores higher the more words it shares with the query', async () => {
    const { sim, ask } = service()
    const { status, body } = await ask(`/v1/inference/${RERANK}`, { queries: ['capital of France'], documents })
    expect(status).toBe(200)
    const [france, soup, peru] = body.scores
    expect(france).toBeGreaterThan(peru)
    expect(peru).toBeGreaterThan(soup)
    expect(body.scores.every((score: number) => score > 0 && score < 1)).toBe(true)
    expect(body.input_tokens).toBe(body.inference_status.tokens_input)
    expect(charged(sim, RERANK)).toBeCloseTo(body.inference_status.cost, 8)
  })

  test('a query for each document gives the same scores as one query', async () => {
    const { ask } = service()
    const one = await ask(`/v1/inference/${RERANK}`, { queries: ['capital'], documents })
    const each = await ask(`/v1/inference/${RERANK}`, { queries: ['capital', 'capital', 'capital'], documents })
    expect(each.body.scores).toEqual(one.body.scores)
    const guided = await ask(`/v1/inference/${RERANK}`, { queries: ['capital'], documents, instruction: 'Find towns' })
    expect(guided.body.scores).not.toEqual(one.body.scores)
  })

  test('queries and documents of different lengths are 400', async () => {
    const { status, body } = await service().ask(`/v1/inference/${RERANK}`, { queries: ['a', 'b'], documents })
    expect([status, body.error]).toEqual([400, expect.stringContaining('queries has 2 texts and documents has 3')])
  })
})

describe('text-to-image', () => {
  const IMAGE = 'inkfold/canvas-fast'
  const sizeOf = (url: string) => decodePng(url.slice('data:image/png;base64,'.length))

  test('a model answers with PNG files of the size, as data URLs', async () => {
    const { sim, ask } = service()
    const size = { width: 128, height: 64 }
    const { status, body } = await ask(`/v1/inference/${IMAGE}`, { prompt: 'A river', ...size, num_images: 2 })
    expect(status).toBe(200)
    expect(body).toMatchObject({ nsfw_content_detected: [false, false], seed: expect.any(Number) })
    expect(body.images.map((url: string) => sizeOf(url))).toMatchObject([size, size])
    expect(new Set(body.images).size).toBe(2)
    expect(body.inference_status).toMatchObject({ status: 'succeeded', tokens_generated: null, tokens_input: null })
    const dollars = charged(sim, IMAGE)
    expect(Math.abs(body.inference_status.cost - dollars)).toBeLessThanOrEqual(MICROCENT)
    expect(dollars).toBeGreaterThan(0)
    expect(body.inference_status.runtime_ms).toBeGreaterThan(0)
  })

  test('the images are those of the images endpoint, and others with a seed or a negative prompt', async () => {
    const { ask } = service()
    const native = async (more: object) =>
      (await ask(`/v1/inference/${IMAGE}`, { prompt: 'A river', width: 64, height: 64, ...more })).body.images[0]
    const { body } = await ask('/v1/images/generations', { model: IMAGE, prompt: 'A river', size: '64x64' })
    const plain = await native({})
    expect(plain).toBe(`data:image/png;base64,${body.data[0].b64_json}`)
    const [seeded, negative] = [await native({ seed: 7 }), await native({ negative_prompt: 'rain' })]
    expect(await native({ seed: 7 })).toBe(seeded)
    expect(new Set([plain, seeded, negative]).size).toBe(3)
  })

  test('more steps take longer and cost more', async () => {
    const { ask } = service()
    const statusOf = async (num_inference_steps: number) =>
      (await ask(`/v1/inference/${IMAGE}`, { prompt: 'x', width: 64, height: 64, num_inference_steps })).body
        .inference_status
    const [few, many] = [await statusOf(10), await statusOf(50)]
    expect(many.runtime_ms).toBeGreaterThan(few.runtime_ms)
    expect(Math.abs(many.cost - 5 * few.cost)).toBeLessThan(MICROCENT)
  })

  test('a side outside of the bounds is 422', async () => {
    const { ask } = service()
    for (const width of [63, 2_049, 64.5]) {
      const { status, body } = await ask(`/v1/inference/${IMAGE}`, { prompt: 'x', width })
      expect([status, body.detail[0].loc]).toEqual([422, ['body', 'width']])
    }
  })
})

describe('text-to-speech', () => {
  const SPEECH = 'larkspur-audio/lark-tts-2'
  const bytesOf = (url: string) => Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')

  test('a model answers with the audio of the speech endpoint, as a data URL', async () => {
    const { sim, ask } = service()
    const input = 'The rain ends before midnight.'
    const { status, body } = await ask(`/v1/inference/${SPEECH}`, { text: input, preset_voice: ['ada'] })
    expect(status).toBe(200)
    expect(body.audio).toMatch(/^data:audio\/wav;base64,/)
    expect(body).toMatchObject({ input_character_length: 30, output_format: 'wav' })
    const response = await sendTo(sim, 'POST /v1/audio/speech', { model: SPEECH, input, voice: 'ada' })
    expect(bytesOf(body.audio).equals(Buffer.from(await response.arrayBuffer()))).toBe(true)
    const dollars = charged(sim, SPEECH)
    expect(Math.abs(2 * body.inference_status.cost - dollars)).toBeLessThanOrEqual(MICROCENT)
    expect(body.inference_status).toMatchObject({ tokens_generated: null, tokens_input: null })
  })

  test('the format and the speed change the audio, and the voice does not', async () => {
    const { sim, ask } = service()
    const voice_id = sim.world.store.voices.all()[0]!.voice_id
    const audioOf = async (more: object) =>
      (await ask(`/v1/inference/${SPEECH}`, { text: 'Hello.', ...more })).body.audio
    const all = [{}, { output_format: 'flac' }, { output_format: 'mp3' }, { speed: 2 }]
    const audio = await Promise.all(all.map(audioOf))
    expect(new Set(audio).size).toBe(all.length)
    expect(audio[1]).toMatch(/^data:audio\/flac;base64,/)
    expect(bytesOf(audio[3]).length).toBeLessThan(bytesOf(audio[0]).length)
    expect(await Promise.all([{ preset_voice: 'ada' }, { voice_id }].map(audioOf))).toEqual([audio[0], audio[0]])
  })

  test('an unknown voice of the account is 404, and a format of another name 422', async () => {
    const { ask } = service()
    const statusOf = async (more: object) => (await ask(`/v1/inference/${SPEECH}`, { text: 'Hello.', ...more })).status
    expect(await statusOf({ voice_id: 'voice_missing' })).toBe(404)
    expect(await statusOf({ output_format: 'aac' })).toBe(422)
  })
})

describe('automatic-speech-recognition', () => {
  const SCRIBE = 'larkspur-audio/lark-scribe-large'
  const wav = wavFile()
  const dataUrl = `data:audio/wav;base64,${Buffer.from(wav).toString('base64')}`
  const sendForm = (sim: Simulator, fields: Record<string, string>, audio: Uint8Array = wav) =>
    askTo(sim, `POST /v1/inference/${SCRIBE}`, formOf({ ...fields, audio }))

  test('a model answers with the words of the transcriptions endpoint, for a form and for a data URL', async () => {
    const { sim, ask } = service()
    const uploaded = await sendForm(sim, {})
    const { status, body } = await ask(`/v1/inference/${SCRIBE}`, { audio: dataUrl })
    expect([uploaded.status, status]).toEqual([200, 200])
    expect({ ...uploaded.body, request_id: '' }).toEqual({ ...body, request_id: '' })
    expect(body.segments[0]).toEqual({ id: 0, text: expect.any(String), start: 0, end: expect.any(Number) })
    expect(body.segments.at(-1).end).toBe(body.duration)
    expect(body).toMatchObject({ words: null, language: 'en', input_length_ms: body.duration * 1000 })
    const transcribed = await ask('/v1/audio/transcriptions', formOf({ model: SCRIBE, file: wav }))
    expect(transcribed.body.text).toBe(body.text)
    const dollars = charged(sim, SCRIBE)
    expect(Math.abs(3 * body.inference_status.cost - dollars)).toBeLessThanOrEqual(MICROCENT)
  })

  test('fields of a form are read as those of the JSON, with numbers as texts', async () => {
    const { sim } = service({ profile: { policies: { validation: 'strict' } } })
    const fields = { chunk_level: 'word', chunk_length_s: '20', task: 'translate', language: 'de' }
    const { status, body } = await sendForm(sim, fields)
    expect(status).toBe(200)
    expect(body.language).toBe('en')
    expect(body.words.map(({ text }: { text: string }) => text).join(' ').length).toBeGreaterThan(0)
    const refused = await sendForm(sim, { chunk_length_s: '31' })
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ['body', 'chunk_length_s']])
  })

  test('audio that is missing or no file is 422, and a file that cannot be read is 400', async () => {
    const { sim, ask } = service()
    const url = `/v1/inference/${SCRIBE}`
    for (const audio of [undefined, 'http://files.example/a.wav', 7, { chunks: [], bytes: 0 }]) {
      const { status, body } = await ask(url, { audio })
      expect([status, body.detail[0].loc]).toEqual([422, ['body', 'audio']])
    }
    expect((await sendForm(sim, {}, new Uint8Array(0))).status).toBe(422)
    const unread = await sendForm(sim, {}, new TextEncoder().encode('no audio at all'))
    expect([unread.status, unread.body]).toEqual([400, { error: expect.stringContaining('cannot be read as audio') }])
    expect((await ask(url, { audio: 'data:audio/wav;base64,AAAAA' })).status).toBe(400)
  })

  test('unknown fields of a form are 422 with strict requests', async () => {
    const { sim } = service({ strictRequests: true })
    expect((await sendForm(sim, { task: 'transcribe' })).status).toBe(200)
    const { status, body } = await sendForm(sim, { tsk: 'transcribe' })
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'tsk']])
  })

  test('a form can also have the fields of another type', async () => {
    const form = formOf({ input: 'Once upon a time', max_new_tokens: '5' })
    const { status, body } = await service().ask(`/v1/inference/${TEXT}`, form)
    expect([status, body.num_tokens]).toEqual([200, 5])
  })
})

describe('custom', () => {
  test('a model takes any object and answers with a drawn object', async () => {
    const { ask } = service()
    const { status, body } = await ask(`/v1/inference/${CUSTOM}`, { document: 'Ann lives in Rome', deep: { a: [1] } })
    expect(status).toBe(200)
    expect(body.output).toBeTypeOf('object')
    const again = await ask(`/v1/inference/${CUSTOM}`, { document: 'Ann lives in Rome', deep: { a: [1] } })
    expect(again.body.output).toEqual(body.output)
    const other = await ask(`/v1/inference/${CUSTOM}`, { document: 'Bob' })
    expect(other.body.output).not.toEqual(body.output)
  })

  test('a scripted value is the output', async () => {
    const { sim, ask } = service()
    sim.inference.add({ contains: 'Ann', answer: { json: { entities: ['Ann'] } } })
    sim.inference.add({ contains: 'Bob', answer: { text: 'unknown' } })
    expect((await ask(`/v1/inference/${CUSTOM}`, { document: 'Ann' })).body.output).toEqual({ entities: ['Ann'] })
    expect((await ask(`/v1/inference/${CUSTOM}`, { document: 'Bob' })).body.output).toEqual({ text: 'unknown' })
  })
})

describe('the body', () => {
  test.each([
    [TEXT, { inputs: ['x'] }, 'input'],
    [EMBED, { input: 'x' }, 'inputs'],
    [RERANK, { queries: ['x'] }, 'documents'],
  ])('of %s is that of its type', async (model, wrong, missing) => {
    const { status, body } = await service().ask(`/v1/inference/${model}`, wrong)
    expect([status, body.detail[0].loc]).toEqual([422, ['body', missing]])
  })

  test('must be an object for a custom model', async () => {
    expect((await service().ask(`/v1/inference/${CUSTOM}`, ['x'])).status).toBe(422)
  })

  test('gets a 422 for the fields of another type with strict requests', async () => {
    const { status, body } = await service({ strictRequests: true }).ask(`/v1/inference/${TEXT}`, {
      input: 'x',
      documents: ['y'],
    })
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'documents']])
  })
})

describe('the model', () => {
  test('can have a version in the query', async () => {
    const { sim, ask } = service()
    const [version] = sim.world.store.models.get(TEXT)!.versions
    expect((await ask(`/v1/inference/${TEXT}?version=${version}`, { input: 'x' })).status).toBe(200)
    expect((await ask(`/v1/inference/${TEXT}?version=`, { input: 'x' })).status).toBe(200)
    const unknown = await ask(`/v1/inference/${TEXT}?version=${'0'.repeat(64)}`, { input: 'x' })
    expect([unknown.status, unknown.body]).toEqual([404, { error: expect.stringContaining('model does not exist') }])
  })

  test('is 404 when it is unknown or deprecated, before its body is read', async () => {
    const { ask } = service()
    expect((await ask('/v1/inference/acme/no-such', { what: 1 })).body).toEqual({
      error: 'model does not exist: acme/no-such',
    })
    expect((await ask('/v1/inference/aurora-labs/aurora-v1-7b-chat', {})).status).toBe(404)
    expect((await ask('/v1/inference/deploy/nope', {})).body).toEqual({ error: 'model does not exist: deploy_id:nope' })
  })

  test('is 400 when the prompt does not fit its context', async () => {
    const { status, body } = await service().ask('/v1/inference/acme/assistant', { input: 'a b '.repeat(5_000) })
    expect([status, body]).toEqual([400, { error: expect.stringContaining('the context of acme/assistant is') }])
  })
})

describe('a deployment of the account', () => {
  test('answers by name and by id, and costs no more than its GPU time', async () => {
    const { sim, ask } = service()
    const byName = await ask('/v1/inference/acme/assistant', { input: 'Hello' })
    const byId = await ask(`/v1/inference/deploy/${idOf(sim, 'acme/assistant')}`, { input: 'Hello' })
    expect(byId.body.results).toEqual(byName.body.results)
    expect(byId.body.inference_status).toMatchObject({ status: 'succeeded', cost: 0 })
  })

  test('that starts is 423 by name and 503 by id, and answers once it is ready', async () => {
    const { sim, ask } = service({ fixtures: 'two-nodes' })
    const created = await ask('/deploy/llm', {
      ...{ model_name: 'acme/fresh', gpu: 'H100-80GB', num_gpus: 1, hub: { repo: 'acme/chat-8b' } },
      settings: { min_instances: 1, max_instances: 1 },
    })
    const byName = () => ask('/v1/inference/acme/fresh', { input: 'x' })
    const byId = () => ask(`/v1/inference/deploy/${created.body.deploy_id}`, { input: 'x' })
    const expected = { status: 423, body: { error: expect.stringMatching(/^model acme\/fresh is /) } }
    expect(await byName()).toMatchObject(expected)
    const refused = await byId()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10'])
    await sim.clock.until(() => sim.world.deployments.findLive('acme/fresh')!.status === 'running')
    expect([(await byName()).status, (await byId()).status]).toEqual([200, 200])
  })

  test.each([
    ['stopped', async (ask: Service['ask'], id: string) => ask(`/deploy/${id}/stop`)],
    [
      'parked',
      async (ask: Service['ask'], id: string) =>
        ask(`/deploy/${id}`, { settings: { min_instances: 0, max_instances: 0 } }, 'PUT'),
    ],
  ])('that is %s is 404 by name and 503 by id', async (phase, change) => {
    const { sim, ask } = service()
    const id = idOf(sim, 'acme/assistant')
    expect((await change(ask, id)).status).toBe(200)
    expect((await ask('/v1/inference/acme/assistant', { input: 'x' })).status).toBe(404)
    const { status, body, headers } = await ask(`/v1/inference/deploy/${id}`, { input: 'x' })
    expect([status, body.error]).toEqual([503, expect.stringContaining(`is ${phase}, not running`)])
    expect(headers.get('retry-after')).toBeNull()
  })

  test('that failed is 404 by name and 503 by id', async () => {
    const { sim, ask } = service({ fixtures: 'two-nodes' })
    const created = await ask('/deploy/llm', {
      ...{ model_name: 'acme/broken', gpu: 'H100-80GB', num_gpus: 1, hub: { repo: 'someone/nothing-8b' } },
      settings: { min_instances: 1, max_instances: 1 },
    })
    await sim.clock.until(() => sim.world.deployments.get(created.body.deploy_id)!.status === 'failed')
    expect((await ask('/v1/inference/acme/broken', { input: 'x' })).status).toBe(404)
    const { status, body } = await ask(`/v1/inference/deploy/${created.body.deploy_id}`, { input: 'x' })
    expect([status, body.error]).toEqual([503, expect.stringContaining('is failed, not running')])
  })

  test('of a catalog model answers as that model', async () => {
    const { sim, ask } = service()
    const legacy = [...sim.world.deployments.entries()].find(
      ([, { plan, status }]) => plan.type === 'legacy' && status === 'running',
    )![1]
    const { task } = legacy.plan
    const bodies = {
      'text-generation': { input: 'x' },
      embeddings: { inputs: ['x'] },
      reranker: { queries: ['x'], documents: ['y'] },
    }
    const { status, body } = await ask(`/v1/inference/deploy/${legacy.id}`, bodies[task as keyof typeof bodies] ?? {})
    expect([task, status]).toEqual([task, 200])
    expect(body.inference_status.status).toBe('succeeded')
  })
})

test('time passes for an answer at the pace of the clock', async () => {
  const { sim, ask } = service({ inferencePace: 'clock' })
  const answer = ask(`/v1/inference/${TEXT}`, { input: 'Rivers' })
  const before = sim.clock.elapsed
  await sim.clock.advance('1h')
  const { body } = await answer
  const [served] = sim.journal.entries().filter(({ kind }) => kind === 'inference.served')
  expect(Math.round((served!.time - before) / 1000)).toBe(body.inference_status.runtime_ms)
})
