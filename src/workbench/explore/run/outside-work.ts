/**
 * Work of a flow outside of its world: files, sockets, child processes, threads, timers that are not those of the world.
 * Node tells what is pending, so that a flow that waits for nothing is known without a wait for real time to pass.
 */

import { eventLoopTurn, monotonicMs, setRealTimeout } from '../../../lib/real-time.ts'

/** Real time that a flow may wait for something outside of the world, such as a file. */
const OUTSIDE_WAIT_MS = 5_000
/** Looks at files of others before a run, a millisecond or more apart. */
const FILE_LOOKS = 20
/** Looks in a row, a millisecond or more apart, in which nothing was pending and no code ran. */
const QUIET_LOOKS = 100
/** What comes with each turn of the event loop, timers of this process among it. */
const PASSING: ReadonlySet<string> = new Set(['PROMISE', 'Microtask', 'TickObject', 'Timeout', 'Immediate'])

/**
 * Turns of the event loop after which a flow that waits for the world still does so. A request that is answered at once
 * takes fewer. A move of time begins after more turns without activity.
 */
const SETTLING_TURNS = 2

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
  /** The fewest files that were read or written at once. */
  #leastFiles = filesIn(this.#before)
  readonly #hook: AsyncHook | undefined
  /** Changes when code of the process runs. */
  #activity = 0
  /** Pieces of work that began so far. */
  begun = 0
  #checkWait = () => {}

  /** Begins to watch. What is pending already is not of the flow. */
  constructor() {
    this.#hook = globalThis.process?.getBuiltinModule?.('node:async_hooks')?.createHook({
      init: (id: number, type: string, _trigger: number, resource: object) => {
        if (type !== 'Timeout' && type !== 'Immediate') this.#activity++
        if (PASSING.has(type)) return
        this.begun++
        if (type.endsWith('REQUEST') || type === 'WORKER') this.#jobs.set(id, resource)
      },
      after: (id: number) => {
        if (this.#jobs.delete(id)) this.#activity++
      },
    })
    this.#hook?.enable()
  }

  /** Whether the flow reads or writes a file now. A read of the process that never ends, as of its input, is not of the flow. */
  get usesFile(): boolean {
    const files = filesIn(activeResources())
    this.#leastFiles = Math.min(this.#leastFiles, files)
    return files > this.#leastFiles
  }

  /** Ends the watch. */
  stop(): void {
    this.#hook?.disable()
    this.#jobs.clear()
  }

  /** Ends a wait in progress if the flow went on: before the time of the world moves, and without a further look. */
  check(): void {
    this.#checkWait()
  }

  /** Waits until `wentOn` returns true, or nothing is pending that could make it true, or the limit is reached. */
  wait(wentOn: () => boolean): Promise<OutsideEnd> {
    const deadline = monotonicMs() + OUTSIDE_WAIT_MS
    return new Promise(resolve => {
      let isOver = false
      const finish = (end: OutsideEnd) => {
        isOver = true
        this.#checkWait = () => {}
        resolve(end)
      }
      let isSettling = false
      const settle = async () => {
        isSettling = true
        for (let turn = 0; turn < SETTLING_TURNS && wentOn(); turn++) await eventLoopTurn()
        isSettling = false
        if (wentOn() && !isOver) finish('wentOn')
      }
      this.#checkWait = () => {
        if (wentOn() && !isSettling) void settle()
      }
      let quietLooks = 0
      let activity = -1
      // Without promises of its own, so that each promise shows that other code runs.
      const look = () => {
        if (isOver) return
        const isQuiet = activity === this.#activity && !this.#isPending
        activity = this.#activity
        quietLooks = isQuiet && !wentOn() ? quietLooks + 1 : 0
        this.#checkWait()
        if (quietLooks >= QUIET_LOOKS) finish('quiet')
        else if (monotonicMs() >= deadline) finish('limit')
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

/** Waits until no file is read or written. A read that never ends, as of the input of the process, is given up. */
export async function whenFilesSettle(): Promise<void> {
  for (let looks = 0; looks < FILE_LOOKS && filesIn(activeResources()) > 0; looks++) {
    await new Promise<void>(resolve => setRealTimeout(resolve, 1, 'held'))
  }
}

/** Returns how many files are read, written or closed. */
function filesIn(resources: ReadonlyMap<string, number>): number {
  return ['FSReqPromise', 'FSReqCallback', 'CloseReq'].reduce((sum, type) => sum + (resources.get(type) ?? 0), 0)
}
