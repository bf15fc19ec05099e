import { describe, expect, test } from 'vitest'
import { ByteHash } from '../../src/kernel/random.ts'
import { readUpload, type UploadLimits, type UploadResult } from '../../src/service/http/bodies/multipart.ts'
import { batchFile } from '../setup/batches.ts'

const limits: UploadLimits = {
  required: ['purpose'],
  limit: { bytes: 1000, refusal: 'over 1000' },
  limitFor: ({ purpose }) => (purpose === 'batch' ? { bytes: 600, refusal: 'over 600' } : undefined),
}

const BOUNDARY = 'xyz'
const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`
const FILE = 'Content-Disposition: form-data; name="file"; filename="a.jsonl"\r\nContent-Type: application/jsonl'
const part = (headers: string, body: string) => `--${BOUNDARY}\r\n${headers}\r\n\r\n${body}\r\n`
const field = (name: string, value: string) => part(`Content-Disposition: form-data; name="${name}"`, value)
const END = `--${BOUNDARY}--\r\n`

/** A body in pieces of a size, as a socket would bring it. */
function body(text: string | Uint8Array, piece = 65_536): ReadableStream<Uint8Array> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, at + piece))
      at += piece
    },
  })
}

function post(content: BodyInit, headers: Record<string, string> = {}): Request {
  const init = { method: 'POST', body: content, headers, duplex: 'half' }
  return new Request('http://sim/v1/files', init)
}

async function upload(text: string, { type = MULTIPART, piece = 65_536, under = limits } = {}): Promise<UploadResult> {
  return readUpload(post(body(text, piece)), type, under)
}

/** A shorter word for what came of it. */
function outcome(result: UploadResult): unknown {
  if ('refused' in result) return [result.refused.status, result.refused.message]
  if ('issues' in result) return result.issues.map(issue => issue.loc.join('/'))
  const { fields, file, fileAsText } = result.form
  const text = file && new TextDecoder().decode(joined(file.chunks))
  return { fields: { ...fields }, file: file && [file.filename, text], ...(fileAsText && { fileAsText }) }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

const good = { fields: { purpose: 'batch' }, file: ['a.jsonl', '{"a":1}\n'] }

describe('forms', () => {
  test.each([
    ['purpose first', field('purpose', 'batch') + part(FILE, '{"a":1}\n') + END, good],
    ['file first', part(FILE, '{"a":1}\n') + field('purpose', 'batch') + END, good],
    [
      'other fields are kept out of the way',
      field('x', 'y') + part(FILE, 'z') + END,
      { fields: { x: 'y' }, file: ['a.jsonl', 'z'] },
    ],
    ['an empty file', field('purpose', 'batch') + part(FILE, '') + END, { ...good, file: ['a.jsonl', ''] }],
    ['no file', field('purpose', 'batch') + END, { fields: good.fields, file: undefined }],
    ['nothing', END, { fields: {}, file: undefined }],
    ['file as text', field('file', '{}') + END, { fields: {}, file: undefined, fileAsText: true }],
    [
      'a path in the filename is dropped',
      part(FILE.replace('a.jsonl', '../../a.jsonl'), 'z') + END,
      { fields: {}, file: ['a.jsonl', 'z'] },
    ],
    ['a file under another name', part(FILE.replace('"file"', '"other"'), 'z') + END, { fields: {}, file: undefined }],
    [
      'a field named as the language names things',
      field('__proto__', 'x') + field('constructor', 'y') + END,
      {
        fields: Object.fromEntries([
          ['__proto__', 'x'],
          ['constructor', 'y'],
        ]),
        file: undefined,
      },
    ],
  ])('%s', async (_, text, expected) => {
    expect(outcome(await upload(text))).toEqual(expected)
    expect(outcome(await upload(text, { piece: 1 }))).toEqual(expected)
  })

  test('a form of fetch is read with all its parts', async () => {
    const request = post(batchFile('{"ä":1}\n', 'ünï.jsonl'))
    const result = await readUpload(request, request.headers.get('content-type'), limits)
    expect(outcome(result)).toEqual({ fields: { purpose: 'batch' }, file: ['ünï.jsonl', '{"ä":1}\n'] })
  })
})

describe('an invalid upload', () => {
  test.each([
    ['no content type', END, { type: '' }, ['header/content-type', 'body/purpose', 'body/file']],
    ['JSON', '{}', { type: 'application/json' }, ['header/content-type', 'body/purpose', 'body/file']],
    ['no boundary', END, { type: 'multipart/form-data' }, ['body']],
    ['another boundary', part(FILE, 'x') + END, { type: 'multipart/form-data; boundary=abc' }, ['body']],
    ['garbage', 'x'.repeat(500), {}, ['body']],
    ['an empty body', '', {}, ['body']],
    ['cut in the file', part(FILE, 'x'.repeat(100)).slice(0, -40), {}, ['body']],
    ['cut in the headers', `--${BOUNDARY}\r\nContent-Dispo`, {}, ['body']],
    ['cut before the end', part(FILE, 'x'), {}, ['body']],
    ['more than 100 parts', field('a', 'b').repeat(101) + END, {}, ['body']],
    ['an endless field', field('a', 'b'.repeat(1_100_000)) + END, {}, ['body']],
  ])('%s', async (_, text, options, expected) => {
    expect(outcome(await upload(text, options))).toEqual(expected)
  })

  test('a body that breaks off', async () => {
    const broken = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(part(FILE, 'x')))
      },
      pull() {
        throw new Error('the client left')
      },
    })
    expect(outcome(await readUpload(post(broken), MULTIPART, limits))).toEqual(['body'])
  })
})

describe('sizes', () => {
  const sized = (bytes: number, purpose = 'other') => field('purpose', purpose) + part(FILE, 'x'.repeat(bytes)) + END
  const late = (bytes: number) => part(FILE, 'x'.repeat(bytes)) + field('purpose', 'batch') + END

  test.each([
    ['the limit itself', sized(1000), undefined],
    ['one more', sized(1001), [413, 'over 1000']],
    ['the limit of the purpose itself', sized(600, 'batch'), undefined],
    ['one more than that', sized(601, 'batch'), [413, 'over 600']],
    ['a purpose that follows, the limit itself', late(600), undefined],
    ['a purpose that follows, one more', late(601), [413, 'over 600']],
    ['two files together', part(FILE, 'x'.repeat(501)) + part(FILE, 'x'.repeat(500)) + END, [413, 'over 1000']],
  ])('%s', async (_, text, refused) => {
    const result = outcome(await upload(text))
    if (refused) expect(result).toEqual(refused)
    else expect(result).toHaveProperty('file')
  })

  test('a file over the limit is refused at once, and the rest is never read', async () => {
    let pulled = 0
    let cancelled = false
    const endless = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`--${BOUNDARY}\r\n${FILE}\r\n\r\n`))
      },
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(500))
      },
      cancel() {
        cancelled = true
      },
    })
    expect(outcome(await readUpload(post(endless), MULTIPART, limits))).toEqual([413, 'over 1000'])
    // Chunks that were in buffers already are dropped.
    expect(pulled * 500).toBeLessThan(100_000)
    expect(cancelled).toBe(true)
  })

  test('a body is refused by its Content-Length when it is over the limit', async () => {
    const request = post(body(END), { 'content-length': '600000000' })
    expect(outcome(await readUpload(request, MULTIPART, limits))).toEqual([413, 'over 1000'])
    expect(request.bodyUsed).toBe(false)
  })
})

test('chunks are kept with small ones joined, and the hash is the hash of the content', async () => {
  const content = new Uint8Array(300_000).map((_, i) => (i * 31) % 251)
  const head = new TextEncoder().encode(`--${BOUNDARY}\r\n${FILE}\r\n\r\n`)
  const tail = new TextEncoder().encode(`\r\n${END}`)
  const all = joined([head, content, tail])
  const large = { limit: { bytes: 1_000_000, refusal: '' } }
  const expected = new ByteHash()
  expected.update(content)
  for (const piece of [100, 65_536, 1_000_000]) {
    const result = await readUpload(post(body(all, piece)), MULTIPART, large)
    if (!('form' in result)) throw new Error('expected a form')
    const file = result.form.file!
    expect(file.bytes).toBe(content.length)
    expect(file.hash).toBe(expected.digest())
    expect(file.chunks.length).toBeLessThan(12)
    expect(Buffer.compare(joined(file.chunks), content)).toBe(0)
  }
})
