/** Replays a recording in this process: the same world performs the same steps, and its answers are compared. */

import { formatTraceLine } from '../../kernel/trace-line.ts'
import { loadTokenizer } from '../../service/openai/tokenizer.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import type { ParsedRecording } from '../recording/file.ts'
import { createRecordedSimulator } from '../recording/header.ts'
import type { ReadLine } from '../recording/lines.ts'
import { compareAnswer, comparePiece, type Difference } from './compare.ts'
import type { ReadResult } from './replayed-request.ts'
import { Mismatch, type ReplayClients, ReplayedWorld } from './replayed-world.ts'
import { collectRequests } from './request-facts.ts'

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
export const ENTRIES_BEFORE = 3

/**
 * Replays a recording.
 *
 * @param onBegin called with the simulator before the first line
 * @throws RecordingError if this build makes another world of it
 */
export async function replayRecording(
  recording: ParsedRecording,
  what: string,
  onBegin?: (sim: Simulator) => void,
): Promise<ReplayResult> {
  const { header, lines, cut } = recording
  // Time that moves while the tokenizer is loaded would be another time.
  await loadTokenizer()
  const sim = createRecordedSimulator(header, what)
  onBegin?.(sim)
  const facts = collectRequests(lines)
  const world = new ReplayedWorld(sim, header.at, createClients(sim))
  const conclude = (divergence: Divergence | undefined): ReplayResult => {
    return { lines: lines.length + 1, requests: world.requestCount, divergence, cut }
  }
  try {
    for (const line of lines) {
      try {
        await world.perform(line, 'request' in line ? facts.get(line.request) : undefined)
      } catch (error) {
        if (!(error instanceof Mismatch)) throw error
        const before = sim.journal.entries().slice(-ENTRIES_BEFORE).map(formatTraceLine)
        return conclude({
          ...{ line: line.line, at: sim.clock.iso, subject: error.subject },
          ...{ ...error.difference, before },
        })
      }
    }
    return conclude(undefined)
  } finally {
    world.close()
    await sim[Symbol.asyncDispose]()
  }
}

/** Returns the clients of a replay in this process. */
function createClients(sim: Simulator): ReplayClients {
  return {
    async send(request, { line }) {
      request.start((sent, incoming) => (line.look ? sim.look(sent, incoming) : sim.answer(sent, incoming)))
    },
    async takeAnswer(line, request, response) {
      const difference = await compareAnswer(line, response)
      if (difference === undefined && line.streamed) request.beginReading(response.body!)
      return difference
    },
    takePiece: comparePieceOf,
  }
}

function comparePieceOf(line: ReadLine, _: unknown, result: ReadResult): Difference | undefined {
  return 'piece' in result ? comparePiece(line.piece, result.piece) : undefined
}
