/**
 * How everything is timed. Cores are shared and lose time to their neighbours, so throughput is counted per second of
 * CPU, baseline and ours take turns, and the better of the runs counts: what disturbs only ever makes a run worse.
 */
import { performance } from 'node:perf_hooks'
import type { Bench, Measured } from './figure.ts'

/** A window of work: how much was done, at what cost. */
export interface Window {
  readonly operations: number
  /** Microseconds of CPU, over all threads of the process. */
  readonly cpuMicros: number
  readonly wallMs: number
}

/** Does `work` again and again for the length of a window. */
export async function window(bench: Bench, work: () => unknown): Promise<Window> {
  const cpu = process.cpuUsage()
  const began = performance.now()
  let operations = 0
  do {
    // The clock is read once in 16, so that short operations are not measured by it.
    for (let i = 0; i < 16; i++) {
      const result = work()
      if (result instanceof Promise) await result
    }
    operations += 16
  } while (performance.now() - began < bench.windowMs)
  return { operations, ...since(cpu, began) }
}

/** One piece of work that does `operations` in one go. */
export function piece(operations: number, work: () => unknown): Window {
  const cpu = process.cpuUsage()
  const began = performance.now()
  work()
  return { operations, ...since(cpu, began) }
}

function since(cpu: NodeJS.CpuUsage, began: number): Pick<Window, 'cpuMicros' | 'wallMs'> {
  const { user, system } = process.cpuUsage(cpu)
  return { cpuMicros: user + system, wallMs: performance.now() - began }
}

/** Operations per second of CPU. */
export function perCpuSecond({ operations, cpuMicros }: Window): number {
  return (operations / cpuMicros) * 1e6
}

/** Baseline and ours in turn; of each the run with the most throughput. Both are compiled before. */
export async function throughput(
  bench: Bench,
  what: string,
  ours: () => Promise<Window> | Window,
  baseline: () => Promise<Window> | Window,
): Promise<Measured> {
  bench.progress(`${what}: warming up`)
  await baseline()
  await warmUp(bench, ours)
  let best: Window | undefined
  let bestBaseline: Window | undefined
  for (let run = 1; run <= bench.runs; run++) {
    bench.progress(`${what}: ${run} of ${bench.runs}`)
    bestBaseline = better(bestBaseline, await baseline())
    best = better(best, await ours())
  }
  const value = perCpuSecond(best!)
  const against = perCpuSecond(bestBaseline!)
  return {
    value,
    baseline: against,
    ratio: value / against,
    beside: `${count(perSecond(best!))}/s beside ${count(perSecond(bestBaseline!))}/s by the wall`,
  }
}

/** Windows in a row without more throughput, after which the code is compiled. */
const STEADY_WINDOWS = 3
const MOST_WARM_UP_WINDOWS = 15

/** Runs windows until their throughput rises no more. The compiler works in the first five to ten seconds of a server. */
async function warmUp(bench: Bench, work: () => Promise<Window> | Window): Promise<void> {
  let best = 0
  let steady = 0
  const most = bench.quick ? 1 : MOST_WARM_UP_WINDOWS
  for (let n = 1; n <= most && steady < STEADY_WINDOWS; n++) {
    const rate = perCpuSecond(await work())
    steady = rate > 1.1 * best ? 0 : steady + 1
    best = Math.max(best, rate)
  }
}

function better(best: Window | undefined, next: Window): Window {
  return best === undefined || perCpuSecond(next) > perCpuSecond(best) ? next : best
}

function perSecond({ operations, wallMs }: Window): number {
  return (operations / wallMs) * 1000
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}

/** Times in turn, ours and those of the baseline if there is one, and the least of each. */
export async function times(
  bench: Bench,
  what: string,
  runs: number,
  ours: () => number | Promise<number>,
  baseline?: () => number | Promise<number>,
): Promise<Measured> {
  let best = Number.POSITIVE_INFINITY
  let bestBaseline = Number.POSITIVE_INFINITY
  for (let run = 1; run <= runs; run++) {
    bench.progress(`${what}: ${run} of ${runs}`)
    if (baseline !== undefined) bestBaseline = Math.min(bestBaseline, await baseline())
    best = Math.min(best, await ours())
  }
  return { value: best, ...(baseline && { baseline: bestBaseline, ratio: best / bestBaseline }) }
}

/**
 * Milliseconds of CPU that one of `rounds` takes, on the whole; `arrange` comes before each and is not counted. By the
 * wall a busy neighbour doubles them.
 */
export function meanMs(rounds: number, arrange: () => void, work: () => unknown): number {
  let micros = 0
  for (let i = 0; i < rounds; i++) {
    arrange()
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    micros += user + system
  }
  return micros / rounds / 1000
}
