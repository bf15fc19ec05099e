/** A simulator with a small deployment and an openai client. */
import OpenAI from 'openai'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'

export type Messages = { role: 'user' | 'assistant' | 'system'; content: string }[]

export const HELLO: Messages = [{ role: 'user', content: 'Tell me about rivers.' }]

export interface OpenaiWorld {
  readonly sim: Simulator
  readonly client: OpenAI
  /** Sends a body. Returns refusals without throwing. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers
  ask(path: string, body?: unknown): Promise<{ status: number; body: any; headers: Headers }>
  /** Kinds of the inference entries in the journal, without the prefix. */
  inferenceKinds(): string[]
}

export function openaiWorld(options: SimulatorOptions = {}): OpenaiWorld {
  const sim = createSimulator({
    fixtures: 'two-nodes',
    seed: 1,
    check: true,
    with: { deployments: [{ model_name: 'acme/chat', max_batch_size: 4 }] },
    ...options,
  })
  return { sim, client: clientOf(sim), ...createHelpers(sim) }
}

export function clientOf(sim: Simulator, baseURL = 'http://sim/v1'): OpenAI {
  return new OpenAI({ apiKey: sim.token, baseURL, maxRetries: 0, fetch: sim.fetch as typeof fetch })
}

function createHelpers(sim: Simulator): Pick<OpenaiWorld, 'ask' | 'inferenceKinds'> {
  return {
    async ask(path, body) {
      const response = await sendTo(sim, `${body === undefined ? 'GET' : 'POST'} ${path}`, body)
      return { status: response.status, body: JSON.parse(await response.text()), headers: response.headers }
    },
    inferenceKinds: () =>
      sim.journal
        .entries()
        .filter(({ kind }) => kind.startsWith('inference.'))
        .map(({ kind }) => kind.slice('inference.'.length)),
  }
}
