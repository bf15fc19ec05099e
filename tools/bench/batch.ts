/** A batch of 50,000 lines, from its upload to the download of its output, in a process of its own for its memory. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { oncePer } from '../../src/lib/once.ts'
import { atMost, type Bench, type Figure, type Goal, type Group } from './figure.ts'

/** What `processes/batch.ts` tells. */
export interface BatchRun {
  readonly seconds: number
  readonly peakMegabytes: number
  /** Where the time went, in milliseconds. */
  readonly steps: Readonly<Record<string, number>>
}

const figure = (name: string, unit: string, of: (run: BatchRun) => number, goal: Goal): Figure => ({
  name,
  unit,
  goal,
  run: async bench => {
    const run = await best(bench)
    const steps = Object.entries(run.steps).map(([step, ms]) => `${step} ${Math.round(ms)} ms`)
    return { value: of(run), beside: steps.join(', ') }
  },
})

export const batch: Group = {
  name: 'batch',
  figures: [
    figure('batch_50k_s', 's', run => run.seconds, atMost(1.2)),
    figure('batch_50k_mb', 'MB at the peak', run => run.peakMegabytes, atMost(250)),
  ],
}

/** The fastest run. Both figures are of the same runs. */
const best = oncePer(async (bench: Bench): Promise<BatchRun> => {
  let least: BatchRun | undefined
  for (let run = 1; run <= bench.runs; run++) {
    bench.progress(`batch_50k_s: ${run} of ${bench.runs}`)
    const next = await runOnce(bench)
    if (least === undefined || next.seconds < least.seconds) least = next
  }
  return least!
})

function runOnce({ outdir, quick }: Bench): Promise<BatchRun> {
  const child = spawn(process.execPath, [join(outdir, 'processes/batch.mjs'), quick ? '500' : '50000'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  return new Promise((resolve, reject) => {
    child.once('message', message => resolve(message as BatchRun))
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the batch's process ended with ${code} and reported nothing`)))
  })
}
