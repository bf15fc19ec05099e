/** A response whose text is known leaves with its head. Its bytes are those of Node's own class. */
import { createServer, ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { WholeResponse } from '../../../src/server/http/server.ts'

const TEXTS = ['', 'acme/chat-8b', 'acme/käse', '🙂', `acme/${'ö'.repeat(20_000)}`, 'a'.repeat(100_000)]

/** How a listener ends a response. */
const ENDINGS: Readonly<Record<string, (outgoing: ServerResponse, text: string) => void>> = {
  'with its length': (outgoing, text) => {
    outgoing.writeHead(200, { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(text) }).end(text)
  },
  'in chunks': (outgoing, text) => {
    outgoing.writeHead(200, { 'content-type': 'text/plain' }).end(text)
  },
  'without a head': (outgoing, text) => {
    outgoing.end(text)
  },
  'with an encoding': (outgoing, text) => {
    outgoing.writeHead(200, { 'content-length': Buffer.byteLength(text, 'utf16le') }).end(text, 'utf16le')
  },
  'after a first part': (outgoing, text) => {
    outgoing.writeHead(200, { 'content-length': Buffer.byteLength(text) + 4 }).write('part')
    outgoing.end(text)
  },
}

/** Returns all bytes that a server sends, to each request on a connection of its own and then to all in one packet. */
async function bytesOf(
  Response: typeof ServerResponse,
  end: (outgoing: ServerResponse, text: string) => void,
): Promise<{ bytes: Buffer; finished: number }> {
  let finished = 0
  const server = createServer({ ServerResponse: Response }, (incoming, outgoing) => {
    outgoing.sendDate = false
    outgoing.on('finish', () => finished++)
    end(outgoing, TEXTS[Number(incoming.url!.slice(1))]!)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const requests = TEXTS.flatMap((_, i) =>
    ['GET', 'HEAD'].map(method => `${method} /${i} HTTP/1.1\r\nHost: localhost\r\n`),
  )
  const pieces: Buffer[] = []
  for (const packet of [...requests, requests.join('\r\n')]) {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(`${packet}Connection: close\r\n\r\n`)
    for await (const piece of socket) pieces.push(piece as Buffer)
  }
  return { bytes: Buffer.concat(pieces), finished }
}

test.each(Object.keys(ENDINGS))('a text that ends %s has the bytes of Node', { tags: 'slow' }, async name => {
  const ours = await bytesOf(WholeResponse as typeof ServerResponse, ENDINGS[name]!)
  const nodes = await bytesOf(ServerResponse, ENDINGS[name]!)
  expect(ours.bytes.equals(nodes.bytes)).toBe(true)
  expect(nodes.bytes.length).toBeGreaterThan(280_000)
  expect(ours.finished).toBe(4 * TEXTS.length)
})
