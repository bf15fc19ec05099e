/** The lines of a results file: a header, then what happened, one JSON object a line. */

import * as z from 'zod'
import { tryParseJson } from '../../../lib/json-text.ts'
import { WITHOUT_JIT } from '../../../lib/zod-problems.ts'

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
  /** Who started the process. Not compared. */
  launcher: z.string().optional(),
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

const Result = z.object({
  test: z.string(),
  seed: Seed,
  digest: z.string(),
  verdict: z.enum(['passed', 'failed']),
  findings: z.array(SeedFinding).optional(),
  /** Features of coverage that no earlier result of this file has. */
  features: z.array(z.string()).optional(),
  virtual_s: z.number(),
  wall_ms: z.number(),
})
/** The result of one seed. */
export type SeedResult = Readonly<z.output<typeof Result>>

const Started = z.object({ test: z.string(), started: Seed })
/** Written before a seed, so that a crash names it. */
export type StartedLine = Readonly<z.output<typeof Started>>

const Recheck = z.object({ test: z.string(), rechecked: Seed, digest: z.string() })
/** The digest of a seed in another process. */
export type RecheckLine = Readonly<z.output<typeof Recheck>>

export type ResultsLine = SeedResult | StartedLine | RecheckLine

/** Returns the header, or why the text has no valid one. */
export function parseHeader(text: string): ResultsHeader | string {
  const value = tryParseJson(text) as { format?: unknown } | null | undefined
  if (typeof value !== 'object' || value === null || !('format' in value)) return 'it is not a results file'
  if (value.format !== RESULTS_FORMAT) {
    return `it has format ${JSON.stringify(value.format)}, and this version reads format ${RESULTS_FORMAT}`
  }
  const { data, error } = Header.safeParse(value, WITHOUT_JIT)
  return data ?? `its header is invalid at '${error.issues[0]!.path.join('.')}'`
}

/** Returns a line after the header; undefined for any other text. */
export function parseLine(text: string): ResultsLine | undefined {
  const value = tryParseJson(text)
  if (typeof value !== 'object' || value === null) return undefined
  const schema = 'started' in value ? Started : 'rechecked' in value ? Recheck : Result
  return schema.safeParse(value, WITHOUT_JIT).data
}

/** The key of a result in a union of files. */
export function keyOf(test: string, seed: TestSeed): string {
  return `${test} ${seed}`
}
