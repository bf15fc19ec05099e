/** A client of a model-hosting service that survives the failure of any single request. */

export interface ClientOptions {
  baseUrl: string
  token: string
  /** Default: the fetch of the platform. */
  fetch?: typeof globalThis.fetch
  /** Waits, in milliseconds. A test gives a function that moves the clock of the simulator. */
  sleep?: (ms: number) => Promise<void>
  /** Ends a request without an answer. Default: 30 seconds. */
  timeout?: () => AbortSignal
}

export interface Model {
  model_name: string
  gpu: string
  hub: { repo: string }
}

export interface Deployment {
  deploy_id: string
  model_name: string
  status: string
  fail_reason: string
}

/** An error answer. `retryAfterMs` is what the service asks for, if it does. */
export class ServiceError extends Error {
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(request: string, response: Response, body: string) {
    super(`${request}: ${response.status} ${body}`)
    this.status = response.status
    this.retryAfterMs = retryAfterMs(response.headers)
  }
}

const RETRIES = 7
const POLL_MS = 10_000
const ENDED = ['deleted', 'failed', 'stopped']

export class DeployClient {
  readonly #options: Required<ClientOptions>

  constructor(options: ClientOptions) {
    this.#options = {
      fetch: (input, init) => globalThis.fetch(input, init),
      sleep: ms => new Promise(resolve => setTimeout(resolve, ms)),
      timeout: () => AbortSignal.timeout(30_000),
      ...options,
    }
  }

  /**
   * Deploys a model and waits until it runs. If a deployment with this name exists, the client uses it, so a second call
   * creates no second one. If the deployment does not run in time, the client deletes it, so that it costs nothing.
   */
  async deploy(model: Model, { giveUpAfterMs = 30 * 60_000 } = {}): Promise<Deployment> {
    const { deploy_id } = await this.#findOrCreate(model)
    try {
      for (let waited = 0; waited < giveUpAfterMs; waited += POLL_MS) {
        const deployment = await this.call<Deployment>('GET', `/deploy/${deploy_id}`)
        if (deployment.status === 'running') return deployment
        if (ENDED.includes(deployment.status)) {
          throw new Error(`${model.model_name} is ${deployment.status}: ${deployment.fail_reason}`)
        }
        await this.#options.sleep(POLL_MS)
      }
      throw new Error(`${model.model_name} does not run after ${giveUpAfterMs / 60_000} minutes`)
    } catch (error) {
      await this.delete(deploy_id)
      throw error
    }
  }

  /** Deletes a deployment. If it is deleted already, for example by a request whose answer was lost, this is not an error. */
  async delete(deployId: string): Promise<void> {
    try {
      await this.call('DELETE', `/deploy/${deployId}`)
    } catch (error) {
      if (!(error instanceof ServiceError && error.status === 404)) throw error
    }
  }

  /** Calls the service, and repeats the call if that can help. Only for requests that do no harm if they arrive twice. */
  async call<Answer>(method: string, path: string): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#send<Answer>(method, path)
      } catch (error) {
        if (!isTransient(error) || attempt === RETRIES) throw error
        await this.#options.sleep(pauseMs(attempt, error))
      }
    }
  }

  /** Looks before each create: after a failed one, the service may have done the work and lost its answer. */
  async #findOrCreate(model: Model): Promise<{ deploy_id: string }> {
    for (let attempt = 0; ; attempt++) {
      const found = await this.#find(model.model_name)
      if (found) return found
      try {
        return await this.#send('POST', '/deploy/llm', model)
      } catch (error) {
        const isTaken = error instanceof ServiceError && error.status === 409
        if (!(isTaken || isTransient(error)) || attempt === RETRIES) throw error
        await this.#options.sleep(pauseMs(attempt, error))
      }
    }
  }

  async #find(name: string): Promise<Deployment | undefined> {
    const deployments = await this.call<Deployment[]>('GET', '/deploy/list')
    return deployments.find(({ model_name, status }) => model_name === name && !ENDED.includes(status))
  }

  async #send<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const { baseUrl, token, fetch, timeout } = this.#options
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method, headers, signal: timeout(), ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await fetch(baseUrl + path, init)
    const text = await response.text()
    if (!response.ok) throw new ServiceError(`${method} ${path}`, response, text)
    return JSON.parse(text) as Answer
  }
}

/** Whether a repeated request can succeed. A broken connection and an unreadable answer are no `ServiceError`. */
function isTransient(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.status === 408 || error.status === 429 || error.status >= 500
}

/** 1, 2, 4 seconds and so on, two minutes in all: longer than most outages. At least what the service asks for. */
function pauseMs(attempt: number, error: unknown): number {
  const asked = error instanceof ServiceError ? error.retryAfterMs : undefined
  return Math.max(asked ?? 0, 1000 * 2 ** attempt)
}

/** Reads `Retry-After`: seconds, or a date by the clock of the service. */
function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
