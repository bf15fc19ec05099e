/** Runs clients in one world, in its time, and judges them by its request log. */
import { createSimulator, type ExplorableSimulator, type SimulatorOptions } from '../../../src/index.ts'
import { askTo } from '../../setup/send-to.ts'

/** What a client gets: the `fetch` and the time of the world. */
export interface JudgedContext {
  /** Sends a request, and returns the status and the JSON or text of its answer; the status 0 for a lost connection. */
  send(method: string, path: string, body?: unknown): Promise<Answer>
  fetch: typeof fetch
  readonly url: string
  readonly token: string
  sleep(ms: number): Promise<void>
  readonly sim: ExplorableSimulator
}

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are read as a client reads them.
  readonly body: any
  readonly retryAfter: number | undefined
}

export type JudgedClient = (context: JudgedContext) => Promise<unknown>

export const NEW = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
export const CHAT_MODEL = 'aurora-labs/aurora-8b-instruct'
export const CHAT = { model: CHAT_MODEL, messages: [{ role: 'user', content: 'How is tea made?' }], max_tokens: 40 }

/** Runs clients side by side until all have ended. Each has an API token of its own. */
export async function runClients(
  clients: readonly JudgedClient[],
  options: SimulatorOptions = {},
): Promise<ExplorableSimulator> {
  const sim = createSimulator({ fixtures: 'empty', seed: 1, clock: 'manual', ...options })
  const tokens = [sim.token]
  while (tokens.length < clients.length) {
    const { body } = await askTo(sim, 'POST /v1/api-tokens', { name: `client-${tokens.length + 1}` })
    tokens.push(body.token)
  }
  let ended = 0
  const runs = clients.map((client, i) => client(contextOf(sim, tokens[i]!)).finally(() => ended++))
  await sim.clock.until(() => ended === clients.length, { within: '72h' })
  await Promise.all(runs)
  return sim
}

function contextOf(sim: ExplorableSimulator, token: string): JudgedContext {
  const context = { sim, token, url: 'http://sim', fetch: sim.fetch as typeof fetch }
  return { ...context, sleep: ms => sim.clock.sleep(ms), send: sendTo(context) }
}

/** Returns the `send` of a client. */
export function sendTo(client: Pick<JudgedContext, 'fetch' | 'token'>): JudgedContext['send'] {
  return async (method, path, sent) => {
    try {
      const { status, headers, body } = await askTo(client, `${method} ${path}`, sent)
      const wait = headers.get('retry-after')
      return { status, body, retryAfter: wait === null ? undefined : Number(wait) }
    } catch {
      return { status: 0, body: undefined, retryAfter: undefined }
    }
  }
}
