/** A program that uses every resource of the openai package that the service has. It runs under each version of Node. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type OpenAI from 'openai'
import type { Uploadable } from 'openai'
import type { Simulator } from '../../../src/simulator/simulator.ts'
import { rowsOf } from '../../setup/batches.ts'

const CHAT_MODEL = 'acme/assistant'
const CATALOG_MODEL = 'aurora-labs/aurora-8b-instruct'
const EMBEDDING_MODEL = 'cedarline/cedar-embed-base'
const IMAGE_MODEL = 'inkfold/canvas-xl'
const IMAGE_EDIT_MODEL = 'saltmarsh/marsh-image-edit'
const SPEECH_MODEL = 'larkspur-audio/lark-tts-2'
const TRANSCRIPTION_MODEL = 'larkspur-audio/lark-scribe-large'
const HELLO = [{ role: 'user' as const, content: 'How is the weather in Paris?' }]
const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } }, required: ['city'] },
  },
}

interface Program {
  readonly client: OpenAI
  readonly toFile: (content: Uint8Array, name: string) => Promise<Uploadable>
  readonly clock: Pick<Simulator['clock'], 'until'>
}

/** Calls each resource. Returns what it answered; bytes as their hash. Throws if an answer is wrong. */
export async function useEveryResource(program: Program): Promise<Record<string, unknown>> {
  const results: Record<string, unknown> = {}
  for (const [name, use] of Object.entries(RESOURCES)) results[name] = await use(program)
  return results
}

const RESOURCES: Readonly<Record<string, (program: Program) => Promise<unknown>>> = {
  async models({ client }) {
    const ids: string[] = []
    for await (const { id } of client.models.list()) ids.push(id)
    for (const id of [CHAT_MODEL, CATALOG_MODEL, EMBEDDING_MODEL]) assert(ids.includes(id), `a model ${id}`)
    return ids
  },

  async chat({ client }) {
    const ask = { model: CHAT_MODEL, messages: HELLO }
    const whole = await client.chat.completions.create(ask)
    const stream = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
    const streamed = await stream.finalChatCompletion()
    assert.equal(streamed.choices[0]!.message.content, whole.choices[0]!.message.content)
    assert.deepEqual(streamed.usage, whole.usage)
    const called = await client.chat.completions.create({ ...ask, tools: [WEATHER], tool_choice: 'required' })
    assert.equal(called.choices[0]!.finish_reason, 'tool_calls')
    return [whole.choices, called.choices, whole.usage]
  },

  async completions({ client }) {
    const ask = { model: CHAT_MODEL, prompt: ['Once upon a time', 'The end'], max_tokens: 30, logprobs: 2 }
    const { choices } = await client.completions.create(ask)
    const texts = ['', '']
    for await (const chunk of await client.completions.create({ ...ask, stream: true })) {
      for (const { index, text } of chunk.choices) texts[index] += text
    }
    assert.deepEqual(
      texts,
      choices.map(({ text }) => text),
    )
    return choices
  },

  async embeddings({ client }) {
    const ask = { model: EMBEDDING_MODEL, input: ['a river', 'a road'], dimensions: 64 }
    const packed = await client.embeddings.create(ask)
    const plain = await client.embeddings.create({ ...ask, encoding_format: 'float' })
    for (const [index, { embedding }] of plain.data.entries())
      assert.deepEqual(packed.data[index]!.embedding, [...Float32Array.from(embedding)])
    return packed.data
  },

  async files({ client, toFile }) {
    const content = new TextEncoder().encode('{"custom_id":"one"}\n')
    const { id, bytes } = await client.files.create({ purpose: 'batch', file: await toFile(content, 'in.jsonl') })
    assert.equal(bytes, content.length)
    const names: string[] = []
    for await (const file of client.files.list()) names.push(file.filename)
    assert(names.includes('in.jsonl'))
    assert.equal((await client.files.retrieve(id)).filename, 'in.jsonl')
    assert.equal(await (await client.files.content(id)).text(), '{"custom_id":"one"}\n')
    assert.equal((await client.files.delete(id)).deleted, true)
    await assert.rejects(client.files.retrieve(id), { status: 404 })
    return names
  },

  'batches of chats': program =>
    runBatch(program, '/v1/chat/completions', n => ({ model: CATALOG_MODEL, messages: HELLO, max_tokens: n + 1 })),

  'batches of embeddings': program =>
    runBatch(program, '/v1/embeddings', n => ({ model: EMBEDDING_MODEL, input: `Text ${n}`, dimensions: 64 })),

  async 'a cancelled batch'(program) {
    const { client } = program
    const { id } = await createBatch(program, '/v1/completions', n => ({ model: CATALOG_MODEL, prompt: `Text ${n}` }))
    const { status } = await client.batches.cancel(id)
    const ids: string[] = []
    for await (const batch of client.batches.list()) ids.push(batch.id)
    assert(ids.includes(id))
    return status
  },

  async images({ client, toFile }) {
    const prompt = 'A river in spring.'
    const made = await client.images.generate({ model: IMAGE_MODEL, prompt, size: '512x512', n: 2 })
    const [image] = readImages(made, 512, 2)
    const upload = await toFile(image!, 'river.png')
    const edited = await client.images.edit({ model: IMAGE_EDIT_MODEL, image: upload, prompt, size: '256x256' })
    const varied = await client.images.createVariation({ model: IMAGE_MODEL, image: upload, n: 1 })
    return [made, edited, varied].flatMap(({ data }) => data!.map(({ b64_json }) => hash(b64_json!)))
  },

  async audio({ client, toFile }) {
    const results: unknown[] = []
    const ask = { model: SPEECH_MODEL, voice: 'ada', input: 'The rain ends before midnight, says the forecast.' }
    let file: Uploadable | undefined
    for (const response_format of ['wav', 'mp3', 'opus', 'flac', 'pcm'] as const) {
      const answer = await client.audio.speech.create({ ...ask, response_format })
      const bytes = new Uint8Array(await answer.arrayBuffer())
      results.push([response_format, answer.headers.get('content-type'), bytes.length, hash(bytes)])
      file ??= await toFile(bytes, 'speech.wav')
    }
    const written = { model: TRANSCRIPTION_MODEL, file: file! }
    const { text } = await client.audio.transcriptions.create(written)
    assert.match(text, /\w/)
    for (const response_format of ['text', 'srt', 'vtt'] as const) {
      const answer = await client.audio.transcriptions.create({ ...written, response_format })
      assert.equal(typeof answer, 'string')
      results.push(answer)
    }
    const verbose = await client.audio.transcriptions.create({
      ...written,
      response_format: 'verbose_json',
      timestamp_granularities: ['segment', 'word'],
    })
    assert.equal(verbose.text, text)
    assert.equal(verbose.segments!.at(-1)!.end, verbose.duration)
    const translated = await client.audio.translations.create(written)
    return [...results, verbose, translated]
  },

  async errors({ client }) {
    const refusals = [
      client.chat.completions.create({ model: 'acme/nope', messages: HELLO }),
      client.chat.completions.create({ model: CHAT_MODEL, messages: [] }),
      client.embeddings.create({ model: CHAT_MODEL, input: 'a' }),
    ]
    return Promise.all(
      refusals.map(async refusal => {
        const error = (await refusal.then(
          () => assert.fail('no error'),
          (thrown: unknown) => thrown,
        )) as InstanceType<typeof OpenAI.APIError>
        return [error.constructor.name, error.status, error.code]
      }),
    )
  },
}

