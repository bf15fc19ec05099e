/** The command: takes the figures that are asked for, and tells them. */
import { join } from 'node:path'
import type { Bench } from './figure.ts'
import { groups } from './groups.ts'
import { profiled } from './profile.ts'
import { asJson, asTable, type Outcome } from './report.ts'
import { type Selection, select } from './selection.ts'

const USAGE = `npm run bench [name…] [-- --json] [--quick] [--profile] [--no-build]

  name        a figure or a group of figures. Default: all but the heavy ones
  --json      one JSON object on stdout in place of the table
  --quick     one short window each: shows that everything runs, the figures mean nothing
  --profile   writes CPU profiles to tools/bench/results/, and takes longer
  --no-build  measures the existing dist/ (if missing: the source)`

/** @returns the exit code: 0 done, 1 when a figure could not be taken, 2 when it could not run */
export async function main(args: readonly string[], places: { root: string; outdir: string }): Promise<number> {
  let selection: Selection
  try {
    selection = select(groups, args)
  } catch (error) {
    console.error(error instanceof RangeError ? error.message : error)
    return 2
  }
  const { figures, options } = selection
  if (options.has('--help')) {
    console.log(`${USAGE}\n`)
    for (const { name, heavy, figures } of groups) {
      console.log(`${name}${heavy ? ' (heavy)' : ''}: ${figures.map(figure => figure.name).join(', ')}`)
    }
    return 0
  }

  const quick = options.has('--quick')
  const terminal = process.stderr.isTTY
  const bench: Bench = {
    ...places,
    quick,
    runs: quick ? 1 : 3,
    windowMs: quick ? 50 : 1000,
    ...(options.has('--profile') && { profiles: join(places.root, 'tools/bench/results') }),
    progress: what => process.stderr.write(terminal ? `\r\u001b[K${what}` : `${what}\n`),
  }
  const outcomes: Outcome[] = []
  let failed = false
  for (const figure of figures) {
    try {
      const run = () => figure.run(bench)
      outcomes.push([figure, await (bench.profiles ? profiled(bench.profiles, figure.name, run) : run())])
    } catch (error) {
      // The others are still worth having.
      failed = true
      bench.progress('')
      console.error(`Failed to take ${figure.name}:`, error)
    }
  }
  if (terminal) bench.progress('')
  console.log(options.has('--json') ? asJson(outcomes) : asTable(quick ? outcomes.map(withoutGoal) : outcomes))
  return failed ? 1 : 0
}

/** What --quick measures keeps and misses nothing. */
function withoutGoal([{ goal: _, ...figure }, measured]: Outcome): Outcome {
  return [figure, measured]
}
