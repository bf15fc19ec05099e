/**
 * Work of a flow outside of its world: files, sockets, child processes, threads, timers that are not those of the world.
 * Node tells what is pending, so that a flow that waits for nothing is known without a wait for real time to pass.
 */

import { monotonicMs, setRealTimeout } from '../../lib/real-time.ts'

/** Real time that a flow may wait for something outside of the world, such as a file. */
const OUTSIDE_WAIT_MS = 5_000
/** Looks in a row, a millisecond or more apart, in which nothing was pending and no code ran. */
const QUIET_LOOKS = 100
/** What comes with each turn of the event loop, timers of this process among it. */
const PASSING = new Set(['PROMISE', 'Microtask', 'TickObject', 'Timeout', 'Immediate'])

/** How a wait ended: the flow went on, nothing is pending that could make it go on, or the limit was reached. */
export type OutsideEnd = 'wentOn' | 'quiet' | 'limit'

interface AsyncHook {
  enable(): void
  disable(): void
}

export class OutsideWork {
  /** Jobs of the thread pool and threads, which Node does not list as active. */
  readonly #jobs = new Map<number, object>()
  readonly #before = activeResources()
  readonly #hook: AsyncHook | undefined
  /** Changes when code of the process runs. */
  #activity = 0
  #begun = 0
  #checkWait = () => {}

  /** Begins to watch. What is pending already is not of the flow. */
  constructor() {
    this.#hook = globalThis.process?.getBuiltinModule?.('node:async_hooks')?.createHook({
      init: (id: number, type: string, _trigger: number, resource: object) => {
        if (type !== 'Timeout' && type !== 'Immediate') this.#activity++
        if (PASSING.has(type)) return
        this.#begun++
        if (type.endsWith('REQUEST') || type === 'WORKER') this.#jobs.set(id, resource)
      },
      after: (id: number) => {
        if (this.#jobs.delete(id)) this.#activity++
      },
    })
    this.#hook?.enable()
  }

  /** Ends the watch. */
  stop(): void {
    this.#hook?.disable()
    this.#jobs.clear()
  }

  /** Pieces of work that began so far. */
  get begun(): number {
    return this.#begun
  }

  /** Ends a wait in progress at once if the flow went on. Time of the world may move in the next turn of the event loop. */
  check(): void {
    this.#checkWait()
  }

  /** Waits until `wentOn` returns true, or nothing is pending that could make it true, or the limit is reached. */
  wait(wentOn: () => boolean): Promise<OutsideEnd> {
    const deadline = monotonicMs() + OUTSIDE_WAIT_MS
    return new Promise(resolve => {
      this.#checkWait = () => {
        if (wentOn()) resolve('wentOn')
      }
      let quietLooks = 0
      let activity = -1
      // Without promises of its own, so that each promise shows that other code runs.
      const look = () => {
        const isQuiet = activity === this.#activity && !this.#isPending
        activity = this.#activity
        quietLooks = isQuiet ? quietLooks + 1 : 0
        if (wentOn()) resolve('wentOn')
        else if (quietLooks >= QUIET_LOOKS) resolve('quiet')
        else if (monotonicMs() >= deadline) resolve('limit')
        else setRealTimeout(look, 1, 'held')
      }
      setRealTimeout(look, 1, 'held')
    })
  }

  /** Whether something is pending that was not before. Called in a timer of `wait`. */
  get #isPending(): boolean {
    for (const [id, job] of this.#jobs) {
      // A job that was done at once, as of randomBytesSync, has no listener. Node never reports its end.
      const isDone = 'run' in job && !('ondone' in job)
      if (isDone) this.#jobs.delete(id)
    }
    if (this.#jobs.size > 0) return true
    for (const [type, count] of activeResources()) {
      const ofThisWait = type === 'Timeout' ? 1 : 0
      if (count - ofThisWait > (this.#before.get(type) ?? 0)) return true
    }
    return false
  }
}

/** Returns how many resources of each type keep the process alive. */
function activeResources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const type of globalThis.process?.getActiveResourcesInfo?.() ?? []) counts.set(type, (counts.get(type) ?? 0) + 1)
  return counts
}
