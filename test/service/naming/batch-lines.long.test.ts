/** Files of batches under a names profile: lines are read and rows are written in the words of the vendor. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NamesProfile } from '../../../src/service/naming/names-profile.ts'
import { Snapshot } from '../../../src/simulator/checkpoint/snapshot.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { batchFile, rowsOf } from '../../setup/batches.ts'
import { forAllAsync } from '../../setup/for-all.ts'
import { type Answered, askTo } from '../../setup/send-to.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const CHAT = '/v1/chat/completions'
const NEUTRAL = { 'x-sim-names': 'neutral' }

type Json = Readonly<Record<string, unknown>>

const send = (sim: Simulator, request: string, body?: object, headers: Record<string, string> = {}) =>
  askTo(sim, request, body, { headers })

async function upload(sim: Simulator, text: string, headers?: Record<string, string>): Promise<Json> {
  return (await send(sim, 'POST /v1/files', batchFile(text), headers)).body
}

const toJsonl = (lines: readonly object[]) => lines.map(line => `${JSON.stringify(line)}\n`).join('')

/** Uploads lines and starts a batch. Returns its id. Neutral names are valid in every world, and the header asks for them. */
async function start(sim: Simulator, text: string, endpoint = CHAT): Promise<string> {
  const { id } = await upload(sim, text, NEUTRAL)
  const body = { input_file_id: id, endpoint, completion_window: '24h' }
  const { body: batch } = await send(sim, 'POST /v1/batches', body, NEUTRAL)
  return batch.id
}

async function end(sim: Simulator, id: string): Promise<Answered['body']> {
  for (let hour = 0; hour < 30; hour++) {
    const { body } = await send(sim, `GET /v1/batches/${id}`, undefined, NEUTRAL)
    if (['completed', 'failed', 'expired', 'cancelled'].includes(body.status)) return body
    await sim.clock.advance('1h')
  }
  throw new Error('the batch did not end')
}

const content = async (sim: Simulator, file: string, headers?: Record<string, string>) =>
  (await send(sim, `GET /v1/files/${file}/content`, undefined, headers)).body

function world(names: NamesProfile | undefined, options: SimulatorOptions = {}): Simulator {
  const onBug = (error: unknown) => {
    throw error
  }
  return createSimulator({ onBug, check: true, ...options, ...(names && { names }) })
}

const chat = (custom_id: string, body: object = {}) => ({
  ...{ custom_id, method: 'POST', url: CHAT },
  body: { model: MODEL, messages: [{ role: 'user', content: `Question ${custom_id}` }], ...body },
})

/** Renames the keys of a value, at every depth. */
function rename(value: unknown, names: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map(one => rename(one, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [names[key] ?? key, key === 'metadata' ? inner : rename(inner, names)]),
  )
}

const FIELDS = [
  ...['custom_id', 'method', 'url', 'body', 'model', 'messages', 'role', 'content', 'max_tokens', 'n', 'seed'],
  ...['id', 'response', 'status_code', 'request_id', 'endpoint', 'error', 'code', 'message', 'param', 'type'],
  ...['object', 'created', 'choices', 'index', 'finish_reason', 'usage', 'prompt_tokens', 'total_tokens'],
]
const anyNames = fc
  .record({ named: fc.subarray(FIELDS, { minLength: 1 }), prefix: fc.constantFrom('zz_', 'zz-', 'zZ.') })
  .map(({ named, prefix }) => Object.fromEntries(named.map(field => [field, `${prefix}${field.toUpperCase()}`])))

/** Lines of which some are refused: too long an answer, a stream. */
const LINES = [
  chat('a'),
  chat('b', { max_tokens: 5, n: 2, metadata: { model: 'mine' } }),
  chat('c', { stream: true }),
  chat('d', { max_tokens: 100_000_000 }),
  chat('e', { seed: 3 }),
]

