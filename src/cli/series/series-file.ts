/** Writes a time series as a CSV file, whole or not at all. */
import { accessSync, closeSync, constants, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { describeFileError } from '../../lib/file-errors.ts'
import { type ReportStep, STEP_COLUMNS } from '../../simulation/reporting/time-series.ts'
import { UsageError } from '../command.ts'

const CHUNK_CHARS = 1 << 16

/** Refuses a path that cannot be written, before the simulation starts. */
export function requireWritable(path: string, flag = 'series'): void {
  const problem = path === '' ? 'the path is empty. Give the path of a file' : findProblem(path)
  if (problem !== undefined) throw new UsageError(`Failed to write --${flag} '${path}': ${problem}.`)
}

/** Returns why a file cannot be written, with advice; undefined if it can. */
function findProblem(path: string): string | undefined {
  const folder = dirname(resolve(path))
  try {
    const folderStat = statSync(folder, { throwIfNoEntry: false })
    if (!folderStat) return `there is no folder '${folder}'. Create it, or give a file in another`
    if (!folderStat.isDirectory()) return `'${folder}' is not a folder. Give a file in a folder`
    const present = statSync(path, { throwIfNoEntry: false })
    if (present?.isDirectory()) return 'it is a folder. Give a file in it'
    // The file takes the place of what is there, which must not be a device such as /dev/null.
    if (present && !present.isFile()) return 'it is a device, a socket or a pipe. Give a file'
  } catch (error) {
    return `${describeFileError(error)}. Give a file elsewhere`
  }
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    return `no permission to write in '${folder}'. Give a file in another folder`
  }
  return undefined
}

/** Removes a file that is not complete, if it is there. */
export function removeDraft(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The error that made it incomplete says more.
  }
}

/**
 * Writes the rows to a draft beside the file, then renames it.
 *
 * @throws UsageError when the disk is full or read-only
 */
export function writeSeries(path: string, rows: Iterable<ReportStep>): void {
  const draft = `${path}.${process.pid}.tmp`
  try {
    writeRows(draft, rows)
    renameSync(draft, path)
  } catch (error) {
    removeDraft(draft)
    throw new UsageError(
      `Failed to write --series '${path}': ${describeFileError(error)}. Free some space, or give a file elsewhere.`,
    )
  }
}

function writeRows(path: string, rows: Iterable<ReportStep>): void {
  const file = openSync(path, 'w')
  try {
    let text = `${STEP_COLUMNS.join(',')}\n`
    for (const row of rows) {
      text += `${STEP_COLUMNS.map(column => formatCell(row[column])).join(',')}\n`
      if (text.length < CHUNK_CHARS) continue
      writeSync(file, text)
      text = ''
    }
    writeSync(file, text)
  } finally {
    closeSync(file)
  }
}

function formatCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(Math.round(value * 1e6) / 1e6)
  return /[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
