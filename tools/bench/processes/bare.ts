/**
 * The baseline of the server: `node:http` that reads and parses the body, if any, and stringifies an answer, or writes the
 * events of a stream one by one. Nothing else.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answering } from '../worker.ts'

/** What to answer, by method and path. */
export type BareAnswers = Readonly<Record<string, BareAnswer>>

interface BareAnswer {
  readonly text: string
  /** Whether the text is that of events; else it is JSON. */
  readonly isStream: boolean
  /** The field of the body that the answer repeats. */
  readonly repeats?: string
}

answering({
  start: (answers: BareAnswers) => {
    const made = new Map(
      Object.entries(answers).map(([asked, { text, isStream, repeats }]) => [
        asked,
        isStream ? { events: text.split(/(?<=\n\n)/) } : { value: JSON.parse(text), repeats },
      ]),
    )
    const server = createServer((incoming, outgoing) => {
      const found = made.get(`${incoming.method} ${incoming.url}`)
      const answer = (body?: string) => {
        if (found === undefined) return outgoing.writeHead(404).end()
        const sent = body === undefined ? undefined : JSON.parse(body)
        if ('events' in found) {
          outgoing.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
          for (const event of found.events) outgoing.write(event)
          return outgoing.end()
        }
        const { value, repeats } = found
        const text = JSON.stringify(repeats === undefined ? value : { ...value, [repeats]: sent[repeats] })
        outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
        return outgoing.end(text)
      }
      if (incoming.method !== 'POST') return void answer()
      let text = ''
      incoming.setEncoding('utf8')
      incoming.on('data', (chunk: string) => {
        text += chunk
      })
      incoming.on('end', () => answer(text))
    })
    return new Promise(resolve => {
      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
    })
  },
})