describe('a batch under any names', () => {
  test('is the neutral batch with other names', async () => {
    const neutral = world(undefined)
    const id = await start(neutral, toJsonl(LINES))
    const expected = await end(neutral, id)
    expect(expected).toMatchObject({ status: 'completed' })
    expect(expected.request_counts.failed).toBeGreaterThan(0)
    const [journal, digest] = [neutral.journal.entries().slice(), neutral.digest]
    const live = (await send(neutral, `POST ${CHAT}`, LINES[0]!.body)).body
    await forAllAsync([anyNames], { numRuns: 12 }, async fields => {
      const sim = world({ fields })
      // The client writes its own names, in lines and in requests.
      const batchId = await start(sim, toJsonl(LINES.map(line => rename(line, fields) as object)))
      expect(await end(sim, batchId)).toEqual(expected)
      expect(sim.journal.entries()).toEqual(journal)
      expect(sim.digest).toBe(digest)
      for (const file of [expected.output_file_id, expected.error_file_id] as string[]) {
        const neutralText = await content(neutral, file)
        const text = await content(sim, file)
        expect(rowsOf(text)).toEqual(rowsOf(neutralText).map(row => rename(row, fields)))
        const { body: record } = await send(sim, `GET /v1/files/${file}`)
        expect(record.bytes).toBe(new TextEncoder().encode(text).length)
        const { body: list } = await send(sim, 'GET /v1/files')
        const listed = list.data.find((one: Json) => one[fields.id ?? 'id'] === file)
        expect(listed.bytes).toBe(record.bytes)
        // A neutral reader gets the neutral file, and its size.
        expect(await content(sim, file, NEUTRAL)).toBe(neutralText)
        const { body: neutralRecord } = await send(sim, `GET /v1/files/${file}`, undefined, NEUTRAL)
        expect(neutralRecord).toEqual((await send(neutral, `GET /v1/files/${file}`)).body)
      }
      // A request and a line have the same fields.
      const named = (await send(sim, `POST ${CHAT}`, rename(LINES[0]!.body, fields) as object)).body
      expect(named).toEqual(rename(live, fields))
      const [row] = rowsOf(await content(sim, expected.output_file_id))
      expect(Object.keys(row[fields.response ?? 'response'][fields.body ?? 'body'])).toEqual(Object.keys(named))
    })
  })

  test('takes neutral lines too, and names in one place', async () => {
    const fields = {
      'BatchRequestLine.custom_id': 'key',
      'BatchResultLine.custom_id': 'ref',
      'createChatCompletion.n': 'count',
    }
    const sim = world({ fields }, { seed: 3 })
    const { custom_id, body, ...rest } = chat('b', {})
    const id = await start(
      sim,
      toJsonl([chat('a', { n: 2 }), { key: custom_id, ...rest, body: { ...body, count: 3 } }]),
    )
    const { output_file_id } = await end(sim, id)
    const rows = rowsOf(await content(sim, output_file_id))
    expect(Object.fromEntries(rows.map(row => [row.ref, row.response.body.choices.length]))).toEqual({ a: 2, b: 3 })
  })

  test('takes the paths of the vendor', async () => {
    const names = { values: { [CHAT]: '/v2/talk' }, aliases: { 'POST /talk': 'createChatCompletion' } } as NamesProfile
    const sim = world(names)
    const lines = ['/v2/talk', '/talk', CHAT].map((url, n) => ({ ...chat(`${n}`), url }))
    const id = await start(sim, toJsonl(lines), '/v2/talk')
    const { output_file_id, request_counts, endpoint } = await end(sim, id)
    expect([request_counts.completed, endpoint]).toEqual([3, CHAT])
    const rows = rowsOf(await content(sim, output_file_id))
    expect(rows.map(({ response }) => response.endpoint)).toEqual(Array(3).fill('/v2/talk'))
    expect((await send(sim, `GET /v1/batches/${id}`)).body.endpoint).toBe('/v2/talk')
    const other = await start(sim, toJsonl([{ ...chat('x'), url: '/v1/completions' }]), '/v2/talk')
    await end(sim, other)
    const [error] = (await send(sim, `GET /v1/batches/${other}`)).body.errors.data
    expect(error).toMatchObject({ param: '/v2/talk.url', message: `url is "/v1/completions", the batch runs ${CHAT}` })
  })

  test('takes the paths of the vendor if the world has only documented operations', async () => {
    const sim = world({ values: { [CHAT]: '/v2/talk' } } as NamesProfile, { documentedOnly: true })
    const { id } = await upload(sim, toJsonl([{ ...chat('a'), url: '/v2/talk' }]))
    await send(sim, 'POST /v1/batches', { input_file_id: id, endpoint: '/v2/talk', completion_window: '24h' })
    await sim.clock.advance('25h')
    expect(sim.world.batches.list().at(-1)!.toRecord()).toMatchObject({ status: 'completed', errors: null })
  })

  test('of embeddings and completions, too', async () => {
    const profile = { policies: { batch_endpoints: 'with_embeddings' } } as const
    const sim = world(
      { fields: { embedding: 'vector', input: 'texts', prompt: 'begin', choices: 'ends' } },
      { profile },
    )
    const cases = [
      ['/v1/embeddings', { model: 'cedarline/cedar-embed-small', texts: 'A river' }, 'data'],
      ['/v1/completions', { model: MODEL, begin: 'A river' }, 'ends'],
    ] as const
    for (const [url, body, field] of cases) {
      const id = await start(sim, toJsonl([{ custom_id: 'a', method: 'POST', url, body }]), url)
      const [row] = rowsOf(await content(sim, (await end(sim, id)).output_file_id))
      const live = await send(sim, `POST ${url}`, body)
      expect(live.status).toBe(200)
      expect(row.response.body).toHaveProperty(field)
      expect(Object.keys(row.response.body[field][0])).toEqual(Object.keys(live.body[field][0]))
    }
  })
})

