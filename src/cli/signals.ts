import { monotonicMs } from '../lib/real-time.ts'

/** How near two signals are that come from one key press: npm and `timeout` pass on what the process got already. */
const ONE_PRESS_MS = 100
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * Calls `end` with the exit code of the first signal; a later one ends the process at once. Returns the way to stop
 * listening.
 */
export function onSignals(end: (exitCode: number) => void): () => void {
  let first: number | undefined
  const releases = Object.entries(SIGNALS).map(([signal, exitCode]) => {
    const listener = () => {
      if (first === undefined) {
        first = monotonicMs()
        end(exitCode)
      } else if (monotonicMs() - first > ONE_PRESS_MS) process.exit(exitCode)
    }
    process.on(signal, listener)
    return () => process.off(signal, listener)
  })
  return () => {
    for (const release of releases) release()
  }
}
