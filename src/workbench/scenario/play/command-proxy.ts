import { nearestWord } from '../../../lib/did-you-mean.ts'
import type { Client } from '../../../service/client/client.ts'
import { isCommandGroup, isSelector } from '../../../simulation/operations/command-methods.ts'
import type { CommandPath } from '../../../simulator/history/export/command-call.ts'
import type { ScenarioCluster } from './controls.ts'
import { callContext } from './timeline.ts'

/** A promise that knows whether its outcome is observed. `await` calls `then` of a subclass. */
class ObservedPromise<T> extends Promise<T> {
  isObserved = false

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  // biome-ignore lint/suspicious/noThenProperty: this class observes whether it is awaited
  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isObserved = true
    return super.then(fulfilled, rejected)
  }

  /** The same as `then`, without counting as an observation. */
  thenUnobserved(settled: () => void, rejected: (reason: unknown) => void): void {
    super.then(settled, rejected)
  }
}

/** Returns whether the outcome of a call is observed. */
export function isAwaited(promise: Promise<unknown>): boolean {
  return !(promise instanceof ObservedPromise) || promise.isObserved
}

/**
 * Keeps the calls of a script in order. Commands are sent one after the other, every other call waits for the commands
 * before it, and the error of a call that is not awaited is kept for the end.
 */
export class CallQueue {
  readonly #afterEach: () => Promise<void> | undefined
  #lastCommand: Promise<unknown> | undefined
  #openCalls = new Set<Promise<unknown>>()
  #failures: { readonly promise: ObservedPromise<unknown>; readonly error: unknown }[] = []

  /** @param afterEach runs after each call, before the script receives its outcome */
  constructor(afterEach: () => Promise<void> | undefined) {
    this.#afterEach = afterEach
  }

  /** Sends a command after the commands before it. */
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

  /** Runs another call after the commands before it. */
  afterCommands<T>(act: () => Promise<T>): Promise<T> {
    // Those commands wait for the condition that makes this call.
    if (isInCondition()) return act()
    return this.#observe(this.#lastCommand === undefined ? act() : this.#lastCommand.then(act))
  }

  /** Waits for all commands. */
  async whenCommandsDone(): Promise<void> {
    while (this.#lastCommand !== undefined) await this.#lastCommand
  }

  /**
   * Waits for all calls. Returns the first error that was not awaited. Undefined: every call succeeded or was awaited.
   */
  async whenIdle(): Promise<CallQueue['unhandledFailure']> {
    while (this.#openCalls.size > 0) await Promise.all(this.#openCalls)
    return this.unhandledFailure
  }

  /** The first error that was not awaited until now. */
  get unhandledFailure(): { readonly error: unknown } | undefined {
    return this.#failures.find(({ promise }) => !promise.isObserved)
  }

  readonly #finish = <T>(value: T): T | Promise<T> => this.#afterEach()?.then(() => value) ?? value

  #observe<T>(outcome: Promise<T>): Promise<T> {
    const callSite = new Error()
    const promise = new ObservedPromise<T>((resolve, reject) =>
      outcome.then(this.#finish).then(resolve, (error: unknown) => {
        // The stack of this error no longer contains the script. The line of the call is added.
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

/** Returns the cluster of a scenario: `cluster.nodeOf(id).crash()` becomes one command path. */
export function createCluster(send: (path: CommandPath) => Promise<unknown>): ScenarioCluster {
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
    // A `then` would make `await cluster` send a command of that name.
    { get: (_, name) => (typeof name === 'symbol' || name === 'then' ? undefined : get(name)) },
  )
}

/** Returns the client with each call in the queue, so that calls without `await` are noticed. */
export function createObservedClient(
  client: Client,
  calls: CallQueue,
  onCall: (name: string, args: readonly unknown[]) => void,
): Client {
  const methods = Object.entries(client).map(([name, method]) => [
    name,
    name === 'as'
      ? (token: string | undefined) => createObservedClient(client.as(token), calls, onCall)
      : (...args: unknown[]) => {
          onCall(name, name === 'raw' ? [] : args)
          return calls.afterCommands(() => (method as (...args: unknown[]) => Promise<unknown>)(...args))
        },
  ])
  // The types of a script are not checked before it is played.
  return new Proxy(Object.fromEntries(methods) as Client, {
    get(calls, name) {
      const suggestion = typeof name === 'string' && !(name in calls) && nearestWord(name, Object.keys(calls))
      if (!suggestion) return Reflect.get(calls, name)
      throw new RangeError(`Failed to call api.${name}: unknown operation. Did you mean '${suggestion}'?`)
    },
  })
}
