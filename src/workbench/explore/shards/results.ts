/**
 * The results of one shard in a file that only grows: a header, then one JSON object for each run. A process that is
 * killed loses at most the run that it was in.
 */

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { attempt, describeFileError } from '../../../lib/errors.ts'
import { tryParseJson } from '../../../lib/json-text.ts'
import { shellQuote } from '../../../lib/quote.ts'
import { WITHOUT_JIT } from '../../../lib/zod-problems.ts'
import { lockFile } from './lock.ts'

/** The format of results files that this version writes and reads. */
export const RESULTS_FORMAT = 1

const SeedTest = z.object({
  /** A flow or a scenario, by its file and name. */
  name: z.string(),
  /** Equal hashes mean equal content. */
  hash: z.string(),
  /** It has a seed of its own: one shard runs it once. */
  ownSeed: z.boolean().optional(),
})
/** A flow or a scenario that is run with many seeds. */
export type SeedTest = Readonly<z.output<typeof SeedTest>>

const Header = z.object({
  format: z.literal(RESULTS_FORMAT),
  version: z.string(),
  /** The commit of the project, if it is known. */
  commit: z.string().optional(),
  command: z.string(),
  tests: z.array(SeedTest),
  /** Hash of the flags that change results. */
  config: z.string(),
  seeds: z.string(),
  shard: z.string(),
  /** The version of Node. Not compared. */
  node: z.string(),
})
/** The first line: of what the results are. */
export type ResultsHeader = Readonly<z.output<typeof Header>>

/** The seed of a test that has its own. */
export const OWN_SEED = 'own'
const Seed = z.union([z.int().nonnegative(), z.literal(OWN_SEED)])
/** A number of the range, or the own seed of a test. */
export type TestSeed = z.output<typeof Seed>

const SeedFinding = z.object({
  /** Names the root cause. */
  signature: z.string(),
  words: z.string(),
  /** The faults that lead to it; the smallest that are known. */
  plan: z.array(z.unknown()).optional(),
  /** The inputs of the flow that it needs; missing for the simplest ones. */
  inputs: z.record(z.string(), z.unknown()).optional(),
  /** The command that shows it again. */
  replay: z.string().optional(),
})
/** What is wrong with one seed. */
export type SeedFinding = Readonly<z.output<typeof SeedFinding>>

const Result = z.object({ test: z.string(), seed: Seed, digest: z.string(), findings: z.array(SeedFinding).optional() })
/** The result of one run: `findings` is missing if it passed. */
export type SeedResult = Readonly<z.output<typeof Result>>

/** The key of a run in a union of files. */
export function keyOf(test: string, seed: TestSeed): string {
  return `${test} ${seed}`
}

const OF_ONE_RUN = ['version', 'commit', 'command', 'config', 'seeds', 'tests'] as const

/** Returns how two headers differ; undefined if their results can be joined. */
export function findDifference(
  one: ResultsHeader,
  other: ResultsHeader,
  fields: readonly (keyof ResultsHeader)[] = OF_ONE_RUN,
): string | undefined {
  const textOf = (header: ResultsHeader, field: keyof ResultsHeader) =>
    field === 'tests'
      ? header.tests.map(({ name, hash }) => `${name} (${hash})`).join(', ')
      : String(header[field] ?? 'unknown')
  const field = fields.find(name => textOf(one, name) !== textOf(other, name))
  return field && `${field}: ${textOf(one, field)} and ${textOf(other, field)}`
}

interface Results {
  readonly header: ResultsHeader
  readonly results: readonly SeedResult[]
  /** The number of bytes up to the end of the last whole line. */
  readonly end: number
}

/**
 * Reads a results file. A last line that was cut off is left out.
 *
 * @returns undefined if not even the header is whole
 * @throws RangeError for a file that cannot be read, that has another format, and that is damaged
 */
export function readResults(path: string): Results | undefined {
  const fail = (reason: string, advice = 'Give files of --out.'): never => {
    throw new RangeError(`Failed to read ${shellQuote(path)}: ${reason}. ${advice}`)
  }
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    return fail(describeFileError(error))
  }
  const end = bytes.lastIndexOf('\n') + 1
  if (end === 0) return undefined
  const [first, ...lines] = bytes.toString('utf8', 0, end - 1).split('\n')
  const header =
    Header.safeParse(tryParseJson(first!), WITHOUT_JIT).data ??
    fail(`it is not a results file of format ${RESULTS_FORMAT}`)
  const results = lines.map((line, i) => {
    const result = Result.safeParse(tryParseJson(line), WITHOUT_JIT).data
    return result ?? fail(`line ${i + 2} is not a result`, 'Remove that line, or the file.')
  })
  return { header, results, end }
}

export class ResultsFile {
  readonly path: string
  /** The finished results by key. */
  readonly finished = new Map<string, SeedResult>()
  /** Signatures of the findings so far. */
  readonly signatures = new Set<string>()
  #file = -1
  #release = () => {}

  /**
   * Opens the file of a shard in a folder, or continues it. A last line that was cut off is removed.
   *
   * @throws RangeError for a file of other work, and for one that is damaged, locked or cannot be written
   */
  constructor(folder: string, header: ResultsHeader) {
    this.path = join(folder, `results-${header.shard.replace(/\/.*/, '')}.ndjson`)
    this.#attempt(() => {
      mkdirSync(folder, { recursive: true })
      this.#release = lockFile(this.path)
    })
    try {
      this.#open(header)
    } catch (error) {
      this.close()
      throw error
    }
  }

  #open(header: ResultsHeader): void {
    const earlier = existsSync(this.path) ? readResults(this.path) : undefined
    const difference = earlier && findDifference(earlier.header, header, [...OF_ONE_RUN, 'shard'])
    if (difference !== undefined) {
      throw new RangeError(
        `Failed to continue ${this.path}: it is of other work (${difference}). Give another folder with --out, or remove the file.`,
      )
    }
    for (const result of earlier?.results ?? []) this.#remember(result)
    this.#attempt(() => {
      this.#file = openSync(this.path, 'a')
      truncateSync(this.path, earlier?.end ?? 0)
    })
    if (earlier === undefined) this.#append(header)
  }

  add(result: SeedResult): void {
    this.#append(result)
    this.#remember(result)
  }

  close(): void {
    if (this.#file >= 0) {
      // Some file systems cannot.
      attempt(() => fsyncSync(this.#file))
      closeSync(this.#file)
    }
    this.#release()
  }

  #remember(result: SeedResult): void {
    this.finished.set(keyOf(result.test, result.seed), result)
    for (const { signature } of result.findings ?? []) this.signatures.add(signature)
  }

  #append(line: ResultsHeader | SeedResult): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    this.#attempt(() => {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
    })
  }

  #attempt(action: () => void): void {
    try {
      action()
    } catch (error) {
      if (error instanceof RangeError) throw error
      throw new RangeError(
        `Failed to write ${this.path}: ${describeFileError(error)}. Free some space, or give another folder with --out.`,
        { cause: error },
      )
    }
  }
}
