/**
 * The globals that a flow sees: `fetch`, timers, `Date`, `AbortSignal.timeout` and the console follow the world. Only one
 * run at a time may replace them, because they belong to the process.
 */

import { type Clock, install } from '@sinonjs/fake-timers'

const { syncBuiltinESMExports } = globalThis.process?.getBuiltinModule?.('node:module') ?? {}
const FAKED = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const
const PRINTERS = ['log', 'info', 'warn', 'error', 'debug'] as const

export interface ClientGlobalsOptions {
  readonly fetch: typeof globalThis.fetch
  /** The time of the world, in milliseconds since 1970. */
  readonly now: number
  /** Called with each text that the flow prints. */
  print(text: string): void
}

/** Replaced globals of one start of a client. */
export class ClientGlobals {
  readonly #clock: Clock
  readonly #undo: (() => void)[] = []

  constructor({ fetch, now, print }: ClientGlobalsOptions) {
    this.#clock = install({ now, toFake: [...FAKED], ignoreMissingTimers: true })
    // For `import { setTimeout } from 'node:timers/promises'`.
    syncBuiltinESMExports?.()
    this.#replace(globalThis, 'fetch', fetch)
    this.#replace(AbortSignal, 'timeout', timeoutSignal)
    const write = (...words: unknown[]) => print(`${words.map(toText).join(' ')}\n`)
    for (const name of PRINTERS) this.#replace(console, name, write)
  }

  /** Number of timers of the flow that wait. */
  get timers(): number {
    return this.#clock.countTimers()
  }

  /** Restores the globals. Timers of the flow never fire. */
  restore(): void {
    // Without timers, the clock of the world does not warn that they are lost.
    this.#clock.reset()
    this.#clock.uninstall()
    syncBuiltinESMExports?.()
    for (const undo of this.#undo.splice(0).reverse()) undo()
  }

  #replace<Target extends object, Name extends keyof Target>(target: Target, name: Name, value: Target[Name]): void {
    const original = Object.getOwnPropertyDescriptor(target, name)
    Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: true })
    this.#undo.push(() => {
      if (original === undefined) delete target[name]
      else Object.defineProperty(target, name, original)
    })
  }
}

/** Returns a signal that is aborted after milliseconds of the world. */
function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  const reason = () => new DOMException('The operation was aborted due to timeout', 'TimeoutError')
  setTimeout(() => controller.abort(reason()), ms)
  return controller.signal
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return String(value.stack ?? value)
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return String(value)
  }
}
