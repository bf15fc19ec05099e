/** What the batches of a client were asked and what their files answer, by `custom_id`. */

import { attempt } from '../../lib/errors.ts'
import { tryParseJson } from '../../lib/json-text.ts'
import { stableJson } from '../../lib/json-values.ts'
import { groupBy } from '../../lib/lists.ts'
import { oncePer } from '../../lib/once.ts'
import { decodeLines } from '../../simulation/batches/files.ts'
import { hasRole, isAbout, isUsable } from './facts.ts'
import type { CreatedThing, Observation, ObservedRequest } from './observation.ts'

type Line = Readonly<Record<string, unknown>>

/** A row of an output file or an error file. */
export interface BatchRowRecord {
  readonly custom_id: string
  readonly response: unknown
  readonly error: unknown
}

/** A line of the input, and the rows that answer it. */
export interface AskedLine {
  readonly customId: string
  /** How often one input file has it. Files that ask another thing under this id add to it. */
  readonly count: number
  /** The batches that have it in their input, oldest first. */
  readonly batches: readonly CreatedThing[]
  /** Its position in the output file. */
  readonly outputAt: number
  /** Its rows in the output files of all batches. */
  readonly outputRows: readonly BatchRowRecord[]
  /** Its rows in the error files of all batches. */
  readonly errorRows: readonly BatchRowRecord[]
}

/**
 * Returns the input lines of the batches that the client created, each with its rows. Of an output file that is deleted,
 * the rows are those that the client read.
 */
export function askedLines({ sim, created, requests }: Observation): ReadonlyMap<string, AskedLine> {
  const lines = new Map<string, { -readonly [Field in keyof AskedLine]: AskedLine[Field] }>()
  const texts = new Set<string>()
  for (const batch of created) {
    if (batch.kind !== 'batch') continue
    const record = sim.world.batches.get(batch.id)?.toRecord()
    if (record === undefined) continue
    const { lineNames } = sim.api
    const readInput = (line: Line) => lineNames?.toInternalLine(line, record.endpoint) ?? line
    const input = groupBy(toRows(inputText(sim, batch.id), readInput), ({ custom_id }) => custom_id)
    for (const [customId, rows] of input) {
      const asked = rows.map(canonical)
      const isKnown = asked.some(text => texts.has(text))
      for (const text of asked) texts.add(text)
      const known = lines.get(customId) ?? { count: 0, batches: [], outputAt: -1, outputRows: [], errorRows: [] }
      const batches = [...known.batches, batch]
      const count = isKnown ? Math.max(known.count, rows.length) : known.count + rows.length
      lines.set(customId, { ...known, customId, batches, count })
    }
    const readRow = (row: Line) => lineNames?.toInternalRow(row) ?? row
    for (const [position, row] of toRows(fileText(sim, record.output_file_id, requests), readRow).entries()) {
      const line = lines.get(row.custom_id)
      if (line !== undefined) Object.assign(line, { outputRows: [...line.outputRows, row], outputAt: position })
    }
    for (const row of toRows(fileText(sim, record.error_file_id, requests), readRow)) {
      const line = lines.get(row.custom_id)
      if (line !== undefined) line.errorRows = [...line.errorRows, row]
    }
  }
  return lines
}

/** Returns the lines that have an error and no answer; none if the files cannot be read. */
export const failedLines = oncePer((observation: Observation): readonly AskedLine[] => {
  const lines = attempt(() => [...askedLines(observation).values()]) ?? []
  return lines.filter(({ outputRows, errorRows }) => outputRows.length === 0 && errorRows.length > 0)
})

/** Returns the text of the input of a batch, also if its file is deleted; '' for an unknown batch. */
export function inputText({ world }: Observation['sim'], batchId: string): string {
  for (const [, row] of world.batches.entries()) {
    if (row.id === batchId) return textOf(row.inputChunks)
  }
  return ''
}

/** Returns a value as text that is equal for equal values, whatever the order of their fields. */
export function canonical(value: unknown): string {
  return typeof value === 'string' ? value.trim() : stableJson(value)
}

/** Returns the text of a file as its client reads it. */
function fileText(sim: Observation['sim'], fileId: string | null, requests: readonly ObservedRequest[]): string {
  if (fileId === null) return ''
  const { api, world } = sim
  const file = world.files.get(fileId)
  if (file !== undefined) return textOf(api.lineNames?.toVendorContent(file).chunks ?? file.chunks())
  const read = requests.findLast(
    request => hasRole({ sim }, request, 'content file') && isUsable(request) && isAbout(request, fileId),
  )
  return typeof read?.answer === 'string' ? read.answer : (JSON.stringify(read?.answer) ?? '')
}

/** Returns the text of the chunks of a file. */
export function textOf(chunks: readonly Uint8Array[]): string {
  return Array.from(decodeLines(chunks)).join('\n')
}

/** @param toNeutral returns a line whose own fields have neutral names */
function toRows(text: string, toNeutral: (line: Line) => Line): BatchRowRecord[] {
  return text.split('\n').flatMap(line => {
    const parsed = tryParseJson(line)
    if (typeof parsed !== 'object' || parsed === null) return []
    const row = toNeutral(parsed as Line) as unknown as BatchRowRecord
    return typeof row.custom_id === 'string' ? [row] : []
  })
}
