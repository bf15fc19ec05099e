/** Judges the clients of a recording: it is replayed in this process, and the world of the replay is judged. */

import { shellQuote } from '../../lib/quote.ts'
import { readRecording } from '../../simulator/history/read-recording.ts'
import { replayRecording } from '../../simulator/history/replay/perform-lines.ts'
import type { Judgement, JudgeOptions } from '../../simulator/judge/judgement.ts'
import { JudgedWorlds } from '../../simulator/judge/worlds.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import { UsageError } from '../command.ts'

/** A judgement of a recording. */
export interface RecordingJudgement {
  readonly judgement: Judgement
  /** Why the recording has no end; undefined if it is complete. */
  readonly cut: string | undefined
}

/**
 * Replays a recording, and judges its clients: those of each world, at its end.
 *
 * @throws RecordingError for an invalid recording, UsageError for one whose replay differs, and for invalid options
 */
export async function judgeRecording(file: string, options: JudgeOptions): Promise<RecordingJudgement> {
  const what = shellQuote(file)
  const worlds = new JudgedWorlds(options)
  let replayed: Simulator | undefined
  const { divergence, cut } = await replayRecording(
    readRecording(file),
    what,
    sim => {
      replayed = sim
    },
    ({ do: name }) => {
      if (name === 'reset' || name === 'restore') asUsage(() => worlds.add(replayed!))
    },
  )
  if (divergence !== undefined) {
    throw new UsageError(
      `Failed to judge ${what}: its replay differs at line ${divergence.line}. See what differs with modelhost-sim replay ${what}.`,
    )
  }
  return { judgement: asUsage(() => worlds.conclude(replayed!)), cut }
}

/** Calls a function. Its RangeError is a mistake of the user. */
function asUsage<Result>(call: () => Result): Result {
  try {
    return call()
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error
  }
}
