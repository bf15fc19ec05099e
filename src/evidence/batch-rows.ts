/** What the batches of a client were asked and what their files answer, by `custom_id`. */

import { tryParseJson } from '../lib/json-text.ts'
import { decodeLines } from '../simulation/batches/files.ts'
import { walk } from './facts.ts'
import type { CreatedThing, LineResult, Observation } from './observation.ts'

/** A row of an output file or an error file. */
export interface BatchRowRecord {
  readonly custom_id: string
  readonly response: unknown
  readonly error: unknown
}

/** A line of the input, and the rows that answer it. */
export interface AskedLine {
  readonly customId: string
  /** How often one input file has it. */
  readonly count: number
  /** The batches that have it in their input, oldest first. */
  readonly batches: readonly CreatedThing[]
  /** Its rows in the output files of all batches. */
  readonly outputRows: readonly BatchRowRecord[]
  /** Its rows in the error files of all batches. */
  readonly errorRows: readonly BatchRowRecord[]
}

interface LineSums {
  count: number
  readonly batches: CreatedThing[]
  readonly outputRows: BatchRowRecord[]
  readonly errorRows: BatchRowRecord[]
}

/** Returns the input lines of the batches that the client created, each with its rows. A deleted file has none. */
export function askedLines({ sim, created }: Pick<Observation, 'sim' | 'created'>): ReadonlyMap<string, AskedLine> {
  const lines = new Map<string, AskedLine & LineSums>()
  for (const batch of created) {
    if (batch.kind !== 'batch') continue
    const record = sim.world.batches.get(batch.id)?.toRecord()
    if (record === undefined) continue
    const counts = new Map<string, number>()
    for (const { custom_id } of readRows(sim, record.input_file_id)) {
      counts.set(custom_id, (counts.get(custom_id) ?? 0) + 1)
    }
    for (const [customId, count] of counts) {
      const line = lines.get(customId) ?? { customId, count: 0, batches: [], outputRows: [], errorRows: [] }
      line.count = Math.max(line.count, count)
      line.batches.push(batch)
      lines.set(customId, line)
    }
    for (const row of readRows(sim, record.output_file_id)) lines.get(row.custom_id)?.outputRows.push(row)
    for (const row of readRows(sim, record.error_file_id)) lines.get(row.custom_id)?.errorRows.push(row)
  }
  return lines
}

/** Returns the text of the input file of a batch; undefined if it is deleted. */
export function inputText({ sim }: Pick<Observation, 'sim'>, batchId: string): string | undefined {
  const record = sim.world.batches.get(batchId)?.toRecord()
  const file = record && sim.world.files.get(record.input_file_id)
  return file && Array.from(decodeLines(file.chunks())).join('\n')
}

/** Tells whether a line of a result says anything: an answer or an error. */
export function hasContent({ answer, error }: LineResult): boolean {
  return !isNothing(answer) || !isNothing(error)
}

/** Tells whether a value of a client is empty: undefined, null, or text without words. */
export function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}

/**
 * Tells whether an answer is the response of a row, or a part of it such as the text of its message. Parts without a
 * letter, as in a count, do not count.
 */
export function isPartOfRow(answer: unknown, row: BatchRowRecord): boolean {
  const wanted = canonical(answer)
  let isFound = false
  walk(row.response, value => {
    if (isFound) return false
    isFound = isTelling(value) && canonical(value) === wanted
    return !isFound
  })
  return isFound
}

/** Returns a value as text that is equal for equal values, whatever the order of their fields. */
export function canonical(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? ''
  )
}

/** Numbers, and words that every row has, prove nothing. */
function isTelling(value: unknown): boolean {
  if (typeof value === 'string') return value.trim().includes(' ') || value.trim().length > 12
  return typeof value === 'object' && value !== null
}

function readRows(sim: Observation['sim'], fileId: string | null): BatchRowRecord[] {
  const file = fileId === null ? undefined : sim.world.files.get(fileId)
  if (file === undefined) return []
  return Array.from(decodeLines(file.chunks())).flatMap(text => {
    const row = tryParseJson(text) as BatchRowRecord | undefined
    return typeof row?.custom_id === 'string' ? [row] : []
  })
}
