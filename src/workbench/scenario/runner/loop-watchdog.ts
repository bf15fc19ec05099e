/** Ends the process if a script never yields, as in an endless loop: nothing else can end such a script. */
import { Worker } from 'node:worker_threads'
import { clearRealTimeout, setRealTimeout } from '../../../lib/real-time.ts'

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
