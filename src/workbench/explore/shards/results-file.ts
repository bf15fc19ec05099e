/** The results of one shard in a file that only grows: a process that is killed loses at most the seed that it ran. */

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describeFileError } from '../../../lib/file-errors.ts'
import { readLines } from './line-reader.ts'
import {
  keyOf,
  parseHeader,
  parseLine,
  type RecheckLine,
  type ResultsHeader,
  type ResultsLine,
  type SeedResult,
  type StartedLine,
} from './records.ts'

/** Returns the name of a shard's file. */
export function resultsFileName(index: number): string {
  return `results-${index}.ndjson`
}

/** The fields of a header that must be equal for a file to be continued. */
const COMPARED = ['version', 'commit', 'command', 'config', 'seeds', 'shard'] as const

export class ResultsFile {
  readonly path: string
  /** The finished results by key. */
  readonly finished = new Map<string, SeedResult>()
  /** The seeds that an earlier process started and did not finish. */
  readonly interrupted = new Map<string, StartedLine>()
  /** Keys of the results that another process has checked. */
  readonly rechecked = new Set<string>()
  /** Signatures of the findings so far. */
  readonly signatures = new Set<string>()
  readonly #features = new Set<string>()
  #file = -1

  /**
   * Opens the file of a shard in a folder, or continues it. A last line that was cut off is removed.
   *
   * @throws RangeError for a file of other work, and for one that is damaged
   */
  constructor(folder: string, index: number, header: ResultsHeader) {
    this.path = join(folder, resultsFileName(index))
    try {
      mkdirSync(folder, { recursive: true })
      const hasHeader = existsSync(this.path) && this.#read(header)
      this.#file = openSync(this.path, 'a')
      if (!hasHeader) this.#append(header)
    } catch (error) {
      this.close()
      if (error instanceof RangeError) throw error
      throw this.#writeError(error)
    }
  }

  started(line: StartedLine): void {
    this.#append(line)
  }

  /** Adds a result. Features that an earlier result has are left out. */
  add(result: SeedResult): void {
    const features = result.features?.filter(feature => !this.#features.has(feature))
    const { features: _, ...rest } = result
    const line = features === undefined || features.length === 0 ? rest : { ...rest, features }
    this.#append(line)
    this.#remember(line)
  }

  recheck(line: RecheckLine): void {
    this.#append(line)
    this.#remember(line)
  }

  close(): void {
    if (this.#file < 0) return
    try {
      fsyncSync(this.#file)
    } catch {
      // Some file systems cannot.
    }
    closeSync(this.#file)
    this.#file = -1
  }

  /** Reads what earlier processes wrote. Returns false if not even the header is complete. */
  #read(header: ResultsHeader): boolean {
    let [number, end] = [0, 0]
    for (const line of readLines(this.path)) {
      number++
      if (!line.isComplete) {
        truncateSync(this.path, end)
        break
      }
      end = line.end
      if (number === 1) this.#requireSame(header, parseHeader(line.text))
      else this.#remember(parseLine(line.text) ?? this.#damaged(number))
    }
    return end > 0
  }

  #remember(line: ResultsLine): void {
    if ('started' in line) {
      this.interrupted.set(keyOf(line.test, line.started), line)
    } else if ('rechecked' in line) {
      this.rechecked.add(keyOf(line.test, line.rechecked))
    } else {
      const key = keyOf(line.test, line.seed)
      this.finished.set(key, line)
      this.interrupted.delete(key)
      for (const { signature } of line.findings ?? []) this.signatures.add(signature)
      for (const feature of line.features ?? []) this.#features.add(feature)
    }
  }

  #requireSame(header: ResultsHeader, found: ResultsHeader | string): void {
    if (typeof found === 'string') {
      throw new RangeError(`Failed to continue ${this.path}: ${found}. Give another folder with --out.`)
    }
    const field = COMPARED.find(name => found[name] !== header[name])
    const tests = (one: ResultsHeader) => one.tests.map(({ name, hash }) => `${name} (${hash})`).join(', ')
    const difference =
      field === undefined
        ? tests(found) === tests(header)
          ? undefined
          : `of ${tests(found)}, and this run is of ${tests(header)}`
        : `of ${field} ${found[field] ?? 'unknown'}, and this run has ${header[field] ?? 'no known one'}`
    if (difference === undefined) return
    throw new RangeError(
      `Failed to continue ${this.path}: its results are ${difference}. Give another folder with --out, or remove the file.`,
    )
  }

  #damaged(line: number): never {
    throw new RangeError(
      `Failed to continue ${this.path}: line ${line} is not a result. Remove that line, or the file.`,
    )
  }

  /** Writes one line in one call, so that lines of two processes do not mix. */
  #append(line: ResultsHeader | ResultsLine): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
    } catch (error) {
      throw this.#writeError(error)
    }
  }

  #writeError(error: unknown): RangeError {
    return new RangeError(
      `Failed to write ${this.path}: ${describeFileError(error)}. Free some space, or give another folder with --out.`,
      { cause: error },
    )
  }
}
