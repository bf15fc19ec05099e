/** A simulator with a small deployment, and the openai package that talks to it. */
import OpenAI from 'openai'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'

export type Messages = { role: 'user' | 'assistant' | 'system'; content: string }[]

export const HELLO: Messages = [{ role: 'user', content: 'Tell me about rivers.' }]

export interface Stage {
  readonly sim: Simulator
  readonly client: OpenAI
  /** Sends a body; a refusal is an answer like any other. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers
  ask(path: string, body?: unknown): Promise<{ status: number; body: any; headers: Headers }>
  /** What became of requests, as the journal tells it. */
  fates(): string[]
}

export function stage(options: SimulatorOptions = {}): Stage {
  const sim = createSimulator({
    fixtures: 'two-nodes',
    seed: 1,
    check: true,
    with: { deployments: [{ model_name: 'acme/chat', max_batch_size: 4 }] },
    ...options,
  })
  return { sim, client: clientOf(sim), ...tools(sim) }
}

export function clientOf(sim: Simulator, baseURL = 'http://sim/v1'): OpenAI {
  return new OpenAI({ apiKey: sim.token, baseURL, maxRetries: 0, fetch: sim.fetch as typeof fetch })
}

function tools(sim: Simulator): Pick<Stage, 'ask' | 'fates'> {
  return {
    async ask(path, body) {
      const response = await sim.fetch(`http://sim${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${sim.token}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: JSON.parse(await response.text()), headers: response.headers }
    },
    fates: () =>
      sim.journal
        .entries()
        .filter(({ kind }) => kind.startsWith('inference.'))
        .map(({ kind }) => kind.slice('inference.'.length)),
  }
}
