/** Requests that are sent to worlds again and again, in orders that a number makes. */
import { Chance, purpose } from '../../src/kernel/random.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'

const ORDER = purpose('sweep.order')

/** Sends a request as the owner of a world, and resolves to what was answered. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers
  readonly body: any
}

/** Asks a simulator in this process. */
export function asking(sim: Simulator): Ask {
  return (method, path, body) => answered(sim.fetch(requestOf(sim.token, method, path, body)))
}

export function requestOf(token: string, method: string, path: string, body: unknown): Request {
  return new Request(`http://sim${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  })
}

export async function answered(response: Response | Promise<Response>): Promise<Answer> {
  const { status, text } = await Promise.resolve(response).then(async one => ({
    status: one.status,
    text: await one.text(),
  }))
  try {
    return { status, body: JSON.parse(text) }
  } catch {
    return { status, body: text }
  }
}

/** The form that uploads a file of so many requests for a batch. */
export function batchInput(filename: string, lines: number): FormData {
  const line = (i: number) =>
    JSON.stringify({
      custom_id: `line-${i}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: `Question ${i}?` }] },
    })
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new File([Array.from({ length: lines }, (_, i) => line(i)).join('\n')], filename))
  return form
}

/** The same things in another order, which is a function of its name. */
export function shuffled<Item>(items: readonly Item[], name: string): Item[] {
  const chance = new Chance(name)
  const key = chance.key('order', name)
  const order = [...items]
  for (let i = order.length - 1; i > 0; i--) {
    const other = chance.integer(i + 1, key, ORDER, i)
    ;[order[i], order[other]] = [order[other]!, order[i]!]
  }
  return order
}