describe('the file of a client', () => {
  const names = { fields: { custom_id: 'key', model: 'engine' } } satisfies NamesProfile

  test('is kept as it was sent, with the fields of the client', async () => {
    const sim = world(names)
    const text = `{ "key": "a",  "mine": {"model": 1}, "method": "POST", "url": "${CHAT}", "body": {"engine": "${MODEL}", "messages": [{"role": "user", "content": "Hi"}], "own": {"model": 2}}}`
    const file = await upload(sim, text)
    expect(file.bytes).toBe(text.length)
    for (const headers of [{}, NEUTRAL]) expect(await content(sim, file.id as string, headers)).toBe(text)
    const id = await start(sim, text)
    expect((await end(sim, id)).request_counts).toEqual({ total: 1, completed: 1, failed: 0 })
  })

  test('that is not a list of requests is kept and refused as before', async () => {
    const sim = world(names)
    for (const text of ['', '\n', 'no JSON\n[1]\n"text"\nnull\n', '{"__proto__":{"key":"x"}}\n']) {
      const file = await upload(sim, text)
      expect(await content(sim, file.id as string)).toBe(text)
      const id = await start(sim, text)
      expect((await end(sim, id)).status).toBe('failed')
    }
  })

  test('counts with the name of the vendor, if a line has both', async () => {
    const sim = world(names)
    const id = await start(sim, toJsonl([{ key: 'mine', ...chat('neutral') }]))
    const [row] = rowsOf(await content(sim, (await end(sim, id)).output_file_id))
    expect(row.key).toBe('mine')
  })
})

describe('errors', () => {
  const names = {
    fields: {
      ...{
        custom_id: 'key',
        url: 'target',
        body: 'payload',
        model: 'engine',
        max_tokens: 'limit',
        'BatchRequestLine.method': 'verb',
      },
      'createChatCompletion.messages': 'turns',
    },
    values: { [CHAT]: '/v2/talk' },
  } as NamesProfile
  const good = {
    ...{ key: 'a', verb: 'POST', target: '/v2/talk' },
    payload: { engine: MODEL, turns: [{ role: 'user', content: 'Hi' }] },
  }
  test.each([
    ['custom_id', { ...good, key: '' }, '/v2/talk.key'],
    ['method', { ...good, verb: 'GET' }, '/v2/talk.verb'],
    ['url', { ...good, target: '/x' }, '/v2/talk.target'],
    ['body', { ...good, payload: 1 }, '/v2/talk.payload'],
    ['body.model', { ...good, payload: {} }, '/v2/talk.payload.engine'],
    ['body.max_tokens', { ...good, payload: { ...good.payload, limit: -1 } }, '/v2/talk.payload.limit'],
    [
      'body.messages.0.content',
      { ...good, payload: { ...good.payload, turns: [{ role: 'user', content: 7 }] } },
      '/v2/talk.payload.turns.0.content',
    ],
    ['unknown_model', { ...good, payload: { ...good.payload, engine: 'acme/none' } }, 'payload.engine'],
  ])('name the field of the vendor: %s', async (neutralField, line, param) => {
    const sim = world(names)
    const id = await start(sim, toJsonl([line]))
    expect((await end(sim, id)).status).toBe('failed')
    for (const request of [`GET /v1/batches/${id}`, 'GET /v1/batches?limit=1']) {
      const { body } = await send(sim, request)
      const [error] = (body.data?.[0] ?? body).errors.data
      expect(error.param).toBe(param)
    }
    const { body } = await send(sim, `GET /v1/batches/${id}`, undefined, NEUTRAL)
    const neutral = body.errors.data[0].param
    expect(neutral).toBe(neutralField === 'unknown_model' ? 'body.model' : `${CHAT}.${neutralField}`)
  })

  test('of unknown fields keep the name of the client', async () => {
    const sim = world(names, { strictRequests: true })
    const id = await start(sim, toJsonl([{ ...good, payload: { ...good.payload, 'own.field': 1 } }]))
    await end(sim, id)
    const { body } = await send(sim, `GET /v1/batches/${id}`)
    expect(body.errors.data[0].param).toBe('/v2/talk.payload.own.field')
  })
})

