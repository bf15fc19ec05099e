/**
 * The globals that a flow sees: `fetch`, timers, `Date`, `AbortSignal.timeout` and the console follow the world. Only one
 * run at a time may replace them, because they belong to the process.
 */

import { type Clock, withGlobal } from '@sinonjs/fake-timers'
import { attempt } from '../../../lib/errors.ts'
import { followFetch } from './saved-fetch.ts'

const { syncBuiltinESMExports } = globalThis.process?.getBuiltinModule?.('node:module') ?? {}
const FAKED = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const
const PRINTERS = ['log', 'info', 'warn', 'error', 'debug'] as const

export interface ClientGlobalsOptions {
  readonly fetch: typeof globalThis.fetch
  /** The time of the world, in milliseconds since 1970. */
  readonly now: number
  /** Called with each text that the flow prints. */
  print(text: string): void
  /** Called with an error that nothing handles: it would end the process of the client. */
  onUncaught(error: unknown): void
}

/** Replaced globals of one start of a client. */
export class ClientGlobals {
  readonly #clock: Clock
  readonly #undo: (() => void)[] = []

  constructor({ fetch, now, print, onUncaught }: ClientGlobalsOptions) {
    // The module itself may have been loaded under fake timers of a test, and would restore those. Connections of the
    // process clear real timers also during a run: such a timer that fires later is fatal in undici.
    const real = { ignoreMissingTimers: true, shouldClearNativeTimers: true }
    const clock = withGlobal(globalThis).install({ now, toFake: [...FAKED], ...real })
    this.#clock = Object.assign(clock, { isReplaceable: true })
    // For `import { setTimeout } from 'node:timers/promises'`.
    syncBuiltinESMExports?.()
    this.#replace(globalThis, 'fetch', fetch)
    followFetch(fetch)
    this.#undo.push(() => followFetch(undefined))
    this.#replace(AbortSignal, 'timeout', timeoutSignal)
    const write = (...words: unknown[]) => print(`${words.map(toText).join(' ')}\n`)
    for (const name of PRINTERS) this.#replace(console, name, write)
    for (const stream of [process.stdout, process.stderr]) this.#replace(stream, 'write', writerTo(print))
    for (const name of ['setTimeout', 'setInterval'] as const) {
      this.#replace(globalThis, name, guarded(globalThis[name] as never, onUncaught))
    }
    this.#takeRejections(onUncaught)
  }

  /** Number of timers of the flow that wait. */
  get timers(): number {
    return this.#clock.countTimers()
  }

  /** Tells whether a timer of the flow waits that fires once, and was set at a time, in milliseconds since 1970. */
  hasTimer(setAt?: number): boolean {
    const timers = this.#clock.timerHeap?.timers ?? []
    return timers.some(one => one.interval === undefined && (setAt === undefined || one.createdAt === setAt))
  }

  /** Restores the globals. Timers of the flow never fire. */
  restore(): void {
    for (const undo of this.#undo.splice(0).reverse()) undo()
    // Without timers, the clock of the world does not warn that they are lost.
    this.#clock.reset()
    this.#clock.uninstall()
    syncBuiltinESMExports?.()
  }

  /** Hears of unhandled rejections in place of the test runner or the process, for which they would be fatal. */
  #takeRejections(onUncaught: (error: unknown) => void): void {
    const listeners = process.rawListeners('unhandledRejection') as ((error: unknown) => void)[]
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', onUncaught)
    this.#undo.push(() => {
      process.off('unhandledRejection', onUncaught)
      for (const listener of listeners) process.on('unhandledRejection', listener)
    })
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

type SetTimer = (callback: (...args: unknown[]) => unknown, ...args: unknown[]) => unknown

/** Returns the timer function with callbacks whose errors do not end the move of time. */
function guarded(setTimer: SetTimer, onUncaught: (error: unknown) => void): never {
  const guardedTimer: SetTimer = (callback, ...args) =>
    setTimer(
      (...values) => {
        try {
          callback(...values)
        } catch (error) {
          onUncaught(error)
        }
      },
      ...args,
    )
  // The clock of the fake timers is found by a property of the function.
  return Object.assign(guardedTimer, setTimer) as never
}

/** Returns a `write` of a stream that prints. */
function writerTo(print: (text: string) => void): typeof process.stdout.write {
  return (chunk: Uint8Array | string, ...rest: unknown[]) => {
    print(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
    const onWritten = rest.find(one => typeof one === 'function') as (() => void) | undefined
    onWritten?.()
    return true
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
  return attempt(() => JSON.stringify(value)) ?? String(value)
}
