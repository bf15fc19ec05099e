/** Runs recorded worlds again in a page. */

import { loadTokenizer } from '../../service/openai/tokenizer.ts'
import { parseRecording } from '../../simulator/history/file.ts'
import { createRecordedSimulator } from '../../simulator/history/header.ts'
import { type Divergence, performLines } from '../../simulator/history/replay/perform-lines.ts'
import { connectInPage, type PageConnection, type PageConnectionOptions, refuseWebhook } from './connect.ts'
import type { SavedWorld } from './content.ts'
import { TOKENIZER_KEY } from './parts.ts'

/** How a world that was run again differs from its recording. */
export interface WorldProblem {
  /** The title of the world. */
  readonly world: string
  /** The first difference; undefined if the recording is cut off. */
  readonly divergence: Divergence | undefined
  readonly cut: string | undefined
}

/**
 * Creates the worlds of recordings and performs them up to their ends. The first is the default world.
 *
 * @param onProgress called after each line with the performed lines and their number
 * @throws RecordingError for a text that is not a recording of this version
 */
export async function runAgain(
  worlds: readonly SavedWorld[],
  options: PageConnectionOptions,
  onProgress: (done: number, total: number) => void,
): Promise<{ readonly connection: PageConnection; readonly problems: readonly WorldProblem[] }> {
  // Time that moves while the tokenizer is loaded would be another time.
  if (Symbol.for(TOKENIZER_KEY) in globalThis) await loadTokenizer()
  const recordings = worlds.map(({ title, recording }) => ({
    title,
    recording: parseRecording(recording, `of ${title}`),
  }))
  const total = recordings.reduce((sum, { recording }) => sum + recording.lines.length, 0)
  const [first, ...others] = recordings.map(({ title, recording }) =>
    createRecordedSimulator(recording.header, `the recording of ${title}`, {}, refuseWebhook),
  )
  const connection = connectInPage(first!, options)
  const sims = [first!, ...others]
  for (const sim of others) connection.worlds.make({ sim })
  const problems: WorldProblem[] = []
  // From the start, so that every moment of the recordings can be visited.
  for (const sim of sims) connection.pasts.keep(sim)
  let before = 0
  for (const [index, { title, recording }] of recordings.entries()) {
    const { divergence, cut } = await performLines(sims[index]!, recording, {
      onLine: done => onProgress(before + done, total),
    })
    before += recording.lines.length
    if (divergence !== undefined || cut !== undefined) problems.push({ world: title, divergence, cut })
  }
  return { connection, problems }
}
