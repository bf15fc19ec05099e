/** Rows of measurements: those of the package, and those of files. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EngineFactors } from '../../data/engine-classes.ts'
import { findPackageFolder } from '../../data/fixtures/files.ts'
import { groupBy } from '../../lib/lists.ts'
import { jsonPath, problemsOf } from '../../lib/zod-problems.ts'
import { UsageError } from '../command.ts'
import { readDataFile } from '../files/data-file.ts'
import { type ComparedRow, classOf, compareRow, constantsOf, PublishedRow, SetUp } from './comparison.ts'

/** The rows of the package, with sources and figures of models once each. */
interface PublishedTable {
  readonly sources: readonly string[]
  readonly models: Readonly<Record<string, object>>
  readonly rows: readonly (readonly [string, number, PublishedRow['metric'], number, string, object])[]
}

/** Returns the published rows to which the constants were fitted. */
export function publishedRows(): PublishedRow[] {
  const path = join(findPackageFolder('fixtures/validation')!, 'published.json')
  const { sources, models, rows } = JSON.parse(readFileSync(path, 'utf8')) as PublishedTable
  return rows.map(([id, source, metric, value, model, setup]) => ({
    ...{ id, source: sources[source]!, metric, value },
    setup: { model, ...models[model], ...setup } as SetUp,
  }))
}

/**
 * Reads rows of the form of the published ones: a list, or an object with the list `rows`.
 *
 * @throws UsageError for a file that has no such rows
 */
export function readRows(path: string): PublishedRow[] {
  const fail = (reason: string) => new UsageError(`Failed to read '${path}': ${reason}.`)
  const parsed = readDataFile(path, `'${path}'`)
  const rows = Array.isArray(parsed) ? parsed : (parsed as { rows?: unknown } | null)?.rows
  if (!Array.isArray(rows) || rows.length === 0)
    throw fail("it has no rows. Give a list, or an object with the list 'rows'")
  const hasId = (row: PublishedRow) => /^(string|number)$/.test(typeof row?.id)
  return rows.map((row, i) => ({ ...row, id: hasId(row) ? String(row.id) : `row ${i + 1}` }))
}

/** No engine is so far from the model: the value has another unit. */
const LARGEST_ERROR = 100

/** Compares rows. A row whose set-up cannot be computed, or whose value has another unit, comes with the reason. */
export function compareRows(
  rows: readonly PublishedRow[],
  factors?: EngineFactors,
): {
  readonly compared: readonly ComparedRow[]
  readonly problems: readonly { readonly id: string; readonly reason: string }[]
} {
  const compared: ComparedRow[] = []
  const problems: { id: string; reason: string }[] = []
  const seen = new Set<string>()
  for (const row of rows) {
    try {
      if (seen.has(row.id)) throw new Error('an earlier row has this id')
      seen.add(row.id)
      const checked = PublishedRow.safeParse(row)
      if (!checked.success) {
        const all = problemsOf(PublishedRow, row, checked.error)
        throw new Error(all.map(({ path, text }) => `${jsonPath(path)}: ${reasonOf(path, text)}`).join('; '))
      }
      const result = compareRow(row, factors && constantsOf(row.setup, factors))
      if (result.error >= LARGEST_ERROR)
        throw new Error(
          `its value is ${row.value} and the model has ${Number(result.model.toPrecision(2))}; times are in seconds`,
        )
      compared.push(result)
    } catch (error) {
      problems.push({ id: row.id, reason: (error as Error).message })
    }
  }
  return { compared, problems }
}

/** Returns the text of a problem without its advice, which `Correct that row` replaces. */
function reasonOf(path: readonly PropertyKey[], text: string): string {
  if (path.length === 1 && Object.hasOwn(SetUp.shape, path[0]!)) return 'unknown field (it belongs in $.setup)'
  return text.replace(/\. Did you mean ('.*?')\? .*$/, ' (did you mean $1?)').replace(/\.[^.]*\.$/, '')
}

const METRIC_WORDS = {
  outputTokensPerSecond: 'throughput',
  endToEnd: 'end to end',
  timePerOutputToken: 'token time',
  timeToFirstToken: 'time to first token',
} as const

/** Returns the errors by class of the engine, metric, and for throughput by whether the model has experts. */
export function errorsByClass(compared: readonly ComparedRow[]) {
  const byClass = groupBy(compared, ({ setup, metric }) => {
    const kind = (setup.active ?? setup.parameters) < setup.parameters ? 'experts' : 'dense'
    return `${classOf(setup)}, ${METRIC_WORDS[metric]}${metric === 'outputTokensPerSecond' ? `, ${kind}` : ''}`
  })
  return [...byClass]
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([name, rows]) => {
      const errors = rows.map(({ error }) => error).sort((a, b) => a - b)
      // The share of the rows with an error of at most 25 %.
      const within25 = errors.filter(error => error <= 0.25).length / errors.length
      return { name, rows: rows.length, median: quantile(errors, 0.5), p90: quantile(errors, 0.9), within25 }
    })
}

/** Returns a quantile of sorted values, between two of them by a straight line. */
export function quantile(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1)
  const low = sorted[Math.floor(place)]!
  return low + (place - Math.floor(place)) * (sorted[Math.ceil(place)]! - low)
}
