/** The schemas of models against the endpoints that they describe: what one takes, the other accepts. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { hash32 } from '../../src/kernel/random.ts'
import type { JsonSchema } from '../../src/lib/json-schema/document.ts'
import { generateValue } from '../../src/lib/json-schema/generate.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { wavFile } from './media/audio-files.ts'
import { createPng } from './media/png-writer.ts'

type Json = Record<string, unknown>

interface Schemas {
  variant: { key: string; url: string }
  fields_in: { name: string; ftype: string; parent?: string }[]
  schema_in?: Json
  schema_out: Json
  schema_stream?: Json
}

const METHODS: Record<string, string> = { 'read-voice': 'GET', 'list-voices': 'GET', 'delete-voice': 'DELETE' }
const FORMS = ['create-voice', 'update-voice']
const AUDIO = `data:audio/wav;base64,${Buffer.from(wavFile()).toString('base64')}`
const PNG = createPng({ width: 64, height: 64 })
/** Bodies for each variant of a model. */
const BODIES = 2
/** Bodies of each variant that are changed in several ways. */
const MUTATED_BODIES = 12

const ajv = new Ajv2020({ allErrors: false, strict: false })
const plugin = ((addFormats as { default?: unknown }).default ?? addFormats) as (to: Ajv2020) => void
plugin(ajv)
const compiled = new Map<string, ValidateFunction>()
function validatorOf(schema: Json): ValidateFunction {
  const text = JSON.stringify(schema)
  const known = compiled.get(text) ?? ajv.compile(schema)
  compiled.set(text, known)
  return known
}
function expectFit(schema: Json, value: unknown, place: string): void {
  const validate = validatorOf(schema)
  expect(validate(value), `${place}: ${ajv.errorsText(validate.errors)} ${JSON.stringify(value)}`).toBe(true)
}

const sims = new Map<string, Simulator>()
function simOf(fixtures: string): Simulator {
  const sim = sims.get(fixtures) ?? createSimulator({ fixtures, seed: 1 })
  sims.set(fixtures, sim)
  return sim
}

