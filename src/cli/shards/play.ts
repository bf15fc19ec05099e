/** Runs one shard of `run` or `explore`, prints what becomes of it, and returns the exit code. */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { plural } from '../../lib/text/numbers.ts'
import { escapeControls } from '../../lib/text/words.ts'
import { VERSION } from '../../lib/version.ts'
import { collectFindings, type MergedFinding } from '../../workbench/explore/shards/merge.ts'
import { playShard, type RunnableTest, runsOf } from '../../workbench/explore/shards/play-shard.ts'
import { RESULTS_FORMAT, ResultsFile } from '../../workbench/explore/shards/results.ts'
import { readShard, type SeedRange, type Shard } from '../../workbench/explore/shards/shard.ts'
import { type CommandIo, UsageError } from '../command.ts'
import { type ArgumentsOf, flag } from '../flags.ts'
import { integer } from '../values.ts'

/** The exit codes of commands that have found something or could not finish. */
export const FINDING_EXIT_CODES =
  'Exit codes: 0 nothing found, 1 findings, 2 could not run, 3 incomplete, also after Ctrl-C.'

export const FINDING_CODE = flag(
  'Exit code for findings in place of 1, so that Kubernetes retries after a crash, and not after a finding',
  // 1 to 3 have a meaning.
  integer({ min: 4, max: 125 }, 42),
)

export const SHARD_FLAGS = {
  shard: flag('Run a part of the seeds, as in 3/8. auto: the part that the variables of the CI or cluster name'),
  out: flag('Write the results of the seeds to this folder, and continue where an earlier process ended'),
  'finding-code': FINDING_CODE,
}

export type ShardArguments = Partial<ArgumentsOf<typeof SHARD_FLAGS>>

/** A part of a range of seeds and the folder of its results. */
export interface ShardRequest {
  readonly range: SeedRange
  readonly shard: Shard
  readonly out: string
  readonly findingCode: number
}

/**
 * Returns what the flags ask for; undefined if they ask for no shard.
 *
 * @param others flags that have no meaning for a shard
 * @throws UsageError for flags that need or exclude others, RangeError for an invalid shard
 */
export function readShardRequest(
  { shard, out, findingCode = 1 }: ShardArguments,
  range: SeedRange | undefined,
  others: Readonly<Record<string, unknown>>,
): ShardRequest | undefined {
  if (shard === undefined && out === undefined) return undefined
  const given = shard === undefined ? '--out' : '--shard'
  if (range === undefined) {
    throw new UsageError(`Failed to read ${given}: it needs a range of seeds. Give one, as in --seeds 1..1000.`)
  }
  if (out === undefined) {
    throw new UsageError(`Failed to read ${given}: it needs a folder for the results. Give one, as in --out results.`)
  }
  const [other] = Object.entries(others).find(([, value]) => value !== undefined && value !== false) ?? []
  if (other !== undefined) {
    throw new UsageError(
      `Failed to read --out: it writes results for 'modelhost-sim merge', and excludes --${other}. Leave it out.`,
    )
  }
  return { range, shard: readShard(shard ?? '1/1', process.env), out, findingCode }
}

export interface ShardIo extends CommandIo {
  /** Called with what is run. */
  playing?: ((name: string) => void) | undefined
  /** Called with the number of finished runs and of all. */
  readonly onDone?: ((done: number, total: number) => void) | undefined
  /** Aborted: the shard stops, and its exit code is 3. */
  readonly signal?: AbortSignal | undefined
  /** The folder that `--out` is relative to. */
  readonly folder: string
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
export async function playSharded(
  { command, tests, config }: ShardWork,
  { range, shard, out, findingCode }: ShardRequest,
  io: ShardIo,
): Promise<number> {
  const { index, count, source, statusFile } = shard
  if (statusFile !== undefined) writeFileSync(statusFile, '', { flag: 'a' })
  const git = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: io.folder, encoding: 'utf8' })
  const seeds = `${range.from}..${range.to}`
  const file = new ResultsFile(resolve(io.folder, out), {
    format: RESULTS_FORMAT,
    version: VERSION,
    ...(git.status === 0 && { commit: git.stdout.trim() }),
    command,
    tests: tests.map(({ name, hash, ownSeed }) => ({ name, hash, ...(ownSeed && { ownSeed }) })),
    config,
    seeds,
    shard: `${index}/${count}`,
    node: process.version,
  })
  try {
    const total = runsOf(tests, range, shard).length
    const from = source === undefined ? '' : `, from ${source}`
    io.error(`Shard ${index} of ${count}${from}: ${plural(total, 'run')} of seeds ${seeds}, in ${file.path}\n`)
    if (file.finished.size > 0) io.error(`Continues after ${plural(file.finished.size, 'run')}\n`)
    const left = await playShard(tests, range, shard, file, {
      signal: io.signal,
      onStart: (test, seed) => io.playing?.(`'${test.name}' with seed ${seed}`),
      onDone: done => io.onDone?.(done, total),
    })
    io.onDone?.(total, total)
    const results = [...file.finished.values()]
    const failed = results.filter(({ findings }) => findings !== undefined).length
    io.out(`${plural(results.length, 'run')}: ${results.length - failed} passed, ${failed} failed\n`)
    const nameOf = (hash: string) => tests.find(test => test.hash === hash)?.name ?? hash
    for (const finding of collectFindings(results, nameOf)) io.out(formatFinding(finding))
    if (left === 0) return failed > 0 ? findingCode : 0
    io.out(`Incomplete: ${left} of ${plural(total, 'run')} left. The same command continues.\n`)
    return 3
  } finally {
    file.close()
  }
}

/** Returns indented lines, with the control characters of tests and clients escaped. */
export function formatFinding(finding: MergedFinding): string {
  const { test, signature, count, firstSeed, words, plan, inputs, replay } = finding
  const lines = [
    `${signature}: ${plural(count, 'seed')}, first seed ${firstSeed} of ${test}`,
    words,
    plan && `plan: ${JSON.stringify(plan)}`,
    inputs && `inputs: ${JSON.stringify(inputs)}`,
    replay,
  ]
  return escapeControls(lines.flatMap(line => (line === undefined ? [] : [`  ${line}\n`])).join(''))
}

/** Returns a short hash of texts in their order. */
export function hashOf(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}\n`).update(part)
  return hash.digest('hex').slice(0, 16)
}