test('messages of rows have the neutral words', async () => {
  const names = { paths: { hosted: 'machines' }, fields: { hub: 'repository', message: 'text' } } satisfies NamesProfile
  const row = { id: 'r', custom_id: 'c', response: null, error: { code: '404', message: 'no hosted instance of hub' } }
  const file = {
    id: 'file_rows',
    filename: 'rows.jsonl',
    purpose: 'batch_output',
    created_at: 1_767_225_600,
    content: toJsonl([row]),
  }
  const sim = world(names, { fixtures: 'default', with: { files: [file as never] } })
  const [stored] = rowsOf(await content(sim, file.id))
  expect(stored.error).toEqual({ code: '404', text: 'no hosted instance of hub' })
})

test('a fork, a snapshot and a restored world keep the names', async () => {
  const names = { fields: { custom_id: 'key', model: 'engine', choices: 'options' } }
  const sim = world(names)
  const { custom_id: key, body, ...rest } = chat('a')
  const { model: engine, ...payload } = body
  const id = await start(sim, toJsonl([{ key, ...rest, body: { engine, ...payload } }]))
  const taken = Snapshot.from(sim.snapshot().toBytes())
  const worlds = [sim.fork(), createSimulator({ fixtures: taken, names }), sim]
  const texts: string[] = []
  for (const one of worlds) {
    const { output_file_id } = await end(one, id)
    texts.push(await content(one, output_file_id))
  }
  expect(rowsOf(texts[0]!)[0]).toMatchObject({
    key: 'a',
    response: { body: { options: [{ index: 0 }], engine: MODEL } },
  })
  expect(new Set(texts).size).toBe(1)
  // The files of a snapshot have the names of the world that reads them.
  const ended = sim.snapshot()
  const { output_file_id } = await end(sim, id)
  const other = createSimulator({ fixtures: ended, names: { fields: { custom_id: 'ref' } } })
  expect(rowsOf(await content(other, output_file_id))[0]).toMatchObject({
    ref: 'a',
    response: { body: { choices: [{}] } },
  })
  sim.reset()
  sim.restore(taken)
  expect(await content(sim, (await end(sim, id)).output_file_id)).toBe(texts[0])
})

test('files of a fixture have the names of the world', async () => {
  const [neutral, named] = [world(undefined), world({ fields: { custom_id: 'key' } })]
  const { body } = await send(neutral, 'GET /v1/batches?limit=100')
  const { output_file_id } = body.data.find((one: Json) => one.output_file_id)
  const [rows, namedRows] = [
    rowsOf(await content(neutral, output_file_id)),
    rowsOf(await content(named, output_file_id)),
  ]
  expect(rows.length).toBeGreaterThan(0)
  expect(namedRows).toEqual(rows.map(row => rename(row, { custom_id: 'key' })))
})

test('the fields of lines are listed, and may not collide', async () => {
  expect(() => world({ fields: { 'BatchRequestLine.custom_id': 'body' } })).toThrow(
    "fields.BatchRequestLine.custom_id: 'body' is a field beside it in uploadFile already",
  )
  expect(() => world({ fields: { 'BatchResultLine.response.body': 'request_id' } })).toThrow('is a field beside it')
})

test('the examples of a model have the names of the world', async () => {
  const sim = world({ fields: { model: 'engine', messages: 'turns', choices: 'options' } })
  const { curl_inv, out_example } = (await send(sim, `GET /models/${MODEL}`)).body
  expect(curl_inv).toContain(CHAT)
  const input = JSON.parse(curl_inv.match(/--json '(.*)'/)[1])
  expect(Object.keys(input)).toEqual(['engine', 'turns'])
  expect((await send(sim, `POST ${CHAT}`, input)).status).toBe(200)
  expect(JSON.parse(out_example)).toHaveProperty('options')
  const neutral = (await send(sim, `GET /models/${MODEL}`, undefined, NEUTRAL)).body
  expect(neutral.curl_inv).toContain(`"messages"`)
  expect(JSON.parse(neutral.out_example)).toHaveProperty('choices')
})
