import { describe, expect, test } from 'vitest'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { rowsOf } from '../setup/batches.ts'
import { formOf } from '../setup/send-to.ts'
import { issues, refused, SECOND, type Service, service } from './service-world.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const line = (custom_id: string, model = MODEL) =>
  JSON.stringify({
    custom_id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content: `Say ${custom_id}.` }], max_tokens: 16 },
  })

const upload = ({ client }: Service, file: string) =>
  client.uploadFile({ purpose: 'batch', file, filename: 'in.jsonl' })

describe('files', () => {
  test('an upload returns its record, and its content is unchanged', async () => {
    const { client } = service('empty')
    const content = '{"ü":"🦙"}\r\nnot json at all\n'
    const file = await client.uploadFile({ purpose: 'batch', file: content, filename: 'in put.jsonl' })
    expect(file).toEqual({
      id: expect.stringMatching(/^file_[A-Za-z0-9]{24}$/),
      object: 'file',
      bytes: new TextEncoder().encode(content).length,
      created_at: 1_767_225_600,
      filename: 'in put.jsonl',
      purpose: 'batch',
      expires_at: 1_767_225_600 + 30 * 86_400,
    })
    expect(await client.getFileContent({ file_id: file.id })).toBe(content)
  })

  test('text, bytes, blobs and an empty file can be uploaded', async () => {
    const { client } = service('empty')
    for (const file of [new Uint8Array([123, 125]), new Blob(['{}'])]) {
      const { id } = await client.uploadFile({ purpose: 'batch', file })
      expect(await client.getFileContent({ file_id: id })).toBe('{}')
    }
    const { id, bytes } = await client.uploadFile({ purpose: 'batch', file: '' })
    expect([bytes, await client.getFileContent({ file_id: id })]).toEqual([0, ''])
  })

  test('raw bytes are stored unchanged', async () => {
    const { client, ask: _ } = service('empty')
    const content = new Uint8Array(200_000).map((_, i) => i % 256)
    const { id } = await client.uploadFile({ purpose: 'batch', file: content })
    const response = await client.raw(new Request(`http://sim/v1/files/${id}/content`))
    expect(response.headers.get('content-type')).toBe('binary/octet-stream')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="file.jsonl"')
    expect(Buffer.compare(new Uint8Array(await response.arrayBuffer()), content)).toBe(0)
  })

  test('invalid uploads are refused', async () => {
    const { client, ask } = service('empty')
    expect(await issues(client.uploadFile({ purpose: 'fine-tune' as never, file: 'x' }))).toEqual([
      'body/purpose literal_error',
    ])
    expect(await issues(client.uploadFile({} as never))).toEqual(['body/purpose missing', 'body/file missing'])
    const body = formOf({ purpose: 'batch', file: '{}' })
    const { detail } = await (await client.raw(new Request('http://sim/v1/files', { method: 'POST', body }))).json()
    expect(detail).toMatchObject([{ loc: ['body', 'file'], msg: expect.stringContaining('filename') }])
    expect((await ask('POST /v1/files', { purpose: 'batch' })).status).toBe(422)
    expect((await ask('POST /v1/files', { purpose: 'batch' }, {})).status).toBe(401)
    expect(await refused(client.getFileContent({ file_id: 'none' }))).toEqual([404, 'file not found'])
  })

  test('an upload over the storage limit is refused and not stored', async () => {
    const { client, world } = service('empty', undefined, { maxStorageBytes: 1000 })
    const send = (bytes: number) => client.uploadFile({ purpose: 'batch', file: 'x'.repeat(bytes) })
    expect(await refused(send(1001))).toEqual([413, 'file does not fit: the files of the account may hold 1000 bytes'])
    expect(world.files.storedBytes).toBe(0)
    await send(600)
    expect((await refused(send(401)))[0]).toBe(413)
    await send(400)
    expect((await refused(send(1)))[0]).toBe(413)
    expect(world.files.storedBytes).toBe(1000)
  })

  test('the later of two simultaneous uploads is refused when both exceed the limit', async () => {
    const { client } = service('empty', undefined, { maxStorageBytes: 1000 })
    const send = () => client.uploadFile({ purpose: 'batch', file: 'x'.repeat(600) })
    const outcomes = await Promise.allSettled([send(), send()])
    expect(outcomes.map(one => one.status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('a file expires when the upload says so', async () => {
    const { client, world } = service('empty')
    const life = (seconds: number) =>
      ({ 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': seconds }) as const
    const send = (more: object) => client.uploadFile({ purpose: 'batch', file: '{}', ...more })
    const { id, created_at, expires_at } = await send(life(7200))
    expect(expires_at - created_at).toBe(7200)
    expect((await send(life(2_592_000))).expires_at - created_at).toBe(2_592_000)
    for (const wrong of [
      life(3599),
      life(2_592_001),
      { 'expires_after[seconds]': 7200 },
      { 'expires_after[anchor]': 'created_at' },
    ]) {
      expect((await refused(send(wrong)))[0]).toBe(422)
    }
    world.runTo(7200 * SECOND - 1)
    expect(await client.getFileContent({ file_id: id })).toBe('{}')
    world.runTo(7200 * SECOND)
    expect((await refused(client.getFileContent({ file_id: id })))[0]).toBe(404)
  })

  test('the files of a batch expire when its creation says so', { tags: 'slow' }, async () => {
    await loadTokenizer()
    const { client, world } = service('default')
    const { id: input_file_id } = await client.uploadFile({ purpose: 'batch', file: line('one') })
    const create = (seconds: number) =>
      client.createBatch({
        input_file_id,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        output_expires_after: { anchor: 'created_at', seconds },
      })
    expect((await refused(create(3599)))[0]).toBe(422)
    const { id } = await create(3600)
    world.runTo(24 * 3600 * SECOND)
    const { output_file_id, status, completed_at } = await client.getBatch({ batch_id: id })
    expect([status, output_file_id]).toEqual(['completed', expect.any(String)])
    expect((await refused(client.getFile({ file_id: output_file_id! })))[0]).toBe(404)
    const expired = world.journal.entries(0).filter(({ kind }) => kind === 'file.expired')
    expect(expired.map(({ time }) => world.clock.unix(time))).toEqual([completed_at! + 3600, completed_at! + 3600])
  })

  test('a file expires after 30 days', async () => {
    const { client, world } = service('empty')
    const { id } = await client.uploadFile({ purpose: 'batch', file: '{}' })
    world.runTo(30 * 86_400 * SECOND - 1)
    expect(await client.getFileContent({ file_id: id })).toBe('{}')
    world.runTo(30 * 86_400 * SECOND)
    expect((await refused(client.getFileContent({ file_id: id })))[0]).toBe(404)
  })
})

describe('batches', () => {
  const batch = (input_file_id: string, change = {}) => ({
    input_file_id,
    endpoint: '/v1/chat/completions' as const,
    completion_window: '24h' as const,
    ...change,
  })

  test('a batch runs from upload to output', async () => {
    const here = service('empty')
    const { client, world } = here
    await loadTokenizer()
    const file = await upload(here, [line('one'), line('two')].join('\n'))
    const created = await client.createBatch(batch(file.id, { metadata: { team: 'a' } }))
    expect(created).toMatchObject({
      id: expect.stringMatching(/^batch_[A-Za-z0-9]{24}$/),
      object: 'batch',
      endpoint: '/v1/chat/completions',
      input_file_id: file.id,
      completion_window: '24h',
      status: 'validating',
      created_at: 1_767_225_600,
      expires_at: 1_767_225_600 + 86_400,
      errors: null,
      request_counts: null,
      output_file_id: null,
      error_file_id: null,
      in_progress_at: null,
      metadata: { team: 'a' },
    })
    expect(await client.getBatch({ batch_id: created.id })).toEqual(created)
    world.runTo(3600 * SECOND)
    const done = await client.getBatch({ batch_id: created.id })
    expect(done).toMatchObject({
      status: 'completed',
      request_counts: { total: 2, completed: 2, failed: 0 },
      output_file_id: expect.stringMatching(/^file_\w{24}$/),
      error_file_id: expect.stringMatching(/^file_\w{24}$/),
    })
    const output = await client.getFileContent({ file_id: done.output_file_id! })
    const expected = ['one', 'two']
    expect(
      rowsOf(output)
        .map(({ custom_id }) => custom_id)
        .sort(),
    ).toEqual(expected)
    const { filename } = await client.getFile({ file_id: done.output_file_id! })
    const errors = await client.getFile({ file_id: done.error_file_id! })
    expect([filename, errors.filename, errors.bytes]).toEqual([
      `${created.id}_output.jsonl`,
      `${created.id}_errors.jsonl`,
      0,
    ])
  })

  test.each<[string, object, string[]]>([
    ['another endpoint', { endpoint: '/v1/embeddings' }, ['body/endpoint literal_error']],
    ['another window', { completion_window: '1h' }, ['body/completion_window literal_error']],
    ['a list of metadata', { metadata: [] }, ['body/metadata dict_type']],
    ['a number in metadata', { metadata: { a: 1 } }, ['body/metadata/a string_type']],
    ['a long key', { metadata: { ['k'.repeat(65)]: '' } }, [`body/metadata/${'k'.repeat(65)}/[key] string_too_long`]],
    ['a long value', { metadata: { k: 'v'.repeat(513) } }, ['body/metadata/k string_too_long']],
    [
      '17 pairs',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) },
      ['body/metadata too_long'],
    ],
    ['no file', { input_file_id: null }, ['body/input_file_id string_type']],
  ])('%s: 422', async (_, change, expected) => {
    const here = service('empty')
    const file = await upload(here, '{}')
    expect(await issues(here.client.createBatch(batch(file.id, change)))).toEqual(expected)
  })

  test.each([
    ['absent', {}],
    ['null', { metadata: null }],
    ['empty', { metadata: {} }],
    ['16 pairs', { metadata: Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'v'.repeat(512)])) }],
  ])('metadata %s: fine', async (_, change: { metadata?: Record<string, string> | null }) => {
    const here = service('empty')
    const file = await upload(here, '{}')
    expect((await here.client.createBatch(batch(file.id, change))).metadata).toEqual(change.metadata ?? null)
  })
})
