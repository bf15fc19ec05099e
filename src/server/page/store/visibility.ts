/** Whether the page can be seen. A tab behind another one, or in a minimized window, asks the simulator nothing. */

/** Resolves when the page is visible, or when the signal is aborted. */
export function whenVisible(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (!document.hidden || signal.aborted) return resolve()
    const done = new AbortController()
    const look = () => {
      if (document.hidden && !signal.aborted) return
      done.abort()
      resolve()
    }
    document.addEventListener('visibilitychange', look, { signal: done.signal })
    signal.addEventListener('abort', look, { signal: done.signal })
  })
}

/** Returns a signal that is aborted with another one, and when the page is hidden. */
export function abortedWhenHidden(signal: AbortSignal): AbortSignal {
  const own = new AbortController()
  const look = () => {
    if (document.hidden || signal.aborted) own.abort()
  }
  document.addEventListener('visibilitychange', look, { signal: own.signal })
  signal.addEventListener('abort', look, { signal: own.signal })
  look()
  return own.signal
}
