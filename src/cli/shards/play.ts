/** Runs one shard of a command, prints what becomes of it, and returns the exit code. */

import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { monotonicMs } from '../../lib/real-time.ts'
import { plural } from '../../lib/text/format-count.ts'
import { VERSION } from '../../lib/version.ts'
import { type RunnableTest, ShardRuns } from '../../workbench/explore/shards/play-shard.ts'
import {
  RESULTS_FORMAT,
  type SeedResult,
  type SeedTest,
  type TestSeed,
} from '../../workbench/explore/shards/records.ts'
import { ResultsFile } from '../../workbench/explore/shards/results-file.ts'
import { formatSeedRange } from '../../workbench/explore/shards/seed-range.ts'
import { findCommit } from './commit.ts'
import type { ShardRequest } from './flags.ts'

export interface ShardIo {
  out(text: string): void
  error(text: string): void
  /** Shows the progress in place of the last. */
  progress?: ((text: string) => void) | undefined
  /** Called with what is run. */
  playing?: ((name: string) => void) | undefined
  /** Aborted: the shard stops, and its exit code is 3. */
  readonly signal?: AbortSignal | undefined
  /** The folder that `--out` is relative to. */
  readonly folder: string
  /** Runs the same command in a new process, and resolves with its exit code. */
  again?(): Promise<number>
}

/** What is run, and by which command. */
export interface ShardWork {
  readonly command: string
  readonly tests: readonly RunnableTest[]
  /** Hash of the flags that change results. */
  readonly config: string
}

/**
 * Runs the seeds of a shard that have no result yet.
 *
 * @returns the exit code: 0 nothing found, that for findings, 3 incomplete
 * @throws RangeError if the results file is of other work or cannot be written
 */
export async function playSharded(work: ShardWork, request: ShardRequest, io: ShardIo): Promise<number> {
  const { range, shard, out, recheck, findingCode } = request
  const commit = findCommit(io.folder, process.env)
  const header = {
    format: RESULTS_FORMAT,
    version: VERSION,
    ...(commit !== undefined && { commit }),
    command: work.command,
    tests: work.tests.map(({ name, hash, ownSeed }) => ({ name, hash, ...(ownSeed && { ownSeed }) })),
    config: work.config,
    seeds: formatSeedRange(range),
    shard: `${shard.index}/${shard.count}`,
    ...(shard.launcher !== undefined && { launcher: shard.launcher }),
    node: process.version,
  } as const
  const file = new ResultsFile(resolve(io.folder, out), shard.index, header)
  const progress = new RunProgress(io)
  try {
    const runs = new ShardRuns(work.tests, range, shard, file)
    const source = shard.variables === undefined ? '' : `, from ${shard.launcher} (${shard.variables})`
    io.error(
      `Shard ${shard.index} of ${shard.count}${source}: ${plural(runs.count, 'run')} of seeds ${formatSeedRange(range)}, in ${file.path}\n`,
    )
    io.error(describeEarlier(file, work.tests))
    const before = file.finished.size
    const onStart = (test: SeedTest, seed: TestSeed) => io.playing?.(`'${test.name}' with seed ${seed}`)
    const left = await runs.play({
      signal: io.signal,
      onStart,
      onDone: (_, done) => progress.update(`${done} of ${runs.count} runs`),
    })
    progress.end()
    const hasRunHere = file.finished.size > before
    if (left === 0 && recheck && hasRunHere && io.again && !io.signal?.aborted) {
      file.close()
      return await io.again()
    }
    io.out(describeResults(file, work.tests))
    if (left > 0) {
      io.out(`Incomplete: ${left} of ${plural(runs.count, 'run')} left. The same command continues.\n`)
      return 3
    }
    if (!recheck) return hasFindings(file) ? findingCode : 0
    const differing = await runs.recheck({ signal: io.signal, onStart })
    if (io.signal?.aborted) return 3
    io.out(describeRecheck(file, differing, work.tests))
    return differing.length > 0 || hasFindings(file) ? findingCode : 0
  } finally {
    progress.end()
    file.close()
  }
}

/** Runs this command line in a new process, which an abort stops, too. Resolves with its exit code. */
export function runAgain(signal: AbortSignal): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit' })
  signal.addEventListener('abort', () => child.kill())
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve(code ?? 3))
  })
}

function hasFindings({ finished }: ResultsFile): boolean {
  return [...finished.values()].some(({ verdict }) => verdict === 'failed')
}

function describeEarlier({ finished, interrupted }: ResultsFile, tests: readonly SeedTest[]): string {
  if (finished.size === 0 && interrupted.size === 0) return ''
  const broken = [...interrupted.values()].map(({ test, started }) => `'${nameOf(tests, test)}' with seed ${started}`)
  const rerun = broken.length === 0 ? '' : `, and runs again what a process did not finish: ${broken.join(', ')}`
  return `Continues after ${plural(finished.size, 'run')}${rerun}\n`
}

const MAX_LISTED = 20

function describeResults({ finished }: ResultsFile, tests: readonly SeedTest[]): string {
  const results = [...finished.values()]
  const failed = results.filter(({ verdict }) => verdict === 'failed')
  const bySignature = new Map<string, { readonly first: SeedResult; readonly count: number }>()
  for (const result of failed) {
    for (const { signature } of result.findings ?? []) {
      const { first = result, count = 0 } = bySignature.get(signature) ?? {}
      bySignature.set(signature, { first, count: count + 1 })
    }
  }
  const lines = [...bySignature].slice(0, MAX_LISTED).flatMap(([signature, { first, count }]) => {
    const { words, replay } = first.findings!.find(finding => finding.signature === signature)!
    const head = `  ${signature}: ${plural(count, 'seed')}, first seed ${first.seed} of '${nameOf(tests, first.test)}'`
    return [head, `    ${words}`, ...(replay === undefined ? [] : [`    ${replay}`])]
  })
  const more = bySignature.size - MAX_LISTED
  if (more > 0) lines.push(`  and ${more} more; 'modelhost-sim merge' lists all`)
  return `${[`${plural(results.length, 'run')}: ${results.length - failed.length} passed, ${failed.length} failed`, ...lines].join('\n')}\n`
}

function describeRecheck(
  { rechecked }: ResultsFile,
  differing: readonly SeedResult[],
  tests: readonly SeedTest[],
): string {
  const lines = differing.map(
    ({ test, seed }) => `  '${nameOf(tests, test)}' with seed ${seed} came out differently in another process`,
  )
  const end = differing.length === 0 ? 'all came out the same' : `${differing.length} came out differently`
  return `${[`${plural(rechecked.size, 'run')} checked in another process: ${end}`, ...lines].join('\n')}\n`
}

function nameOf(tests: readonly SeedTest[], hash: string): string {
  return tests.find(test => test.hash === hash)?.name ?? hash
}

/** Limits updates of the progress: hundreds of runs a second would flicker. */
const PROGRESS_INTERVAL_MS = 100

class RunProgress {
  readonly #io: ShardIo
  #shownMs = Number.NEGATIVE_INFINITY
  #isShown = false

  constructor(io: ShardIo) {
    this.#io = io
  }

  update(text: string): void {
    const now = monotonicMs()
    if (this.#io.progress === undefined || now - this.#shownMs < PROGRESS_INTERVAL_MS) return
    this.#shownMs = now
    this.#isShown = true
    this.#io.progress(text)
  }

  end(): void {
    if (this.#isShown) this.#io.progress?.('')
    this.#isShown = false
  }
}
