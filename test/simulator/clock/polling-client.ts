/** A client as people write them: it knows nothing of a simulator. It polls, backs off, and gives up on its own clock. */
import { batchFile } from '../../setup/batches.ts'

export interface Waited {
  readonly outcome: string
  readonly polls: number
  /** Each status once, in the order seen. */
  readonly seen: readonly string[]
}

interface ClientOptions {
  readonly fetch: typeof globalThis.fetch
  readonly baseUrl: string
  readonly token: string
  /** Milliseconds between the first two polls, and at most. */
  readonly firstMs?: number
  readonly mostMs?: number
  readonly giveUpMs?: number
}

const OVER = new Set(['running', 'failed', 'completed', 'expired', 'cancelled', 'stopped'])

export function pollingClient({ fetch, baseUrl, token, ...pace }: ClientOptions) {
  const { firstMs = 5_000, mostMs = 60_000, giveUpMs = 26 * 3_600_000 } = pace
  const headers = { authorization: `Bearer ${token}` }

  async function call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const init = body instanceof FormData ? { body } : body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${baseUrl}${path}`, { method, headers, ...init })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Record<string, unknown>
  }

  async function waitFor(path: string): Promise<Waited> {
    const since = Date.now()
    const seen: string[] = []
    let wait = firstMs
    for (let polls = 1; ; polls++) {
      const status = String((await call('GET', path)).status)
      if (seen.at(-1) !== status) seen.push(status)
      if (OVER.has(status)) return { outcome: status, polls, seen }
      if (Date.now() - since > giveUpMs) return { outcome: 'gave up', polls, seen }
      await new Promise(resolve => setTimeout(resolve, wait))
      wait = Math.min(mostMs, wait * 1.5)
    }
  }

  return {
    async deploy(model_name: string): Promise<Waited> {
      const hub = { repo: 'acme/chat-8b' }
      const spec = { model_name, gpu: 'H100-80GB', num_gpus: 1, max_batch_size: 96, hub }
      const { deploy_id } = await call('POST', '/deploy/llm', spec)
      return waitFor(`/deploy/${deploy_id}`)
    },
    async batch(model: string, lines: number): Promise<Waited> {
      const text = Array.from({ length: lines }, (_, i) =>
        JSON.stringify({
          custom_id: `line-${i}`,
          method: 'POST',
          url: '/v1/chat/completions',
          body: { model, messages: [{ role: 'user', content: `Question ${i}?` }], max_tokens: 2_000 },
        }),
      ).join('\n')
      const { id } = await call('POST', '/v1/files', batchFile(text))
      const spec = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' }
      const batch = await call('POST', '/v1/batches', spec)
      return waitFor(`/v1/batches/${batch.id}`)
    },
  }
}
