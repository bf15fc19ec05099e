import { nearestWord } from '../../lib/did-you-mean.ts'
import type { Client } from '../../service/client/client.ts'
import type { NodeView } from '../../simulation/fleet/nodes.ts'
import type { ClusterControls, NodeControls } from '../../simulation/operations/cluster-api.ts'
import { isCommandGroup, isSelector } from '../../simulation/operations/command-methods.ts'
import type { CommandPath } from './environment.ts'
import { callContext } from './timeline.ts'

type Promised<T> = { [K in keyof T as T[K] extends Callable ? K : never]: PromisedCall<T[K]> }
type PromisedCall<F> = F extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Result> : never
type Callable = (...args: never[]) => unknown

/** A node in the hands of a scenario: chosen when the verb is sent, so that it is the node of that moment. */
export type ScenarioNode = Promised<NodeControls> & { view(): Promise<NodeView> }

/** The verbs of `sim.cluster`, each returning a promise. */
export type ScenarioCluster = {
  [K in keyof ClusterControls]: ClusterControls[K] extends (...args: infer Args) => NodeControls
    ? (...args: Args) => ScenarioNode
    : ClusterControls[K] extends (...args: infer Args) => CommandGroup
      ? (...args: Args) => Promised<ReturnType<ClusterControls[K]>>
      : ClusterControls[K] extends Callable
        ? PromisedCall<ClusterControls[K]>
        : Promised<ClusterControls[K]>
}

/** What a selector returns: verbs of the thing it chose. */
type CommandGroup = { readonly [verb: string]: Callable }
/** A failure, and where in the script it was asked for. */
interface UnhandledFailure {
  readonly error: unknown
}

/** A promise that knows whether anybody looks at its outcome. `await` asks a subclass through its `then`. */
class ObservedPromise<T> extends Promise<T> {
  isObserved = false

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  // biome-ignore lint/suspicious/noThenProperty: to be told when somebody awaits is what this class is for
  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isObserved = true
    return super.then(fulfilled, rejected)
  }

  /** The same without counting as looking at it. */
  thenUnobserved(settled: () => void, rejected: (reason: unknown) => void): void {
    super.then(settled, rejected)
  }
}

/** Whether anybody looks at the outcome of something that `Orders` was asked for. */
export function isAwaited(promise: Promise<unknown>): boolean {
  return !(promise instanceof ObservedPromise) || promise.isObserved
}

/**
 * Keeps what a script asks for in order: verbs are sent one after the other, everything else waits for the verbs before
 * it, and a failure that nobody awaited is kept for the end.
 */
export class CallQueue {
  readonly #afterEach: () => Promise<void> | undefined
  #lastCommand: Promise<unknown> | undefined
  #openCalls = new Set<Promise<unknown>>()
  #failures: { readonly promise: ObservedPromise<unknown>; readonly error: unknown }[] = []

  /** @param afterEach what has to be done after each thing that is asked for, before its outcome is known */
  constructor(afterEach: () => Promise<void> | undefined) {
    this.#afterEach = afterEach
  }

  /** Sends a verb once those before it are done. */
  enqueueCommand<T>(send: () => Promise<T>): Promise<T> {
    if (isInCondition()) return send()
    const outcome = this.#lastCommand === undefined ? send() : this.#lastCommand.then(send)
    const done = outcome.then(
      () => {},
      () => {},
    )
    this.#lastCommand = done
    done.then(() => {
      if (this.#lastCommand === done) this.#lastCommand = undefined
    })
    return this.#observe(outcome)
  }

  /** Does something else once the verbs before it are done. */
  afterCommands<T>(act: () => Promise<T>): Promise<T> {
    // Whoever looks is waited for by those verbs.
    if (isInCondition()) return act()
    return this.#observe(this.#lastCommand === undefined ? act() : this.#lastCommand.then(act))
  }

  /** Waits for the verbs that were asked for. */
  async whenCommandsDone(): Promise<void> {
    while (this.#lastCommand !== undefined) await this.#lastCommand
  }

  /** Waits for everything that was asked for; the first failure that nobody awaited, if there is one. */
  async whenIdle(): Promise<UnhandledFailure | undefined> {
    while (this.#openCalls.size > 0) await Promise.all(this.#openCalls)
    return this.#failures.find(({ promise }) => !promise.isObserved)
  }

  /** The first failure that nobody has awaited until now. */
  get unhandledFailure(): UnhandledFailure | undefined {
    return this.#failures.find(({ promise }) => !promise.isObserved)
  }

  readonly #finish = <T>(value: T): T | Promise<T> => this.#afterEach()?.then(() => value) ?? value

  #observe<T>(outcome: Promise<T>): Promise<T> {
    const callSite = new Error()
    const promise = new ObservedPromise<T>((resolve, reject) =>
      outcome.then(this.#finish).then(resolve, (error: unknown) => {
        // What fails here has left the script behind; its error still has to say which line asked for it.
        if (error instanceof Error) error.stack += `\n${callSite.stack ?? ''}`
        reject(error)
      }),
    )
    const over = new Promise<void>(resolve => {
      promise.thenUnobserved(resolve, error => {
        this.#failures.push({ promise, error })
        resolve()
      })
    })
    this.#openCalls.add(over)
    over.then(() => this.#openCalls.delete(over))
    return promise
  }
}

function isInCondition(): boolean {
  const inside = callContext.getStore()
  return inside?.kind === 'look' && !inside.isOver
}

/** The cluster of a scenario: `cluster.nodeOf(id).crash()` becomes one order. */
export function createCluster(send: (order: CommandPath) => Promise<unknown>): ScenarioCluster {
  return proxyByName(name => {
    if (isCommandGroup(name)) return proxyByName(verb => call([{ name }], verb))
    if (isSelector(name) || name === 'nodeOf')
      return (...args: unknown[]) => proxyByName(verb => call([{ name, args }], verb))
    return call([], name)
  }) as ScenarioCluster

  function call(path: CommandPath, name: string) {
    return (...args: unknown[]) => send([...path, { name, args }])
  }
}

function proxyByName(get: (name: string) => unknown): object {
  return new Proxy(
    {},
    // Without a `then`, or awaiting the cluster itself would send an order of that name.
    { get: (_, name) => (typeof name === 'symbol' || name === 'then' ? undefined : get(name)) },
  )
}

/** The client, each of whose calls is kept an eye on until somebody awaits it. */
export function createObservedClient(
  client: Client,
  calls: CallQueue,
  tell: (name: string, args: readonly unknown[]) => void,
): Client {
  const methods = Object.entries(client).map(([name, method]) => [
    name,
    name === 'as'
      ? (token: string | undefined) => createObservedClient(client.as(token), calls, tell)
      : (...args: unknown[]) => {
          tell(name, name === 'raw' ? [] : args)
          return calls.afterCommands(() => (method as (...args: unknown[]) => Promise<unknown>)(...args))
        },
  ])
  // Nobody checks the types of a script before it is played.
  return new Proxy(Object.fromEntries(methods) as Client, {
    get(calls, name) {
      const meant = typeof name === 'string' && !(name in calls) && nearestWord(name, Object.keys(calls))
      if (!meant) return Reflect.get(calls, name)
      throw new RangeError(`Failed to call api.${name}: there is no such operation. Did you mean '${meant}'?`)
    },
  })
}
