/** Joins the results files of shards: which seeds are missing, which differ, and what was found. */

import { createHash } from 'node:crypto'
import { describeFileError } from '../../../lib/file-errors.ts'
import { readLines } from './line-reader.ts'
import {
  keyOf,
  OWN_SEED,
  parseHeader,
  parseLine,
  type RecheckLine,
  type ResultsHeader,
  type SeedFinding,
  type SeedResult,
  type SeedTest,
  type StartedLine,
  type TestSeed,
} from './records.ts'
import { countSeeds, formatSeedRange, parseSeedRange, type SeedRange } from './seed-range.ts'

/** A root cause, and how often it was found. */
export interface MergedFinding {
  readonly test: string
  readonly signature: string
  /** Seeds that have it. */
  readonly count: number
  readonly firstSeed: TestSeed
  /** Of the first seed. */
  readonly words: string
  /** The smallest of all shards. */
  readonly plan: readonly unknown[] | undefined
  /** The inputs of the flow for this plan; undefined for the simplest ones. */
  readonly inputs: SeedFinding['inputs']
  readonly replay: string | undefined
}

/** One seed with different digests: the same run came out differently. */
export interface DifferingSeed {
  readonly test: string
  readonly seed: TestSeed
  readonly results: readonly { readonly digest: string; readonly file: string; readonly node: string }[]
}

/** A seed without a result. */
export interface MissingSeed {
  readonly test: string
  readonly seed: TestSeed
  /** The file of a process that started it and did not finish it. */
  readonly startedIn: string | undefined
}

export interface MergeReport {
  readonly files: number
  readonly tests: readonly string[]
  readonly seeds: string
  /** Runs that the range and the tests ask for. */
  readonly expected: number
  /** Results in the union. */
  readonly runs: number
  readonly failed: number
  /** Seeds of which there are several results or a recheck. */
  readonly repeated: number
  readonly missing: readonly MissingSeed[]
  /** Shards without a file, as in `8/8`; empty if the files are of different divisions. */
  readonly missingShards: readonly string[]
  readonly differing: readonly DifferingSeed[]
  readonly findings: readonly MergedFinding[]
  /** Features of coverage in the union. */
  readonly features: number
  /** Hash of all results without their times: equal for equal results, however they were divided. */
  readonly digest: string
}

/** A result and its file. */
interface Known {
  readonly digest: string
  readonly file: number
  readonly verdict: SeedResult['verdict']
  readonly signatures: string
}

/**
 * Joins results files.
 *
 * @param expect the seeds that must be there. Default: the range of the files
 * @throws RangeError for a file that cannot be read, and for files of different versions or settings
 */
export function mergeResults(paths: readonly string[], expect?: SeedRange): MergeReport {
  const union = new Union()
  for (const path of paths) union.read(path)
  return union.report(expect)
}

class Union {
  readonly #files: { readonly path: string; readonly header: ResultsHeader }[] = []
  readonly #tests = new Map<string, SeedTest>()
  readonly #known = new Map<string, Known>()
  readonly #repeated = new Set<string>()
  readonly #started = new Map<string, string>()
  readonly #differing = new Map<string, Map<string, number>>()
  readonly #findings = new Map<
    string,
    { count: number; firstSeed: TestSeed; best: SeedFinding; words: string; test: string }
  >()
  readonly #features = new Set<string>()

  read(path: string): void {
    let number = 0
    try {
      for (const { text, isComplete } of readLines(path)) {
        number++
        if (number === 1) this.#addFile(path, isComplete ? parseHeader(text) : 'its header is cut off')
        else this.#addLine(path, text, isComplete, number)
      }
    } catch (error) {
      if (error instanceof RangeError) throw error
      throw new RangeError(`Failed to merge ${path}: ${describeFileError(error)}. Give files of --out.`, {
        cause: error,
      })
    }
    if (number === 0) throw new RangeError(`Failed to merge ${path}: it is empty. Give files of --out.`)
  }

