/** What a wait uses of an `AbortSignal`. */
export interface CancelSignal {
  readonly aborted: boolean
  /** The reason of the abort; undefined before it. */
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/**
 * Cancels waits of this process: a controller and its signal in one object. Creating an `AbortController` with its signal
 * takes longer than the rest of a wait.
 */
export class Cancellation implements CancelSignal {
  aborted = false
  reason: unknown
  readonly #listeners = new Set<() => void>()

  /** Calls the listeners with the first reason. Does nothing after that. */
  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    // One that is removed by another is not called.
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.#listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }
}

/** Returns the value of a promise, or rejects as soon as a signal is aborted. */
export function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
