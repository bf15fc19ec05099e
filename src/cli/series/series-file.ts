/** Writes a time series as a CSV file, whole or not at all. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { type ReportStep, STEP_COLUMNS } from '../../simulation/reporting/time-series.ts'
import { writeByDraft } from '../files/output-file.ts'

const CHUNK_CHARS = 1 << 16

/**
 * Writes the rows.
 *
 * @throws UsageError when the disk is full or read-only
 */
export function writeSeries(path: string, rows: Iterable<ReportStep>): void {
  writeByDraft(path, 'series', draft => writeRows(draft, rows))
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
