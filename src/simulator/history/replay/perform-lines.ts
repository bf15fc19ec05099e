/** Performs the lines of a recording in a simulator of this process, and compares each answer. */

import { formatTraceLine } from '../../../kernel/entry.ts'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import type { ControlAction } from '../../observer.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { ParsedRecording } from '../file.ts'
import { createRecordedSimulator } from '../header.ts'
import type { Difference } from './compare.ts'
import { Mismatch, Player } from './player.ts'

/** The first place where a replay differs from its recording. */
export interface Divergence extends Difference {
  /** Line of the file. */
  readonly line: number
  /** Time of the world, ISO 8601. */
  readonly at: string
  /** What differs, as in `GET /deploy/list (request 7)`. */
  readonly subject: string
  /** The last entries of the journal before it, the newest last. */
  readonly before: readonly string[]
}

export interface ReplayResult {
  readonly lines: number
  readonly requests: number
  /** Undefined: the replay is the same. */
  readonly divergence: Divergence | undefined
  /** Why the recording has no end; undefined if it is complete. */
  readonly cut: string | undefined
}

/** How many journal entries before a divergence are shown. */
const ENTRIES_BEFORE = 3

/** The lines of a recording that were performed in a simulator. */
export interface PerformedLines extends ReplayResult {
  /** Ends the requests that still wait for an answer: their clients leave. */
  close(): void
}

/** Called while a recording is performed. */
export interface ReplayHooks {
  /** With the simulator, before the first line. */
  onBegin?(sim: Simulator): void
  /** After each line, with the number of lines so far. */
  onLine?(done: number): void
  /** Before each action, at its time. */
  onBeforeAction?(action: ControlAction): void
}

/**
 * Performs a recording in a simulator that is at its start, up to the end or to the first difference. The event loop gets
 * its turns meanwhile.
 */
export async function performLines(
  sim: Simulator,
  { header, lines, cut }: ParsedRecording,
  { onLine = () => {}, onBeforeAction = () => {} }: ReplayHooks = {},
): Promise<PerformedLines> {
  const player = new Player(sim, header.at, lines, { compares: true, onLine, onBeforeAction })
  const conclude = (divergence: Divergence | undefined): PerformedLines => ({
    ...{ lines: lines.length + 1, requests: player.requestCount, divergence, cut },
    close: () => player.close(),
  })
  try {
    await player.play()
    return conclude(undefined)
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error
    const before = sim.journal.entries().slice(-ENTRIES_BEFORE).map(formatTraceLine)
    const { line } = lines[player.performed]!
    return conclude({ line, at: sim.clock.iso, subject: error.subject, ...error.difference, before })
  } finally {
    player.restoreWebhooks()
  }
}

/**
 * Replays a recording.
 *
 * @throws RecordingError if this build makes another world of it
 */
export async function replayRecording(
  recording: ParsedRecording,
  what: string,
  hooks: ReplayHooks = {},
): Promise<ReplayResult> {
  // Time that moves while the tokenizer is loaded would be another time.
  await loadTokenizer()
  const sim = createRecordedSimulator(recording.header, what)
  hooks.onBegin?.(sim)
  try {
    const { close, ...result } = await performLines(sim, recording, hooks)
    close()
    return result
  } finally {
    await sim[Symbol.asyncDispose]()
  }
}