/** Returns the bytes of images. Throws if they are not square PNG files of this size. */
function readImages({ data }: OpenAI.ImagesResponse, size: number, count: number): Uint8Array[] {
  assert.equal(data!.length, count)
  return data!.map(({ b64_json }) => {
    const bytes = Buffer.from(b64_json!, 'base64')
    assert.equal(bytes.toString('latin1', 1, 4), 'PNG')
    assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [size, size])
    return bytes
  })
}

function hash(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

const LINES = 5
type BatchEndpoint = '/v1/chat/completions' | '/v1/completions' | '/v1/embeddings'

async function createBatch({ client, toFile }: Program, endpoint: BatchEndpoint, bodyOf: (n: number) => object) {
  const lines = Array.from({ length: LINES }, (_, n) =>
    JSON.stringify({ custom_id: `line-${n}`, method: 'POST', url: endpoint, body: bodyOf(n) }),
  )
  const content = new TextEncoder().encode(lines.join('\n'))
  const { id } = await client.files.create({ purpose: 'batch', file: await toFile(content, 'in.jsonl') })
  return client.batches.create({ input_file_id: id, endpoint, completion_window: '24h' })
}

/** Runs a batch to its end. Returns the bodies of its answers in the order of its lines. */
async function runBatch(program: Program, endpoint: BatchEndpoint, bodyOf: (n: number) => object): Promise<unknown> {
  const { client, clock } = program
  let batch = await createBatch(program, endpoint, bodyOf)
  await clock.until(
    async () => {
      batch = await client.batches.retrieve(batch.id)
      return batch.completed_at !== null
    },
    { within: '25h' },
  )
  assert.deepEqual(batch.request_counts, { total: LINES, completed: LINES, failed: 0 })
  const text = await (await client.files.content(batch.output_file_id!)).text()
  const rows = rowsOf<{ custom_id: string; response: { body: unknown } }>(text)
  return rows.sort((a, b) => (a.custom_id < b.custom_id ? -1 : 1)).map(({ response }) => response.body)
}
