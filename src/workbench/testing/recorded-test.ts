/** The recording of a test, which is kept if the test fails. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describeFileError } from '../../lib/errors.ts'
import { shellQuote } from '../../lib/quote.ts'
import { createSavedPage } from '../../server/saved-page/create-page.ts'
import { type Recording, recordSimulator } from '../../simulator/history/record.ts'
import type { Simulator } from '../../simulator/simulator.ts'
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
export function keepRecording(recording: Recording, location: TestLocation, folder: true | string): string {
  recording.stop()
  const path = pathFor(location, folder, 'ndjson')
  return keep('recording', path, recording.text) ?? `${describe('recording', path)}${describeReplay(path)}`
}

/** Writes a page that runs a failed test again. Returns the text for its report. */
export async function keepPage(recording: Recording, location: TestLocation, folder: true | string): Promise<string> {
  const { test, file } = location
  const worlds = [{ title: `the test '${test}'`, recording: recording.text }]
  const page = await createSavedPage({ title: `${test} (${file})`, worlds })
  const path = pathFor(location, folder, 'html')
  return keep('page', path, page) ?? describe('page', path)
}

function pathFor({ test, file }: TestLocation, folder: true | string, ending: string): string {
  const home = folder === true ? join(tmpdir(), 'modelhost-sim') : folder
  return join(home, `${nameOf(file)}-${nameOf(test)}.${ending}`)
}

/** Writes a file that only its owner can read. Returns why it failed; undefined if it did not. */
function keep(what: string, path: string, text: string): string | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode: 0o600 })
    return undefined
  } catch (error) {
    return `  Failed to keep the ${what} in ${path}: ${describeFileError(error)}. Give another folder.\n`
  }
}

function describe(what: string, path: string): string {
  return `  ${what} (with prompts): ${path}\n`
}

function describeReplay(path: string): string {
  return `  replay: npx modelhost-sim replay ${shellQuote(path)}\n`
}

function nameOf(text: string): string {
  return text.replaceAll(/[^\w.-]+/g, '-').slice(-NAME_LENGTH)
}
