/** Runs the seeds of one shard. */

import { unlessStopped } from '../run/runner.ts'
import { keyOf, OWN_SEED, type ResultsFile, type SeedFinding, type SeedTest, type TestSeed } from './results.ts'
import type { SeedRange, Shard } from './shard.ts'

/** What a run with one seed leads to. Equal seeds give equal outcomes, in any process. */
export interface SeedOutcome {
  readonly digest: string
  readonly findings: readonly SeedFinding[]
}

/** A test that this process can run. */
export interface RunnableTest extends SeedTest {
  /**
   * Runs it once.
   *
   * @param isKnown returns whether the shard has a finding with this signature: then its plan need not be shrunk
   */
  run(seed: TestSeed, isKnown: (signature: string) => boolean): Promise<SeedOutcome>
}

/**
 * Returns the runs of a shard in their order: every `count`-th seed of the range. So the shards of a range share no
 * seed and leave none out, and a shard that stops early has played seeds of the whole range. Tests with a seed of
 * their own are dealt out.
 */
export function runsOf<Test extends SeedTest>(
  tests: readonly Test[],
  { from, to }: SeedRange,
  { index, count }: Shard,
): { readonly test: Test; readonly seed: TestSeed; readonly key: string }[] {
  const owners = tests.filter(({ ownSeed }) => ownSeed).filter((_, i) => i % count === index - 1)
  const runs: { test: Test; seed: TestSeed }[] = owners.map(test => ({ test, seed: OWN_SEED }))
  for (let seed = from + index - 1; seed <= to; seed += count) {
    for (const test of tests) if (!test.ownSeed) runs.push({ test, seed })
  }
  return runs.map(({ test, seed }) => ({ test, seed, key: keyOf(test.hash, seed) }))
}

export interface PlayOptions {
  /** Aborted: no further run starts. The present one can be stopped, and then has no result. */
  readonly signal?: AbortSignal | undefined
  /** Called before each run. */
  readonly onStart?: ((test: SeedTest, seed: TestSeed) => void) | undefined
  /** Called after each run with the number of those that have a result. */
  readonly onDone?: ((done: number) => void) | undefined
}

/** Runs what has no result. Returns the number of runs that are left, which is 0 unless the signal stops it. */
export async function playShard(
  tests: readonly RunnableTest[],
  range: SeedRange,
  shard: Shard,
  file: ResultsFile,
  { signal, onStart, onDone }: PlayOptions = {},
): Promise<number> {
  const runs = runsOf(tests, range, shard).filter(({ key }) => !file.finished.has(key))
  for (const [i, { test, seed }] of runs.entries()) {
    if (signal?.aborted) return runs.length - i
    onStart?.(test, seed)
    const outcome = await unlessStopped(test.run(seed, signature => file.signatures.has(signature)))
    if (outcome === undefined) return runs.length - i
    const { digest, findings } = outcome
    file.add({ test: test.hash, seed, digest, ...(findings.length > 0 && { findings: [...findings] }) })
    onDone?.(file.finished.size)
  }
  return 0
}
