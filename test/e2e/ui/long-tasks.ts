/** The tasks of a page that take long. */
import type { Page } from 'playwright-core'

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly args?: { readonly name?: string }
  /** Processor time of the thread in microseconds. */
  readonly tdur?: number
}

/**
 * Runs an action, and returns the milliseconds of processor time of each long task of the page. Real time would count
 * what other processes of the machine take.
 */
export async function longTasksWhile(page: Page, leastMs: number, action: () => Promise<void>): Promise<number[]> {
  const browser = page.context().browser()!
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
  let trace: Buffer
  try {
    await action()
  } finally {
    trace = await browser.stopTracing()
  }
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }
  const pages = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && pages.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => Math.round(tdur / 1000))
  if (tasks.length === 0) throw new Error('Failed to read the trace: it has no task of the page.')
  return tasks.filter(milliseconds => milliseconds > leastMs)
}
