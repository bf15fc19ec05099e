/** Runs the seeds of one shard. */

import { monotonicMs } from '../../../lib/real-time.ts'
import { unlessStopped } from '../run/runner.ts'
import { keyOf, OWN_SEED, type SeedFinding, type SeedResult, type SeedTest, type TestSeed } from './records.ts'
import type { ResultsFile } from './results-file.ts'
import { countSeeds, type SeedRange, type Shard, seedsOf } from './seed-range.ts'

/** What a run with one seed leads to. Equal seeds give equal outcomes, in any process. */
export interface SeedOutcome {
  readonly digest: string
  readonly findings: readonly SeedFinding[]
  /** Features of coverage. */
  readonly features: readonly string[]
  /** Virtual time in seconds. */
  readonly virtualSeconds: number
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

/** One run of a test. */
interface Unit {
  readonly test: RunnableTest
  readonly seed: TestSeed
  readonly key: string
}

export interface PlayOptions {
  /** Aborted: no further run starts. The present one can be stopped, and then has no result. */
  readonly signal?: AbortSignal | undefined
  /** Called before each run. */
  readonly onStart?: ((test: SeedTest, seed: TestSeed) => void) | undefined
  /** Called after each run. */
  readonly onDone?: ((result: SeedResult, done: number) => void) | undefined
}

/** The runs of one shard and their results. */
export class ShardRuns {
  readonly #tests: readonly RunnableTest[]
  readonly #range: SeedRange
  readonly #shard: Shard
  readonly #file: ResultsFile

  constructor(tests: readonly RunnableTest[], range: SeedRange, shard: Shard, file: ResultsFile) {
    this.#tests = tests
    this.#range = range
    this.#shard = shard
    this.#file = file
  }

  /** The number of runs of this shard. */
  get count(): number {
    const { index, count } = this.#shard
    const seeds = Math.max(0, Math.ceil((countSeeds(this.#range) - index + 1) / count))
    return seeds * this.#tests.filter(({ ownSeed }) => !ownSeed).length + this.#ownSeedTests().length
  }

  /** Runs what is not finished. Returns the number of runs that are left, which is 0 unless the signal stops it. */
  async play({ signal, onStart, onDone }: PlayOptions = {}): Promise<number> {
    for (const unit of this.#units()) {
      if (this.#file.finished.has(unit.key)) continue
      if (signal?.aborted) break
      onStart?.(unit.test, unit.seed)
      this.#file.started({ test: unit.test.hash, started: unit.seed })
      const result = await unlessStopped(this.#run(unit))
      if (result === undefined) break
      this.#file.add(result)
      onDone?.(result, this.#file.finished.size)
    }
    return this.count - this.#file.finished.size
  }

  /**
   * Runs every failed seed and a hundredth of the others again, and writes their digests to the file. It shows
   * something new only in another process than that of the results. Returns the results that came out differently.
   */
  async recheck({ signal, onStart }: PlayOptions = {}): Promise<readonly SeedResult[]> {
    let passed = 0
    const differing: SeedResult[] = []
    for (const unit of this.#units()) {
      const result = this.#file.finished.get(unit.key)
      if (result === undefined) continue
      const isChosen = result.verdict === 'failed' || passed++ % PASSED_PER_RECHECK === 0
      if (!isChosen || this.#file.rechecked.has(unit.key)) continue
      if (signal?.aborted) break
      onStart?.(unit.test, unit.seed)
      const again = await unlessStopped(unit.test.run(unit.seed, () => true))
      if (again === undefined) break
      this.#file.recheck({ test: unit.test.hash, rechecked: unit.seed, digest: again.digest })
      if (again.digest !== result.digest) differing.push(result)
    }
    return differing
  }

  async #run({ test, seed }: Unit): Promise<SeedResult> {
    const startedMs = monotonicMs()
    const { digest, findings, features, virtualSeconds } = await test.run(seed, signature =>
      this.#file.signatures.has(signature),
    )
    return {
      test: test.hash,
      seed,
      digest,
      verdict: findings.length === 0 ? 'passed' : 'failed',
      ...(findings.length > 0 && { findings: [...findings] }),
      ...(features.length > 0 && { features: [...features] }),
      virtual_s: virtualSeconds,
      wall_ms: Math.round((monotonicMs() - startedMs) * 10) / 10,
    }
  }

  *#units(): Generator<Unit> {
    for (const test of this.#ownSeedTests()) yield { test, seed: OWN_SEED, key: keyOf(test.hash, OWN_SEED) }
    const tests = this.#tests.filter(({ ownSeed }) => !ownSeed)
    for (const seed of seedsOf(this.#range, this.#shard)) {
      for (const test of tests) yield { test, seed, key: keyOf(test.hash, seed) }
    }
  }

  /** Tests with a seed of their own are dealt out to the shards. */
  #ownSeedTests(): readonly RunnableTest[] {
    const { index, count } = this.#shard
    return this.#tests.filter(({ ownSeed }) => ownSeed).filter((_, i) => i % count === index - 1)
  }
}

/** Of the seeds that passed, one of so many is checked again. */
const PASSED_PER_RECHECK = 100
