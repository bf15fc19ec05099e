/** Measures CPU time of requests. Reading it is a slow system call, so short requests are measured by real time alone. */

/** Real time in milliseconds after which the CPU time is read again. */
const FRESH_MS = 100

export class Stopwatch {
  #startMs = 0
  #sampledMs = Number.NEGATIVE_INFINITY
  #sample: NodeJS.CpuUsage = { user: 0, system: 0 }

  start(): void {
    this.#startMs = performance.now()
    if (this.#startMs - this.#sampledMs < FRESH_MS) return
    this.#sample = process.cpuUsage()
    this.#sampledMs = this.#startMs
  }

  /**
   * Returns whether more CPU time than the limit has passed since the start. The last reading can be older than the start
   * by `FRESH_MS`, so that much more is allowed.
   */
  exceeds(limitMs: number): boolean {
    if (performance.now() - this.#startMs < limitMs) return false
    const { user, system } = process.cpuUsage(this.#sample)
    return (user + system) / 1000 > limitMs + FRESH_MS
  }
}
