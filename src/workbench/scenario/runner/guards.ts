import { Worker } from 'node:worker_threads'
import { clearRealTimeout, setRealTimeout } from '../../../lib/real-time.ts'
import { createStrayFailure } from '../play/failures.ts'
import type { Result } from '../play/run-scenario.ts'

/** Real milliseconds between two signs of life. */
const BEAT_MS = 200

/**
 * The code of the thread. It waits for signs of life and never looks at a clock itself. Text, because a thread needs a file
 * of its own otherwise, which a bundle does not have.
 */
const THREAD = `
const { parentPort, receiveMessageOnPort, workerData: { beats, limitMs } } = require('node:worker_threads')
const { writeSync } = require('node:fs')
for (let last = Atomics.load(beats, 0); ; last = Atomics.load(beats, 0)) {
  if (last < 0) break
  if (Atomics.wait(beats, 0, last, limitMs) !== 'timed-out') continue
  let playing = 'the scenarios'
  for (let next = receiveMessageOnPort(parentPort); next !== undefined; next = receiveMessageOnPort(parentPort)) playing = next.message
  writeSync(2, 'Failed to play ' + playing + ': the script blocked the process for ' + limitMs / 1000 + ' s, as an endless loop does. Await something in its loops, or give a longer --loop-limit.\\n')
  process.kill(process.pid, 'SIGKILL')
}
`

export interface LoopWatchdog {
  /** Says what is being played, for the message. */
  playing(name: string): void
  stop(): void
}

/** Starts the watchdog. Resolves when it watches: a thread cannot start while the process is blocked. */
export async function startLoopWatchdog(limitMs: number): Promise<LoopWatchdog> {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Worker(THREAD, { eval: true, workerData: { beats, limitMs } })
  await new Promise<void>((resolve, reject) => thread.once('online', resolve).once('error', reject))
  thread.unref()
  const signal = (beat: number) => {
    Atomics.store(beats, 0, beat)
    Atomics.notify(beats, 0)
  }
  let timer: unknown
  const beat = () => {
    signal((Atomics.load(beats, 0) + 1) % 1_000_000)
    timer = setRealTimeout(beat, BEAT_MS)
  }
  beat()
  return {
    playing: name => thread.postMessage(name),
    stop() {
      clearRealTimeout(timer)
      signal(-1)
    },
  }
}

/** The first thing that would have ended the process since it was last asked for. */
let strayError: { readonly error: unknown } | undefined
let guards = 0

/**
 * Replaces the functions that end the process by ones that throw, and keeps errors that nothing catches, until the returned function
 * is called. Guards may overlap.
 */
export function guardProcess(): () => void {
  if (++guards === 1) install()
  let isReleased = false
  return () => {
    if (isReleased) return
    isReleased = true
    if (--guards === 0) uninstall()
  }
}

/** The ways to end the process. Node documents no type of the inner one. */
export type EndProcess = Record<'exit' | 'reallyExit' | 'abort', (code?: number) => never>

const ENDS = ['exit', 'reallyExit', 'abort'] as const
let originals: Partial<EndProcess> = {}

function install(): void {
  strayError = undefined
  const ends = process as unknown as EndProcess
  for (const name of ENDS) {
    originals[name] = ends[name]
    ends[name] = code => {
      const error = new Error(
        `Failed to play: the script called process.${name}(${code ?? ''}). Throw an error, or return from the script.`,
      )
      keepFirst(error)
      throw error
    }
  }
  process.on('uncaughtException', keepFirst)
}

function uninstall(): void {
  Object.assign(process, originals)
  originals = {}
  process.off('uncaughtException', keepFirst)
}

function keepFirst(error: unknown): void {
  strayError ??= { error }
}

/**
 * Returns the result of a play, failed if the process would have ended since the last call.
 *
 * @param file path of the script, to find the line
 */
export function withStrayFailure<Played extends Result>(result: Played, file: string): Played {
  if (strayError === undefined) return result
  const { error } = strayError
  strayError = undefined
  return { ...result, passed: false, failure: createStrayFailure(error, result, file) }
}
