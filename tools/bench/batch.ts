/** A batch of 50,000 lines, from its upload to the download of its output, in a process of its own for its memory. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { atMost, type Bench, type Figure, type Group } from './figure.ts'

/** What `processes/batch.ts` tells. */
export interface BatchRun {
  readonly seconds: number
  readonly peakMegabytes: number
  /** Where the time went, in milliseconds. */
  readonly steps: Readonly<Record<string, number>>
}

let taken: Promise<BatchRun> | undefined

const figure = (name: string, unit: string, of: (run: BatchRun) => number, goal?: Figure['goal']): Figure => ({
  name,
  unit,
  ...(goal && { goal }),
  run: async bench => {
    // Both figures are of the same runs.
    taken ??= best(bench)
    const run = await taken
    const steps = Object.entries(run.steps).map(([step, ms]) => `${step} ${Math.round(ms)} ms`)
    return { value: of(run), beside: steps.join(', ') }
  },
})

export const batch: Group = {
  name: 'batch',
  figures: [
    figure('batch_50k_s', 's', run => run.seconds, atMost(3)),
    figure('batch_50k_mb', 'MB at the peak', run => run.peakMegabytes),
  ],
}

async function best(bench: Bench): Promise<BatchRun> {
  let least: BatchRun | undefined
  for (let run = 1; run <= bench.runs; run++) {
    bench.progress(`batch_50k_s: ${run} of ${bench.runs}`)
    const next = await once(bench)
    if (least === undefined || next.seconds < least.seconds) least = next
  }
  return least!
}

function once({ outdir, quick }: Bench): Promise<BatchRun> {
  const child = spawn(process.execPath, [join(outdir, 'processes/batch.mjs'), quick ? '500' : '50000'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  return new Promise((resolve, reject) => {
    child.once('message', message => resolve(message as BatchRun))
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the batch's process ended with ${code} and reported nothing`)))
  })
}
