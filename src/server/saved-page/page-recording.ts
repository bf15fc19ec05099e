/** Recordings for pages: without what a browser lacks, and with what the page needs to run them. */

import { encodeBase64 } from '../../lib/bytes.ts'
import type { Steps } from '../../lib/slices.ts'
import { operations } from '../../service/index.ts'
import { parseInSteps } from '../../simulator/history/file.ts'
import { createRecordedSimulator } from '../../simulator/history/header.ts'
import { LineWriter } from '../../simulator/history/line-writer.ts'
import type { HeaderLine, Numbered } from '../../simulator/history/lines.ts'
import { optionsOutsideSnapshot } from '../../simulator/option-fields.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { SavedContent } from './content.ts'

/** A recording for a page. */
interface PageRecording {
  /** The text of the recording. */
  readonly text: string
  /** Whether a request or a batch of it counts tokens. */
  readonly needsTokenizer: boolean
}

/**
 * Prepares the content of a page.
 *
 * @throws RecordingError for a text that is not a recording of this version
 */
export function* preparePage(content: SavedContent): Steps<{
  readonly content: SavedContent
  /** Whether a world of the page counts tokens. */
  readonly needsTokenizer: boolean
}> {
  const recordings: PageRecording[] = []
  for (const { title, recording } of content.worlds) recordings.push(yield* toPageRecording(recording, `of ${title}`))
  const worlds = content.worlds.map((world, i) => ({ ...world, recording: recordings[i]!.text }))
  return { content: { ...content, worlds }, needsTokenizer: recordings.some(one => one.needsTokenizer) }
}

/**
 * Prepares a recording for a page. Bulk records need Node, so a world with them is recorded as a snapshot.
 *
 * @param what names it in errors
 * @throws RecordingError for a text that is not a recording of this version
 */
function* toPageRecording(text: string, what: string): Steps<PageRecording> {
  const { header, lines } = yield* parseInSteps(text, what)
  const sim = createRecordedSimulator(header, what)
  yield
  const needsTokenizer = sim.world.batches.active.length > 0 || lines.some(line => countsTokens(line, sim))
  return { text: header.options.fill === undefined ? text : yield* withSnapshot(header, lines, sim), needsTokenizer }
}

function countsTokens(line: Numbered, { api }: Simulator): boolean {
  if (!('request' in line)) return false
  const operation = api.findOperationId(line.method, line.path.split('?', 1)[0]!)
  if (operation === 'createBatch') return true
  const declaration = operations[operation as keyof typeof operations] as { readonly needsTokenizer?: boolean }
  return declaration?.needsTokenizer ?? false
}

/** Returns the recording with the state at its start in place of the options that lead to it. */
function* withSnapshot(header: HeaderLine, lines: readonly Numbered[], sim: Simulator): Steps<string> {
  const { fixtureDigest: _, options, ...rest } = header
  let text = ''
  const writer = new LineWriter(line => {
    text += line
  })
  writer.add({ ...rest, options: optionsOutsideSnapshot(options), snapshot: encodeBase64(sim.snapshot().toBytes()) })
  for (const { line: _, ...line } of lines) {
    yield
    writer.add(line)
  }
  writer.flush()
  return text
}