  report(expect: SeedRange | undefined): MergeReport {
    const range = expect ?? parseSeedRange(this.#files[0]!.header.seeds, 'the seeds of the files')
    const missing = this.#missing(range)
    const ownSeeds = [...this.#tests.values()].filter(({ ownSeed }) => ownSeed).length
    return {
      files: this.#files.length,
      tests: [...this.#tests.values()].map(({ name }) => name),
      seeds: formatSeedRange(range),
      expected: countSeeds(range) * (this.#tests.size - ownSeeds) + ownSeeds,
      runs: this.#known.size,
      failed: [...this.#known.values()].filter(({ verdict }) => verdict === 'failed').length,
      repeated: this.#repeated.size,
      missing,
      missingShards: this.#missingShards(),
      differing: this.#differingSeeds(),
      findings: this.#mergedFindings(),
      features: this.#features.size,
      digest: this.#digest(),
    }
  }

  #addFile(path: string, header: ResultsHeader | string): void {
    if (typeof header === 'string') throw new RangeError(`Failed to merge ${path}: ${header}. Give files of --out.`)
    const [first] = this.#files
    for (const field of ['version', 'commit', 'command', 'config', 'seeds'] as const) {
      if (first === undefined || first.header[field] === header[field]) continue
      throw new RangeError(
        `Failed to merge ${first.path} and ${path}: they are of different ${field} ` +
          `(${first.header[field] ?? 'unknown'} and ${header[field] ?? 'unknown'}). Merge files of one run.`,
      )
    }
    this.#files.push({ path, header })
    for (const test of header.tests) this.#tests.set(test.hash, test)
  }

  #addLine(path: string, text: string, isComplete: boolean, number: number): void {
    const line = parseLine(text)
    // The writer was killed: the seed has no result, which is reported as missing.
    if (line === undefined && !isComplete) return
    if (line === undefined) {
      throw new RangeError(`Failed to merge ${path}: line ${number} is not a result. Run that shard again.`)
    }
    if ('started' in line) this.#addStarted(line, path)
    else this.#addDigest(line)
    if ('verdict' in line) this.#addResult(line)
  }

  #addStarted({ test, started }: StartedLine, path: string): void {
    this.#started.set(keyOf(test, started), path)
  }

  /** Compares a digest with that of an earlier line about the same seed. */
  #addDigest(line: SeedResult | RecheckLine): void {
    const key = keyOf(line.test, 'rechecked' in line ? line.rechecked : line.seed)
    const known = this.#known.get(key)
    if (known === undefined) return
    this.#repeated.add(key)
    if (known.digest === line.digest) return
    const digests = this.#differing.get(key) ?? new Map([[known.digest, known.file]])
    if (!digests.has(line.digest)) digests.set(line.digest, this.#files.length - 1)
    this.#differing.set(key, digests)
  }

  #addResult({ test, seed, digest, verdict, findings = [], features = [] }: SeedResult): void {
    const key = keyOf(test, seed)
    for (const feature of features) this.#features.add(feature)
    const isNew = !this.#known.has(key)
    for (const finding of findings) this.#addFinding(test, seed, finding, isNew)
    if (!isNew) return
    const signatures = findings.map(({ signature }) => signature).join(' ')
    this.#known.set(key, { digest, file: this.#files.length - 1, verdict, signatures })
  }

  #addFinding(test: string, seed: TestSeed, finding: SeedFinding, isNew: boolean): void {
    const key = `${test} ${finding.signature}`
    const known = this.#findings.get(key)
    if (known === undefined) {
      this.#findings.set(key, { count: 1, firstSeed: seed, best: finding, words: finding.words, test })
      return
    }
    if (isNew) known.count++
    const isFirst = isBefore(seed, known.firstSeed)
    if (isFirst) {
      known.firstSeed = seed
      known.words = finding.words
    }
    const [size, smallest] = [sizeOf(finding), sizeOf(known.best)]
    if (size < smallest || (size === smallest && isFirst)) known.best = finding
  }

  #missing(range: SeedRange): MissingSeed[] {
    const missing: MissingSeed[] = []
    const require = ({ hash, name }: SeedTest, seed: TestSeed) => {
      const key = keyOf(hash, seed)
      if (!this.#known.has(key)) missing.push({ test: name, seed, startedIn: this.#started.get(key) })
    }
    for (const test of this.#tests.values()) {
      if (test.ownSeed) require(test, OWN_SEED)
      else for (let seed = range.from; seed <= range.to; seed++) require(test, seed)
    }
    return missing
  }

  #missingShards(): string[] {
    const found = new Set(this.#files.map(({ header }) => header.shard))
    const [count, other] = new Set([...found].map(shard => Number(shard.split('/')[1])))
    if (count === undefined || other !== undefined) return []
    return Array.from({ length: count }, (_, i) => `${i + 1}/${count}`).filter(shard => !found.has(shard))
  }

  #differingSeeds(): DifferingSeed[] {
    return [...this.#differing].map(([key, digests]) => {
      const [test, seed] = key.split(' ') as [string, string]
      const results = [...digests].map(([digest, file]) => {
        const { path, header } = this.#files[file]!
        return { digest, file: path, node: header.node }
      })
      return { test: this.#nameOf(test), seed: seed === OWN_SEED ? seed : Number(seed), results }
    })
  }

  #mergedFindings(): MergedFinding[] {
    return [...this.#findings.values()]
      .map(({ test, count, firstSeed, words, best }) => ({
        test: this.#nameOf(test),
        signature: best.signature,
        count,
        firstSeed,
        words,
        plan: best.plan,
        inputs: best.inputs,
        replay: best.replay,
      }))
      .sort((one, other) => other.count - one.count || (one.signature < other.signature ? -1 : 1))
  }

  #nameOf(test: string): string {
    return this.#tests.get(test)?.name ?? test
  }

  #digest(): string {
    const hash = createHash('sha256')
    for (const key of [...this.#known.keys()].sort()) {
      const { digest, verdict, signatures } = this.#known.get(key)!
      hash.update(`${key} ${digest} ${verdict} ${signatures}\n`)
    }
    return hash.digest('hex').slice(0, 16)
  }
}

function isBefore(one: TestSeed, other: TestSeed): boolean {
  return typeof one === 'number' && typeof other === 'number' && one < other
}

/** Orders findings by the size of their plan. A plan is smaller than none. */
function sizeOf({ plan }: SeedFinding): number {
  return plan === undefined ? Number.POSITIVE_INFINITY : plan.length * 1e6 + JSON.stringify(plan).length
}
