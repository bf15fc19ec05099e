import { monotonicMs } from '../lib/real-time.ts'
import type { EndProcess } from '../workbench/scenario/runner/guards.ts'

const exit = process.exit.bind(process)
const { reallyExit } = process as unknown as EndProcess

/** Ends the process. A run replaces these functions while scripts are played. */
export const exitProcess: typeof process.exit = (...code) => {
  Object.assign(process, { reallyExit })
  return exit(...code)
}

/** Ends the process with `process.exitCode` when everything written has reached its reader. */
export async function exitWhenWritten(): Promise<never> {
  const streams = [process.stdout, process.stderr]
  await Promise.all(streams.map(stream => new Promise<void>(resolve => stream.write('', () => resolve()))))
  return exitProcess()
}

/** Signals this close come from one key press: npm and `timeout` forward a signal that the process already got. */
const ONE_PRESS_MS = 100
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * Calls `end` with the exit code of the first signal. A later signal ends the process at once. Returns a function that
 * stops listening.
 */
export function onSignals(end: (exitCode: number) => void): () => void {
  let first: number | undefined
  const releases = Object.entries(SIGNALS).map(([signal, exitCode]) => {
    const listener = () => {
      if (first === undefined) {
        first = monotonicMs()
        end(exitCode)
      } else if (monotonicMs() - first > ONE_PRESS_MS) exitProcess(exitCode)
    }
    process.on(signal, listener)
    return () => process.off(signal, listener)
  })
  return () => {
    for (const release of releases) release()
  }
}
