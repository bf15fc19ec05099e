/** The files of a batch with many kinds of lines, as a client reads them. */
import { expect, test } from 'vitest'
import { Snapshot } from '../../src/simulator/checkpoint/snapshot.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { batchFile, batchLine, rowsOf, startBatch } from '../setup/batches.ts'
import { sendTo } from '../setup/send-to.ts'

const model = 'aurora-labs/aurora-8b-instruct'
type Sim = ReturnType<typeof createSimulator>

/** Lines that are drawn, lines with stored choices, with a service tier, and lines that fail. */
const body = (i: number) => ({
  model,
  messages: [{ role: 'user', content: `Say é ${i}.` }],
  max_tokens: 60,
  ...(i % 5 === 0 && { n: 2 }),
  ...(i % 7 === 0 && { stream: true }),
  ...(i % 11 === 0 && { service_tier: 'flex' }),
})

async function send(sim: Sim, path: string, init: RequestInit = {}) {
  const response = await sendTo(sim, `${init.method ?? 'GET'} ${path}`, undefined, init)
  expect(response.status).toBe(200)
  return response
}

async function begin(sim: Sim, lines: number): Promise<string> {
  const all = Array.from({ length: lines }, (_, i) => batchLine(`ü"${i}`, body(i)))
  return (await startBatch(sim, all)).id
}

/** Moves time to the end of a batch. Returns the responses with its output file and its error file. */
async function end(sim: Sim, id: string): Promise<[Response, Response]> {
  await sim.clock.advance('24h')
  const batch = await (await send(sim, `/v1/batches/${id}`)).json()
  expect(batch).toMatchObject({ status: 'completed', errors: null })
  const content = (file: string) => send(sim, `/v1/files/${file}/content`)
  return [await content(batch.output_file_id), await content(batch.error_file_id)]
}

test('a large output file is the same as text, as bytes and in pieces, and can be read once', async () => {
  const sim = createSimulator({ fixtures: 'empty', with: { account: { funds_cents: 1_000_000 } } })
  const [output, errors] = await end(sim, await begin(sim, 300))
  const [bytes, pieces, locked, cancelled] = [output.clone(), output.clone(), output.clone(), output.clone()]
  const text = await output.text()
  expect(output.bodyUsed).toBe(true)
  await expect(output.text()).rejects.toThrow(TypeError)
  expect(Buffer.from(await bytes.arrayBuffer()).toString()).toBe(text)

  const lengths: number[] = []
  const decoder = new TextDecoder()
  let joined = ''
  for await (const piece of pieces.body as unknown as AsyncIterable<Uint8Array>) {
    lengths.push(piece.length)
    joined += decoder.decode(piece, { stream: true })
  }
  expect(joined).toBe(text)
  expect(lengths.length).toBeGreaterThan(1)
  expect(Math.max(...lengths)).toBeLessThanOrEqual(65_536)
  expect(Number(pieces.headers.get('content-length'))).toBe(lengths.reduce((sum, length) => sum + length))

  locked.body!.getReader()
  await expect(locked.text()).rejects.toThrow(TypeError)
  void cancelled.body!.cancel()
  await expect(cancelled.text()).rejects.toThrow(TypeError)

  const idsOf = (lines: string) => rowsOf(lines).map(({ custom_id }) => custom_id)
  const ids = [...idsOf(text), ...idsOf(await errors.text())]
  expect(ids.toSorted()).toEqual(Array.from({ length: 300 }, (_, i) => `ü"${i}`).toSorted())
})

test('a reader that changes the bytes of a file changes no file', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const content = '{"custom_id":"ü"}\n'.repeat(10_000)
  const { id } = await (await send(sim, '/v1/files', { method: 'POST', body: batchFile(content) })).json()
  const read = () => send(sim, `/v1/files/${id}/content`)
  for await (const piece of (await read()).body as unknown as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    piece.fill(0)
    structuredClone(piece, { transfer: [piece.buffer] })
  }
  expect(await (await read()).text()).toBe(content)
})

test('a batch that continues from the bytes of a snapshot writes the same files', { tags: 'slow' }, async () => {
  const sim = createSimulator({ fixtures: 'empty', with: { account: { funds_cents: 1_000_000 } } })
  const id = await begin(sim, 120)
  await sim.clock.until(async () => (await (await send(sim, `/v1/batches/${id}`)).json()).status === 'in_progress', {
    within: '24h',
  })
  const copy = createSimulator({ fixtures: Snapshot.from(sim.snapshot().toBytes()) })
  const texts = async (one: Sim) => Promise.all((await end(one, id)).map(response => response.text()))
  const [output, errors] = await texts(sim)
  expect(await texts(copy)).toEqual([output, errors])
  expect(output).toContain('"service_tier":"flex"')
  expect(output).toContain('"index":1')
  expect(errors).toContain('internal error')
})
