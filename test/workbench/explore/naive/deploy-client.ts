/** A small client of a model-hosting service. It waits by `sleep`, so that a test decides how long that takes. */

export interface ClientOptions {
  baseUrl: string
  token: string
  sleep?: (ms: number) => Promise<void>
}

export interface Model {
  model_name: string
  gpu: string
  hub: { repo: string }
}

export interface Deployment {
  deploy_id: string
  status: string
  fail_reason: string
}

const RETRIES = 4
const POLL_MS = 10_000

export class DeployClient {
  readonly #options: Required<ClientOptions>

  constructor(options: ClientOptions) {
    this.#options = { sleep: ms => new Promise(resolve => setTimeout(resolve, ms)), ...options }
  }

  /** Deploys a model and waits until it runs; what does not run in time is deleted, so that it costs nothing. */
  async deploy(model: Model, { giveUpAfterMs = 30 * 60_000 } = {}): Promise<Deployment> {
    const { deploy_id } = await this.call<{ deploy_id: string }>('POST', '/deploy/llm', model)
    for (let waited = 0; waited < giveUpAfterMs; waited += POLL_MS) {
      const deployment = await this.call<Deployment>('GET', `/deploy/${deploy_id}`)
      if (deployment.status === 'running') return deployment
      if (deployment.status === 'failed') throw new Error(`${model.model_name} failed: ${deployment.fail_reason}`)
      await this.#options.sleep(POLL_MS)
    }
    await this.call('DELETE', `/deploy/${deploy_id}`)
    throw new Error(`${model.model_name} does not run after ${giveUpAfterMs / 60_000} minutes`)
  }

  /** Calls the service, and again after a while where it is the service that is in trouble. */
  async call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const { baseUrl, token, sleep } = this.#options
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    for (let attempt = 0; ; attempt++) {
      const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
      const response = await fetch(baseUrl + path, init)
      if (response.ok) return (await response.json()) as Answer
      const isWorthTrying = response.status === 429 || response.status >= 500
      if (!isWorthTrying || attempt === RETRIES) {
        throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      }
      await sleep(1000 * 2 ** attempt)
    }
  }
}
