/** A served world, closed when its test is over. */
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { type ServeOptions, type Server, serve } from '../../../src/server/http/server.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'

export interface Running {
  sim: Simulator
  server: Server
  ask(path: string, init?: RequestInit): Promise<Response>
  /** Sends JSON to the control plane. */
  command(
    path: string,
    body?: unknown,
    method?: string,
  ): Promise<{
    status: number
    // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
    body: any
  }>
  /** Reads JSON that the control plane answers with 200. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
  read(path: string): Promise<any>
  /** Creates a deployment of the account. Returns its id. */
  deploy(change?: object): Promise<string>
  /** Bytes as they are; resolves with all that came back when the server hangs up or falls silent. */
  raw(bytes: string): Promise<string>
  /** A request with headers that `fetch` does not let through. */
  send(
    path: string,
    options?: { method?: string; headers?: Record<string, string>; body?: string },
  ): Promise<{ status: number; text: string; headers: Record<string, string | string[] | undefined> }>
}

export async function running(options: SimulatorOptions = {}, serveOptions: ServeOptions = {}): Promise<Running> {
  const sim = createSimulator({ seed: 1, ...options })
  const server = await serve(sim, { port: 0, ...serveOptions })
  onTestFinished(() => server.close())
  const ask: Running['ask'] = (path, init = {}) =>
    fetch(`${server.url}${path}`, { ...init, headers: { authorization: `Bearer ${sim.token}`, ...init.headers } })
  const command: Running['command'] = async (path, body, method = 'POST') => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    return { status: response.status, body: await response.json() }
  }
  return {
    sim,
    server,
    ask,
    command,
    async read(path) {
      const { status, body } = await command(path, undefined, 'GET')
      expect([status, body.error]).toEqual([200, undefined])
      return body
    },
    async deploy(change) {
      const model = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' }, ...change }
      const answer = await ask('/deploy/llm', { method: 'POST', body: JSON.stringify(model) })
      return ((await answer.json()) as { deploy_id: string }).deploy_id
    },
    raw: bytes =>
      new Promise(resolve => {
        let text = ''
        const socket = connect(server.port, '127.0.0.1', () => socket.write(bytes))
        socket.on('data', data => {
          text += data
          if (text.includes('\r\n\r\n')) socket.destroy()
        })
        socket.on('error', () => {})
        socket.on('close', () => resolve(text))
      }),
    send: (path, { method = 'GET', headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const outgoing = httpRequest({ port: server.port, host: '127.0.0.1', path, method, headers }, incoming => {
          let text = ''
          incoming.setEncoding('utf8')
          incoming.on('data', data => {
            text += data
          })
          incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text, headers: incoming.headers }))
        })
        outgoing.on('error', reject)
        outgoing.end(body)
      }),
  }
}

/** What guards must leave as it was. */
export function stateOf({ sim }: Running): unknown {
  return [sim.digest, sim.world.journal.last, sim.clock.iso, sim.clock.mode, sim.ledger.balance]
}