async function send(sim: Simulator, method: string, path: string, body?: Json, asForm = false) {
  const headers = { authorization: `Bearer ${sim.token}` }
  return sim.fetch(`http://sim${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: asForm ? toForm(body) : JSON.stringify(body) }),
  })
}

function toForm(fields: Json): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'files') form.append(name, new Blob([`RIFF${value}`]), 'sample.wav')
    else if (name === 'image' || name === 'mask') form.append(name, new Blob([PNG]), 'river.png')
    else if (name === 'file') form.append(name, new Blob([wavFile() as Uint8Array<ArrayBuffer>]), 'memo.wav')
    else if (Array.isArray(value)) for (const entry of value) form.append(`${name}[]`, String(entry))
    // A form cannot hold null.
    else if (value === null) continue
    else form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return form
}

/** Returns whether the body of a variant is a form with a file. */
function isUpload({ schema_in }: Schemas): boolean {
  const fields = Object.values((schema_in?.properties ?? {}) as Record<string, Json>)
  return fields.some(field => field.contentMediaType !== undefined)
}

async function schemasOf(sim: Simulator, model_name: string): Promise<Schemas[]> {
  const model = await (await send(sim, 'GET', `/models/${model_name}`)).json()
  return Promise.all(
    model.schemas.map(async ({ key, url }: Schemas['variant']) => {
      const schemas = await (await send(sim, 'GET', `/models/${model_name}/schema/${key}`)).json()
      expect(schemas.variant).toEqual({ key, url })
      return schemas
    }),
  )
}

/** Returns a body that fits the schema. It is drawn from the key. */
function drawBody(schema_in: Json, model_name: string, key: string): Json {
  const { allOf: _, ...fields } = schema_in
  for (let attempt = 0; ; attempt++) {
    const body = generateValue(fields as JsonSchema, {
      integer: (count, index) => hash32(`${key}/${attempt}/${index}`) % count,
      hex: (length, index) =>
        hash32(`${key}/${attempt}/hex/${index}`).toString(16).padStart(length, '0').slice(0, length),
      text: (words, seed) =>
        Array.from({ length: words }, (_, i) => ['river', 'stone', 'tide'][(seed.length + i) % 3]).join(' '),
    }) as Json
    for (const name of ['model', 'model_id']) if (name in (fields.properties as Json)) body[name] = model_name
    for (const name of ['voice', 'preset_voice', 'voice_id']) if (name in body) body[name] = 'ada'
    // A size is a text, and only a supported one is answered.
    if ('size' in body) body.size = '64x64'
    // A drawn data URL is not an audio, which is 400.
    if ('audio' in body) body.audio = AUDIO
    // JSON Schema cannot say that a choice names one of the tools.
    if (typeof body.tool_choice === 'object' && body.tool_choice !== null) delete body.tool_choice
    // An address beyond loopback is refused, and the world of these tests never gets to send a result.
    if ('webhook' in body) body.webhook = hash32(key) % 3 === 0 ? 'http://127.0.0.1:9/hook' : null
    if (validatorOf(schema_in)(body)) return body
  }
}

/** Yields an array in place of the body, then the body with one value replaced or removed, for each value that the key draws. */
function* mutate(body: Json, key: string): Generator<Json> {
  yield [] as never
  const paths: string[][] = []
  const visit = (value: unknown, path: string[]) => {
    if (path.length > 0) paths.push(path)
    if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) visit(inner, [...path, name])
    }
  }
  visit(body, [])
  for (let i = 0; i < 6; i++) {
    const copy = structuredClone(body)
    const path = paths[hash32(`${key}/path/${i}`) % paths.length]!
    const parent = path.slice(0, -1).reduce((value, name) => value[name] as Json, copy)
    const name = path.at(-1)!
    const replacements = [undefined, {}, [], 'x', '', -1, 1.5, 1e9, true, 'x'.repeat(1_001)]
    const replacement = replacements[hash32(`${key}/value/${i}`) % replacements.length]
    if (replacement !== undefined) parent[name] = replacement
    else if (Array.isArray(parent)) parent.splice(Number(name), 1)
    else delete parent[name]
    yield copy
  }
}

async function expectAnswerFits(response: Response, { variant, schema_out, schema_stream }: Schemas): Promise<void> {
  const place = `answer of ${variant.url}`
  const type = response.headers.get('content-type')!
  if (type.startsWith('audio/')) {
    expect(schema_out).toEqual({ type: 'string', format: 'binary' })
    return
  }
  if (type.startsWith('text/plain')) return expectFit(schema_out, await response.text(), place)
  if (!type.startsWith('text/event-stream')) {
    expectFit(schema_out, await response.json(), place)
    return
  }
  const events = (await response.text()).split('\n\n').filter(event => event.startsWith('data: {'))
  expect(events.length).toBeGreaterThan(0)
  for (const event of events) expectFit(schema_stream!, JSON.parse(event.slice(6)), `event of ${variant.url}`)
}

const named = createSimulator({ fixtures: 'default' }).world.store.models.all()
const types = [...new Set(named.map(({ type }) => type))]

describe.each(types)('each model of the type %s', type => {
  const models = named.filter(model => model.type === type)

  test('accepts bodies that fit schema_in, and answers as schema_out and schema_stream say', async () => {
    const sim = simOf('default')
    const answered = new Map<string, Set<boolean>>()
    for (const { model_name, deprecated } of models) {
      for (const schemas of await schemasOf(sim, model_name)) {
        const { variant, schema_in } = schemas
        if (variant.url.includes('{')) continue
        for (let i = 0; i < BODIES; i++) {
          const body = schema_in && drawBody(schema_in, model_name, `${model_name}/${variant.key}/${i}`)
          const response = await send(
            sim,
            METHODS[variant.key] ?? 'POST',
            variant.url,
            body,
            FORMS.includes(variant.key) || isUpload(schemas),
          )
          const refused = response.ok ? '' : `${response.status} ${await response.clone().text()}`
          // 405 and 422: tools, images and roles that the model does not take.
          expect([200, 400, 404, 405, 422], `${variant.url} ${JSON.stringify(body)} ${refused}`).toContain(
            response.status,
          )
          if (response.status === 404) expect(deprecated).not.toBeNull()
          if (!response.ok) continue
          const isStreamed = response.headers.get('content-type')!.startsWith('text/event-stream')
          answered.set(variant.key, (answered.get(variant.key) ?? new Set()).add(isStreamed))
          await expectAnswerFits(response, schemas)
        }
        if (!answered.has(variant.key)) answered.set(variant.key, new Set())
      }
    }
    for (const [key, modes] of answered) {
      expect([key, modes.size > 0]).toEqual([key, true])
      if (/completions$/.test(key)) expect([key, modes]).toEqual([key, new Set([false, true])])
    }
  })

  test('has no schema_in that fits a body that its endpoint refuses with 422', async () => {
    const sim = simOf('default')
    const { model_name } = models.find(({ deprecated }) => deprecated === null)!
    for (const schemas of await schemasOf(sim, model_name)) {
      const { variant, schema_in } = schemas
      if (schema_in === undefined || variant.url.includes('{')) continue
      const isForm = FORMS.includes(variant.key)
      const asForm = isForm || isUpload(schemas)
      let refusals = 0
      for (let i = 0; i < MUTATED_BODIES; i++) {
        const key = `${model_name}/${variant.key}/${i}`
        for (const body of mutate(drawBody(schema_in, model_name, key), key)) {
          if (typeof body.tool_choice === 'object') continue
          if (isForm && Object.values(body).some(value => typeof value !== 'string')) continue
          const { status } = await send(sim, 'POST', variant.url, body, asForm)
          if (status !== 422) continue
          refusals++
          expect(validatorOf(schema_in)(body), `${variant.url} ${JSON.stringify(body)}`).toBe(false)
        }
      }
      expect([variant.key, refusals > 0]).toEqual([variant.key, true])
    }
  })
})

test('the variants of voices answer as their schemas say', async () => {
  const sim = createSimulator({ fixtures: 'default', seed: 1 })
  const { voice_id } = sim.world.store.voices.all()[0]!
  const speech = named.find(model => model.type === 'text-to-speech')!.model_name
  const schemas = await schemasOf(sim, speech)
  const keys = schemas.map(({ variant }) => variant.key)
  const ofVoices = ['create-voice', 'read-voice', 'update-voice', 'delete-voice', 'list-voices']
  expect(keys).toEqual(['default', 'compat-tts', 'altvendor-tts', ...ofVoices, 'ai-sdk'])
  for (const one of [...schemas].sort(
    (a, b) => Number(a.variant.key === 'delete-voice') - Number(b.variant.key === 'delete-voice'),
  )) {
    const { key, url } = one.variant
    const body = one.schema_in && drawBody(one.schema_in, speech, key)
    const path = url.replace('{voice_id}', voice_id)
    const response = await send(sim, METHODS[key] ?? 'POST', path, body, FORMS.includes(key))
    expect([key, response.status]).toEqual([key, 200])
    await expectAnswerFits(response, one)
  }
})

test.each(['default', 'empty', 'fleet', 'full', 'two-nodes'])(
  'each variant of each model of the world %s has an endpoint that answers',
  async fixture => {
    const sim = simOf(fixture)
    for (const { model_name } of sim.world.store.models.all()) {
      const model = await (await send(sim, 'GET', `/models/${model_name}`)).json()
      for (const { key, url } of model.schemas as Schemas['variant'][]) {
        const path = url.replace('{voice_id}', 'voice_missing')
        const response = await send(sim, METHODS[key] ?? 'POST', path)
        const expected = [url, null, '{"detail":"Not Found"}']
        expect([url, response.headers.get('allow'), await response.text()]).not.toEqual(expected)
        expect([url, response.status]).not.toEqual([url, 405])
      }
    }
  },
)

test('fields_in are the fields of the body with their bounds, each below its parent', async () => {
  const sim = simOf('default')
  const get = async (path: string): Promise<Schemas> => (await send(sim, 'GET', path)).json()
  const { fields_in } = await get('/models/aurora-labs/aurora-8b-instruct/schema/compat-chat-completions')
  const find = (name: string, parent?: string) => fields_in.find(one => one.name === name && one.parent === parent)
  expect(find('messages')).toEqual({ name: 'messages', ftype: 'array' })
  expect(find('role', 'messages')).toMatchObject({ ftype: 'string', allowed: expect.arrayContaining(['user', 'tool']) })
  expect(find('temperature')).toMatchObject({ ftype: 'number', minimum: 0, maximum: 2 })
  expect(find('type', 'response_format')).toMatchObject({ allowed: ['text', 'json_object', 'json_schema', 'regex'] })
  expect(find('seed')).not.toHaveProperty('maximum')
  const voice = await get(`/models/${named.find(one => one.type === 'text-to-speech')!.model_name}/schema/update-voice`)
  expect(voice.fields_in.map(({ name }) => name)).toEqual(['voice_id', 'name', 'description'])
})
