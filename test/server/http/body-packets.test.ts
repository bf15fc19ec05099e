/** A request means the same in one packet and in two, and a stream the same by either way to the socket. */
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type Running, running } from './running-server.ts'

/** The listener of a world with rules reads ahead, and then knows the length of a short stream. */
const FRAMING = ['content-length', 'transfer-encoding']
const ORDER = { model_name: 'acme/one', gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } }

const BODIES: Readonly<Record<string, Buffer>> = {
  'of letters': Buffer.from(JSON.stringify(ORDER)),
  'with letters beyond ASCII': Buffer.from(JSON.stringify({ ...ORDER, extra_args: ['--käse', '🙂'] })),
  'behind the mark of the byte order': Buffer.from(`\ufeff${JSON.stringify(ORDER)}`),
  'of invalid bytes': Buffer.from([0x7b, 0x22, 0xff, 0xc3, 0x22, 0x3a, 0x31, 0x7d]),
  'that is cut': Buffer.from('{"model_name":'),
}

/** Sends a POST, its body a packet behind its head if `isLate`. Returns the answer without its id. */
async function post({ server, sim }: Running, body: Buffer, isLate: boolean, token = sim.token): Promise<string> {
  const socket = connect(server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.setNoDelay(true)
  const head = Buffer.from(
    `POST /deploy/llm HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  socket.write(isLate ? head : Buffer.concat([head, body]))
  // The server has taken the head once it counts the request.
  if (isLate) {
    while (server.inFlight === 0) await new Promise(resolve => setImmediate(resolve))
    socket.write(body)
  }
  const pieces: Buffer[] = []
  for await (const piece of socket) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

test.each(Object.keys(BODIES))('a body %s is read the same with its head and behind it', async name => {
  const [early, late] = await Promise.all(
    [false, true].map(async isLate => {
      const one = await running({ fixtures: 'default' })
      return { answer: await post(one, BODIES[name]!, isLate), digest: one.sim.digest, log: one.sim.requests }
    }),
  )
  expect(late).toEqual(early)
  expect(early!.answer).toMatch(name.startsWith('of letters') ? /^HTTP\/1.1 200 / : /^HTTP\/1.1 (200|400|422) /)
})

test('the log has no body of a client that was refused, although the body came with the head', async () => {
  const one = await running({ fixtures: 'default' })
  expect(await post(one, BODIES['of letters']!, false, 'unknown')).toMatch(/^HTTP\/1.1 401 /)
  expect(one.sim.requests.map(({ status, body }) => ({ status, body }))).toEqual([{ status: 401, body: undefined }])
})

test('a stream is the same from a world with a fault rule, whose answers pass through the rules', async () => {
  const texts = await Promise.all(
    [[], [{ on: 'GET /deploy/list', fault: { kind: 'reset' } } as const]].map(async faults => {
      const { sim, server } = await running({ fixtures: 'default', faults })
      const body = JSON.stringify({
        model: 'acme/assistant',
        stream: true,
        max_tokens: 9,
        messages: [{ role: 'user', content: 'Hello!' }],
      })
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' },
        body,
      })
      const headers = [...response.headers].filter(([name]) => !FRAMING.includes(name))
      return { status: response.status, text: await response.text(), headers, digest: sim.digest }
    }),
  )
  expect(texts[0]).toEqual(texts[1])
  expect(texts[0]).toMatchObject({ status: 200, text: expect.stringMatching(/data: \[DONE\]\n\n$/) })
})
