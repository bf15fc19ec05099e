/** Joins the results files of shards: which runs are missing, which were played twice, and what was found. */

import { createHash } from 'node:crypto'
import { groupBy } from '../../../lib/lists.ts'
import { runsOf } from './play-shard.ts'
import { findDifference, keyOf, readResults, type SeedFinding, type SeedResult, type TestSeed } from './results.ts'
import { parseSeedRange } from './shard.ts'

/** A root cause, and how often it was found. Words, plan, inputs and replay are those of the smallest plan of all shards. */
export interface MergedFinding extends SeedFinding {
  readonly test: string
  /** Seeds that have it. */
  readonly count: number
  readonly firstSeed: TestSeed
}

/** One seed with different digests: the same run came out differently. */
export interface DifferingSeed {
  readonly test: string
  readonly seed: TestSeed
  readonly results: readonly { readonly digest: string; readonly file: string; readonly node: string }[]
}

/** A shard that has runs without a result. */
export interface IncompleteShard {
  readonly shard: string
  readonly hasFile: boolean
  readonly runs: number
  /** The first run without a result. If a process ended early, it was in this run. */
  readonly test: string
  readonly seed: TestSeed
}

export interface MergeReport {
  readonly files: number
  readonly tests: readonly string[]
  readonly seeds: string
  /** Runs that the range and the tests ask for. */
  readonly expected: number
  /** Runs with a result. */
  readonly runs: number
  readonly failed: number
  readonly missing: number
  readonly incomplete: readonly IncompleteShard[]
  /** Results of runs that have an earlier result. */
  readonly repeated: number
  readonly differing: readonly DifferingSeed[]
  readonly findings: readonly MergedFinding[]
  /** Hash of all results: equal for equal results, however they were divided. */
  readonly digest: string
}

/**
 * Joins results files.
 *
 * @param onRead called after each file with the number of those that were read
 * @throws RangeError for a file that cannot be read, and for files of different versions or settings
 */
export function mergeResults(paths: readonly string[], onRead?: (done: number) => void): MergeReport {
  const files = paths.map((path, index) => {
    const read = readResults(path)
    onRead?.(index + 1)
    if (read === undefined) throw new RangeError(`Failed to merge ${path}: it has no whole line. Run that shard again.`)
    return { path, ...read }
  })
  const { path: firstPath, header } = files[0]!
  for (const other of files) {
    const difference = findDifference(header, other.header)
    if (difference === undefined) continue
    throw new RangeError(
      `Failed to merge ${firstPath} and ${other.path}: they are of other work (${difference}). Merge files of one run.`,
    )
  }
  const { tests, seeds } = header
  const nameOf = (hash: string) => tests.find(test => test.hash === hash)?.name ?? hash
  const played = files.flatMap(({ path, header: { node }, results }) =>
    results.map(result => ({ ...result, file: path, node })),
  )
  const byRun = groupBy(played, ({ test, seed }) => keyOf(test, seed))
  const runs = [...byRun.values()].map(([first]) => first!)
  const range = parseSeedRange(seeds, 'the seeds of the files')
  const incomplete: IncompleteShard[] = []
  const count = Number(header.shard.split('/')[1])
  for (let index = 1; index <= count; index++) {
    const missing = runsOf(tests, range, { index, count }).filter(({ key }) => !byRun.has(key))
    if (missing.length === 0) continue
    const shard = `${index}/${count}`
    const hasFile = files.some(file => file.header.shard === shard)
    incomplete.push({ shard, hasFile, runs: missing.length, test: missing[0]!.test.name, seed: missing[0]!.seed })
  }
  return {
    files: files.length,
    tests: tests.map(({ name }) => name),
    seeds,
    expected: runsOf(tests, range, { index: 1, count: 1 }).length,
    runs: runs.length,
    failed: runs.filter(({ findings }) => findings !== undefined).length,
    missing: incomplete.reduce((sum, shard) => sum + shard.runs, 0),
    incomplete,
    repeated: played.length - runs.length,
    differing: [...byRun.values()].flatMap(results => {
      const byDigest = [...groupBy(results, ({ digest }) => digest).values()].map(([first]) => first!)
      const { test, seed } = results[0]!
      const named = byDigest.map(({ digest, file, node }) => ({ digest, file, node }))
      return named.length === 1 ? [] : [{ test: nameOf(test), seed, results: named }]
    }),
    findings: collectFindings(played, nameOf),
    digest: digestOf(runs),
  }
}

/** Returns each root cause of the results once, the most frequent first. */
export function collectFindings(
  results: Iterable<SeedResult>,
  nameOf: (test: string) => string,
): readonly MergedFinding[] {
  const found = [...results].flatMap(({ test, seed, findings = [] }) =>
    findings.map(finding => ({ test, seed, finding })),
  )
  return [...groupBy(found, ({ test, finding }) => `${test} ${finding.signature}`).values()]
    .map(group => {
      const [first, ...others] = group.sort((one, other) => Number(one.seed) - Number(other.seed))
      const smallest = others.reduce((best, one) => (sizeOf(one.finding) < sizeOf(best.finding) ? one : best), first!)
      return {
        test: nameOf(first!.test),
        count: new Set(group.map(({ seed }) => seed)).size,
        firstSeed: first!.seed,
        ...smallest.finding,
      }
    })
    .sort((one, other) => other.count - one.count || (one.signature < other.signature ? -1 : 1))
}

/** Orders findings by the size of their plan. A plan is smaller than none. */
function sizeOf({ plan }: SeedFinding): number {
  return plan === undefined ? Number.POSITIVE_INFINITY : plan.length * 1e6 + JSON.stringify(plan).length
}

function digestOf(runs: readonly SeedResult[]): string {
  const lines = runs.map(({ test, seed, digest, findings = [] }) =>
    [keyOf(test, seed), digest, ...findings.map(({ signature }) => signature)].join(' '),
  )
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 16)
}
