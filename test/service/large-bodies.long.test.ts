/** Bodies of megabytes that no header announces: only who counts what comes can refuse them. */
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/server/http/server.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { audioWorld, refusalOf, SCRIBE } from './audio/audio-world.ts'

const MIB = 1_048_576

/** A request with a body without an end, and how much of it was read. */
function endless() {
  const piece = new Uint8Array(4 * MIB).fill(32)
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += piece.length
      controller.enqueue(piece)
    },
  })
  const headers = { 'transfer-encoding': 'chunked', 'content-type': 'application/json' }
  return { init: { method: 'POST', body, headers, duplex: 'half' } as RequestInit, sent: () => sent }
}

test('a body without a declared length is refused at the limit in the process', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const { digest } = sim
  const { init, sent } = endless()
  const headers = { ...(init.headers as object), authorization: `Bearer ${sim.token}` }
  expect((await sim.fetch('http://sim/payment/funds', { ...init, headers })).status).toBe(413)
  expect(sent()).toBeLessThan(100_000_000)
  expect(sim.digest).toBe(digest)
})

test('a body without a declared length is refused at the limit by a server', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const server = await serve(sim, { port: 0 })
  onTestFinished(() => server.close())
  const { digest } = sim
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${sim.token}` }
  const pad = async function* () {
    yield Buffer.from('{"amount":1,"pad":"')
    for (let sent = 0; sent < 66; sent++) yield Buffer.alloc(MIB, 'x')
  }
  const init = { method: 'POST', headers, body: pad(), duplex: 'half' } as unknown as RequestInit
  expect((await fetch(`${server.url}/payment/funds`, init)).status).toBe(413)
  expect(sim.digest).toBe(digest)
})

test.each(['/v1/audio/transcriptions', '/v1/audio/translations'])('%s refuses more than 25 MB', async path => {
  const { sim, upload } = audioWorld()
  const { digest } = sim
  const refused = await refusalOf(upload(path, new Uint8Array(25 * MIB + 1), { model: SCRIBE }))
  expect(refused).toEqual([413, 'file is larger than 25 MB'])
  expect(sim.digest).toBe(digest)
})

test('the count of tokens takes a body of 8 MiB and refuses a larger one', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const status = async (letters: number) => {
    // This letter has 2 bytes.
    const thinking = { note: '\u00e9'.repeat(letters) }
    const body = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hi' }], thinking }
    const init = { method: 'POST', body: JSON.stringify(body), headers: { authorization: `Bearer ${sim.token}` } }
    return (await sim.fetch('http://sim/vendor_a/v1/messages/count_tokens', init)).status
  }
  expect(await status(4 * MIB - 100)).toBe(200)
  expect(await status(4 * MIB)).toBe(413)
})
