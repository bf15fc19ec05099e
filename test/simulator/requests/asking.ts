/** A client that sends requests to a simulator. */
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'

export const NEW = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

export interface Asking {
  readonly sim: Simulator
  /** Sends a request and returns the status of its answer. */
  ask(method: string, path: string, body?: unknown, token?: string): Promise<number>
}

export function asking(options: SimulatorOptions = {}): Asking {
  const sim = createSimulator({ seed: 1, ...options })
  return {
    sim,
    ask: async (method, path, body, token = sim.token) =>
      (await sendTo({ fetch: sim.fetch, token }, `${method} ${path}`, body)).status,
  }
}
