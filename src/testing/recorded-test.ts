/** The recording of a test, which is kept if the test fails. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Recording, recordSimulator } from '../evidence/recording/record.ts'
import { describeFileError } from '../lib/file-errors.ts'
import { shellQuote } from '../lib/quote.ts'
import type { Simulator } from '../simulator/simulator.ts'
import type { TestLocation } from './failure-report.ts'

/** Most characters of the name of a test in the name of its file. */
const NAME_LENGTH = 80

/** Begins to record a simulator that no client has used. */
export function beginRecording(sim: Simulator): Recording {
  return recordSimulator(sim)
}

/**
 * Writes the recording of a failed test. Returns the text for its report: the file, and the command that replays it.
 *
 * @param folder true: the folder `modelhost-sim` of temporary files
 */
export function keepRecording(recording: Recording, { test, file }: TestLocation, folder: true | string): string {
  recording.stop()
  const path = join(
    folder === true ? join(tmpdir(), 'modelhost-sim') : folder,
    `${nameOf(file)}-${nameOf(test)}.ndjson`,
  )
  try {
    mkdirSync(folder === true ? join(tmpdir(), 'modelhost-sim') : folder, { recursive: true })
    writeFileSync(path, recording.text, { mode: 0o600 })
  } catch (error) {
    return `  Failed to keep the recording in ${path}: ${describeFileError(error)}. Give another folder.\n`
  }
  return `  recording (with prompts): ${path}\n  replay: npx modelhost-sim replay ${shellQuote(path)}\n`
}

function nameOf(text: string): string {
  return text.replaceAll(/[^\w.-]+/g, '-').slice(-NAME_LENGTH)
}
