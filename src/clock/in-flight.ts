/** What a client has in flight while fake timers stand: calls of `fetch`, and requests of Node's own. */

// Several copies of this package in one process watch the same global fetch.
const WATCH = Symbol.for('modelhost-sim.fetchWatch')

/** What went through one wrapper of `fetch` and is not over. */
interface Watched {
  readonly inner: typeof fetch
  /** Whoever wants to know; without anybody the wrapper only passes on. */
  readonly watchers: Set<object>
  readonly calls: Set<{ readonly name: string }>
  /** Grows with each call that begins or ends, and each body that is read. */
  activity: number
}

type WatchedFetch = typeof fetch & { readonly [WATCH]?: Watched }

/**
 * Calls of the global `fetch` from the call to the end of the body, seen from outside of whatever intercepts them, and
 * requests of `node:http` and undici from the request to the answer, whether somebody intercepts them or not.
 */
export class FlightWatch {
  #watched: readonly Watched[] = []
  readonly #requests = new NodeRequests()

  /**
   * Puts itself around the global `fetch`, again where somebody replaced it meanwhile. True when it is new there: calls
   * that were under way before are not seen.
   */
  attach(): boolean {
    const fetch = globalThis.fetch as WatchedFetch | undefined
    if (fetch === undefined) return false
    const watched = fetch[WATCH] ?? wrap(fetch)
    if (this.#watched.includes(watched)) return false
    watched.watchers.add(this)
    this.#watched = [...this.#watched, watched]
    this.#requests.attach()
    return true
  }

  /** Lets go of it; the last to let go takes the wrapper off, unless somebody put another around it. */
  detach(): void {
    for (const watched of this.#watched) {
      watched.watchers.delete(this)
      const outermost = (globalThis.fetch as WatchedFetch | undefined)?.[WATCH] === watched
      if (watched.watchers.size === 0 && outermost) globalThis.fetch = watched.inner
    }
    this.#watched = []
    this.#requests.detach()
  }

  get activity(): number {
    return this.#watched.reduce((sum, { activity }) => sum + activity, this.#requests.activity)
  }

  /** What is in flight, each as method and address. */
  get inFlight(): readonly string[] {
    const calls = this.#watched.flatMap(({ calls }) => [...calls].map(({ name }) => name))
    // A call of fetch that nobody intercepts goes out through undici, and is one all the same.
    return [...calls, ...this.#requests.inFlight.filter(name => !calls.includes(name))]
  }
}

function wrap(inner: typeof fetch): Watched {
  const watched: Watched = { inner, watchers: new Set(), calls: new Set(), activity: 0 }
  const during = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const call = { name }
    watched.calls.add(call)
    watched.activity++
    try {
      return await work()
    } finally {
      watched.calls.delete(call)
      watched.activity++
    }
  }
  const fetch = async (...args: Parameters<typeof globalThis.fetch>): Promise<Response> => {
    if (watched.watchers.size === 0) return inner(...args)
    const name = nameOf(args)
    const response = await during(name, () => inner(...args))
    for (const reads of ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const) {
      const read = (response as unknown as Record<string, (() => Promise<unknown>) | undefined>)[reads]
      if (read === undefined) continue
      Object.defineProperty(response, reads, {
        configurable: true,
        value: () => during(`the body of ${name}`, () => read.call(response)),
      })
    }
    return response
  }
  globalThis.fetch = Object.assign(fetch, { [WATCH]: watched })
  return watched
}

function nameOf([input, init]: Parameters<typeof fetch>): string {
  const isRequest = typeof input === 'object' && 'url' in input
  const method = init?.method ?? (isRequest ? input.method : 'GET')
  return `${method.toUpperCase()} ${isRequest ? input.url : String(input)}`
}

/** What is needed of a request that Node tells of: a `ClientRequest`, or one of undici. */
interface NodeRequest {
  readonly method?: string
  readonly path?: string
  /** Of undici. */
  readonly origin?: string | URL
  /** Of `node:http`. */
  readonly protocol?: string
  getHeader?(name: string): unknown
  once?(event: 'close', heard: () => void): void
}

/**
 * Requests that leave by `node:http` or undici, as Node's diagnostics channels tell of them, until their answer begins.
 * Elsewhere than in Node there are none.
 */
class NodeRequests {
  activity = 0
  readonly #open = new Map<object, string>()
  #attached = false

  attach(): void {
    if (!this.#attached) this.#each((channels, name, heard) => channels.subscribe(name, heard))
    this.#attached = true
  }

  detach(): void {
    if (this.#attached) this.#each((channels, name, heard) => channels.unsubscribe(name, heard))
    this.#attached = false
    this.#open.clear()
  }

  /** What is in flight, each as method and address. */
  get inFlight(): readonly string[] {
    return [...this.#open.values()]
  }

  readonly #began = (message: unknown): void => {
    const { request } = message as { readonly request: NodeRequest }
    this.activity++
    this.#open.set(request, addressOf(request))
    // Whatever ends it without an answer.
    request.once?.('close', () => this.#over(request))
  }

  readonly #answered = (message: unknown): void => this.#over((message as { readonly request: NodeRequest }).request)

  #over(request: NodeRequest): void {
    if (this.#open.delete(request)) this.activity++
  }

  #each(act: (channels: Channels, name: string, heard: (message: unknown) => void) => void): void {
    const channels = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')
    if (channels === undefined) return
    for (const name of ['http.client.request.start', 'undici:request:create']) act(channels, name, this.#began)
    for (const name of ['http.client.response.finish', 'undici:request:headers', 'undici:request:error']) {
      act(channels, name, this.#answered)
    }
  }
}

type Channels = typeof import('node:diagnostics_channel')

function addressOf(request: NodeRequest): string {
  const { method = 'GET', path = '/', origin, protocol } = request
  return `${method} ${origin ?? `${protocol}//${request.getHeader?.('host')}`}${path}`
}
