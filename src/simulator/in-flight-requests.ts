import { describeRequest } from './clock/answer-waiter.ts'
import type { RequestsInFlight } from './clock/host.ts'

/** The requests that a simulator has not answered yet. Its clock waits for them. */
export class InFlightRequests implements RequestsInFlight {
  activity = 0
  readonly #requests = new Map<Promise<Response>, Request>()
  #loading = 0

  get count(): number {
    return this.#requests.size
  }

  get names(): readonly string[] {
    return Array.from(this.#requests.values(), describeRequest)
  }

  get isLoading(): boolean {
    return this.#loading > 0
  }

  /** Counts a request until its answer. Returns the answer. */
  async track(request: Request, response: Promise<Response>): Promise<Response> {
    this.#requests.set(response, request)
    try {
      return await response
    } finally {
      this.#requests.delete(response)
      this.activity++
    }
  }

  /** Counts as loading until the code is loaded, or cannot be. */
  onLoading(code: Promise<unknown>): void {
    this.#loading++
    const end = () => {
      this.#loading--
    }
    code.then(end, end)
  }
}
