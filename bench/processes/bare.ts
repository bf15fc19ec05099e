/** The baseline of the server: `node:http` that reads the body, if any, and stringifies an answer. Nothing else. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answering } from '../worker.ts'

/** What to answer, by method and path. */
export type BareAnswers = Readonly<Record<string, unknown>>

answering({
  start: (answers: BareAnswers) => {
    const server = createServer((incoming, outgoing) => {
      const found = answers[`${incoming.method} ${incoming.url}`]
      const answer = (value: unknown) => {
        const text = JSON.stringify(value)
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
        outgoing.writeHead(found === undefined ? 404 : 200, headers)
        outgoing.end(text)
      }
      if (incoming.method !== 'POST') return answer(found)
      let text = ''
      incoming.setEncoding('utf8')
      incoming.on('data', (chunk: string) => {
        text += chunk
      })
      incoming.on('end', () => answer({ ...(found as object), model_name: JSON.parse(text).model_name }))
    })
    return new Promise(resolve => {
      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
    })
  },
})
