import type { Client } from '../api/client.ts'
import type { NodeView } from '../cluster/nodes.ts'
import type { ClusterVerbs, NodeVerbs } from '../cluster/verbs.ts'
import { nearest } from '../kernel/nearest.ts'
import type { Order } from './stage.ts'
import { part } from './timeline.ts'

type Promised<T> = { [K in keyof T as T[K] extends Callable ? K : never]: PromisedCall<T[K]> }
type PromisedCall<F> = F extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Result> : never
type Callable = (...args: never[]) => unknown

/** A node in the hands of a scenario: chosen when the verb is sent, so that it is the node of that moment. */
export type ScenarioNode = Promised<NodeVerbs> & { view(): Promise<NodeView> }

/** The verbs of `sim.cluster`, each returning a promise. */
export type ScenarioCluster = {
  [K in keyof ClusterVerbs]: ClusterVerbs[K] extends (...args: infer Args) => NodeVerbs
    ? (...args: Args) => ScenarioNode
    : ClusterVerbs[K] extends (...args: infer Args) => Chosen
      ? (...args: Args) => Promised<ReturnType<ClusterVerbs[K]>>
      : ClusterVerbs[K] extends Callable
        ? PromisedCall<ClusterVerbs[K]>
        : Promised<ClusterVerbs[K]>
}

/** What a selector returns: verbs of the thing it chose. */
type Chosen = { readonly [verb: string]: Callable }
type Selectors = {
  [K in keyof ClusterVerbs]: ClusterVerbs[K] extends (...args: never[]) => NodeVerbs | Chosen ? K : never
}[keyof ClusterVerbs]
type Groups = { [K in keyof ClusterVerbs]: ClusterVerbs[K] extends Callable ? never : K }[keyof ClusterVerbs]

/** What of the cluster is no verb yet; written out, and complete or it does not compile. */
const SELECTORS: Readonly<Record<Selectors, true>> = {
  node: true,
  nodeOf: true,
  gpu: true,
  deployment: true,
  pool: true,
  zone: true,
}
const GROUPS: Readonly<Record<Groups, true>> = {
  hub: true,
  registry: true,
  disk: true,
  autoscaler: true,
  provisioning: true,
  card: true,
  topup: true,
  limit: true,
  price: true,
  account: true,
  token: true,
}

/** A failure, and where in the script it was asked for. */
interface Stray {
  readonly error: unknown
}

/** A promise that knows whether anybody looks at its outcome. `await` asks a subclass through its `then`. */
class Watched<T> extends Promise<T> {
  seen = false

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  // biome-ignore lint/suspicious/noThenProperty: to be told when somebody awaits is what this class is for
  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.seen = true
    return super.then(fulfilled, rejected)
  }

  /** The same without counting as looking at it. */
  peek(settled: () => void, rejected: (reason: unknown) => void): void {
    super.then(settled, rejected)
  }
}

/** Whether anybody looks at the outcome of something that `Orders` was asked for. */
export function isAwaited(promise: Promise<unknown>): boolean {
  return !(promise instanceof Watched) || promise.seen
}

/**
 * Keeps what a script asks for in order: verbs are sent one after the other, everything else waits for the verbs before
 * it, and a failure that nobody awaited is kept for the end.
 */
export class Orders {
  readonly #afterEach: () => Promise<void> | undefined
  #tail: Promise<unknown> | undefined
  #open = new Set<Promise<unknown>>()
  #strays: { readonly promise: Watched<unknown>; readonly error: unknown }[] = []

  /** @param afterEach what has to be done after each thing that is asked for, before its outcome is known */
  constructor(afterEach: () => Promise<void> | undefined) {
    this.#afterEach = afterEach
  }

  /** Sends a verb once those before it are done. */
  verb<T>(send: () => Promise<T>): Promise<T> {
    if (isLook()) return send()
    const outcome = this.#tail === undefined ? send() : this.#tail.then(send)
    const done = outcome.then(
      () => {},
      () => {},
    )
    this.#tail = done
    done.then(() => {
      if (this.#tail === done) this.#tail = undefined
    })
    return this.#watch(outcome)
  }

  /** Does something else once the verbs before it are done. */
  after<T>(act: () => Promise<T>): Promise<T> {
    // Whoever looks is waited for by those verbs.
    if (isLook()) return act()
    return this.#watch(this.#tail === undefined ? act() : this.#tail.then(act))
  }

  /** Waits for the verbs that were asked for. */
  async verbsDone(): Promise<void> {
    while (this.#tail !== undefined) await this.#tail
  }

  /** Waits for everything that was asked for; the first failure that nobody awaited, if there is one. */
  async settled(): Promise<Stray | undefined> {
    while (this.#open.size > 0) await Promise.all(this.#open)
    return this.#strays.find(({ promise }) => !promise.seen)
  }

  /** The first failure that nobody has awaited until now. */
  get stray(): Stray | undefined {
    return this.#strays.find(({ promise }) => !promise.seen)
  }

  readonly #finish = <T>(value: T): T | Promise<T> => this.#afterEach()?.then(() => value) ?? value

  #watch<T>(outcome: Promise<T>): Promise<T> {
    const asked = new Error()
    const promise = new Watched<T>((resolve, reject) =>
      outcome.then(this.#finish).then(resolve, (error: unknown) => {
        // What fails here has left the script behind; its error still has to say which line asked for it.
        if (error instanceof Error) error.stack += `\n${asked.stack ?? ''}`
        reject(error)
      }),
    )
    const over = new Promise<void>(resolve => {
      promise.peek(resolve, error => {
        this.#strays.push({ promise, error })
        resolve()
      })
    })
    this.#open.add(over)
    over.then(() => this.#open.delete(over))
    return promise
  }
}

function isLook(): boolean {
  const inside = part.getStore()
  return inside?.kind === 'look' && !inside.isOver
}

/** The cluster of a scenario: `cluster.nodeOf(id).crash()` becomes one order. */
export function clusterOf(send: (order: Order) => Promise<unknown>): ScenarioCluster {
  return named(name => {
    if (name in GROUPS) return named(verb => call([{ name }], verb))
    if (name in SELECTORS) return (...args: unknown[]) => named(verb => call([{ name, args }], verb))
    return call([], name)
  }) as ScenarioCluster

  function call(path: Order, name: string) {
    return (...args: unknown[]) => send([...path, { name, args }])
  }
}

function named(get: (name: string) => unknown): object {
  return new Proxy(
    {},
    // Without a `then`, or awaiting the cluster itself would send an order of that name.
    { get: (_, name) => (typeof name === 'symbol' || name === 'then' ? undefined : get(name)) },
  )
}

/** The client, each of whose calls is kept an eye on until somebody awaits it. */
export function clientOf(
  client: Client,
  orders: Orders,
  tell: (name: string, args: readonly unknown[]) => void,
): Client {
  const methods = Object.entries(client).map(([name, method]) => [
    name,
    name === 'as'
      ? (token: string | undefined) => clientOf(client.as(token), orders, tell)
      : (...args: unknown[]) => {
          tell(name, name === 'raw' ? [] : args)
          return orders.after(() => (method as (...args: unknown[]) => Promise<unknown>)(...args))
        },
  ])
  // Nobody checks the types of a script before it is played.
  return new Proxy(Object.fromEntries(methods) as Client, {
    get(calls, name) {
      const meant = typeof name === 'string' && !(name in calls) && nearest(name, Object.keys(calls))
      if (!meant) return Reflect.get(calls, name)
      throw new RangeError(`Failed to call api.${name}: there is no such operation. Did you mean '${meant}'?`)
    },
  })
}
