/** The requests of clients that are in flight: calls of `fetch`, and requests of `node:http` and undici. */

// Several copies of this package in one process watch the same global fetch.
const MONITOR = Symbol.for('modelhost-sim.fetchWatch')
const OF_WORLD = Symbol.for('modelhost-sim.fetchOfWorld')

/** The calls through one wrapper of `fetch` that have not ended. */
interface FetchMonitor {
  readonly inner: typeof fetch
  /** The trackers in use. Without one the wrapper only forwards calls. */
  readonly watchers: Set<object>
  readonly calls: Set<{ readonly name: string }>
  /** Grows with each call that begins or ends, and each body that is read. */
  activity: number
}

type MonitoredFetch = typeof fetch & { readonly [MONITOR]?: FetchMonitor; readonly [OF_WORLD]?: true }

/** Marks a `fetch` that only a world answers. Its calls are not tracked, because the world knows them. */
export function markAsOfWorld<Fetch extends typeof fetch>(fetch: Fetch): Fetch {
  return Object.assign(fetch, { [OF_WORLD]: true as const })
}

/**
 * Tracks calls of the global `fetch` from the call to the end of the body, outside of any interceptor, and requests of
 * `node:http` and undici from the request to the answer, intercepted or not.
 */
export class InFlightMonitor {
  #monitors: readonly FetchMonitor[] = []
  readonly #nodeRequests = new NodeRequests()

  /**
   * Wraps the global `fetch`, and wraps it again if it was replaced meanwhile. Returns true if the wrapper is new:
   * calls that began before are not seen.
   */
  attach(): boolean {
    const fetch = globalThis.fetch as MonitoredFetch | undefined
    if (fetch === undefined || fetch[OF_WORLD]) return false
    const monitor = fetch[MONITOR] ?? monitorFetch(fetch)
    if (this.#monitors.includes(monitor)) return false
    monitor.watchers.add(this)
    this.#monitors = [...this.#monitors, monitor]
    this.#nodeRequests.attach()
    return true
  }

  /** Stops tracking. The last tracker removes the wrapper, unless another wrapper is around it. */
  detach(): void {
    for (const monitor of this.#monitors) {
      monitor.watchers.delete(this)
      const isOutermost = (globalThis.fetch as MonitoredFetch | undefined)?.[MONITOR] === monitor
      if (monitor.watchers.size === 0 && isOutermost) globalThis.fetch = monitor.inner
    }
    this.#monitors = []
    this.#nodeRequests.detach()
  }

  get activity(): number {
    return this.#monitors.reduce((sum, { activity }) => sum + activity, this.#nodeRequests.activity)
  }

  /** The requests in flight, each as method and address. */
  get inFlight(): readonly string[] {
    const calls = this.#monitors.flatMap(({ calls }) => [...calls].map(({ name }) => name))
    // A call of fetch that is not intercepted also appears as a request of undici. It counts once.
    return [...calls, ...this.#nodeRequests.inFlight.filter(name => !calls.includes(name))]
  }
}

function monitorFetch(inner: typeof fetch): FetchMonitor {
  const monitor: FetchMonitor = { inner, watchers: new Set(), calls: new Set(), activity: 0 }
  const track = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const call = { name }
    monitor.calls.add(call)
    monitor.activity++
    try {
      return await work()
    } finally {
      monitor.calls.delete(call)
      monitor.activity++
    }
  }
  const fetch = async (...args: Parameters<typeof globalThis.fetch>): Promise<Response> => {
    if (monitor.watchers.size === 0) return inner(...args)
    const name = describeCall(args)
    const response = await track(name, () => inner(...args))
    replaceBodyReaders(response, (_, read) => () => track(`the body of ${name}`, read))
    return response
  }
  globalThis.fetch = Object.assign(fetch, { [MONITOR]: monitor })
  return monitor
}

/** The methods of a response that read its whole body. */
const BODY_READERS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const

export type BodyReader = (typeof BODY_READERS)[number]

/**
 * Replaces the methods of a response that read its body. `replace` gets each one by name, bound to the response. A method
 * that cannot be replaced stays: the response of another library can be frozen.
 */
export function replaceBodyReaders(
  response: Response,
  replace: (name: BodyReader, read: () => Promise<unknown>) => () => Promise<unknown>,
): void {
  for (const name of BODY_READERS) {
    // Node 20 has no `bytes`.
    const read = (response as Partial<Pick<Response, BodyReader>>)[name]
    if (read === undefined) continue
    const value = replace(name, read.bind(response))
    Reflect.defineProperty(response, name, { configurable: true, writable: true, value })
  }
}

function describeCall([input, init]: Parameters<typeof fetch>): string {
  const isRequest = typeof input === 'object' && 'url' in input
  const method = init?.method ?? (isRequest ? input.method : 'GET')
  return `${method.toUpperCase()} ${isRequest ? input.url : String(input)}`
}

/** The used part of a request in Node's diagnostics channels: a `ClientRequest`, or a request of undici. */
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
 * Tracks requests of `node:http` and undici by Node's diagnostics channels, until their answer begins. Outside of Node
 * it tracks nothing.
 */
class NodeRequests {
  activity = 0
  readonly #inFlight = new Map<object, string>()
  #isAttached = false

  attach(): void {
    if (!this.#isAttached) this.#forEachChannel((channels, name, listener) => channels.subscribe(name, listener))
    this.#isAttached = true
  }

  detach(): void {
    if (this.#isAttached) this.#forEachChannel((channels, name, listener) => channels.unsubscribe(name, listener))
    this.#isAttached = false
    this.#inFlight.clear()
  }

  /** The requests in flight, each as method and address. */
  get inFlight(): readonly string[] {
    return [...this.#inFlight.values()]
  }

  readonly #onStarted = (message: unknown): void => {
    const { request } = message as { readonly request: NodeRequest }
    this.activity++
    this.#inFlight.set(request, describeRequest(request))
    // It may end without an answer.
    request.once?.('close', () => this.#finish(request))
  }

  readonly #onAnswered = (message: unknown): void =>
    this.#finish((message as { readonly request: NodeRequest }).request)

  #finish(request: NodeRequest): void {
    if (this.#inFlight.delete(request)) this.activity++
  }

  #forEachChannel(act: (channels: Channels, name: string, listener: (message: unknown) => void) => void): void {
    const channels = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')
    if (channels === undefined) return
    for (const name of ['http.client.request.start', 'undici:request:create']) act(channels, name, this.#onStarted)
    for (const name of ['http.client.response.finish', 'undici:request:headers', 'undici:request:error']) {
      act(channels, name, this.#onAnswered)
    }
  }
}

type Channels = typeof import('node:diagnostics_channel')

function describeRequest(request: NodeRequest): string {
  const { method = 'GET', path = '/', origin, protocol } = request
  return `${method} ${origin ?? `${protocol}//${request.getHeader?.('host')}`}${path}`
}
