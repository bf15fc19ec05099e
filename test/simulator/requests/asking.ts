/** A client that sends requests to a simulator. */
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'

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
    async ask(method, path, body, token = sim.token) {
      const { status } = await sim.fetch(`http://sim${path}`, {
        ...{ method, headers: { authorization: `Bearer ${token}` } },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return status
    },
  }
}
