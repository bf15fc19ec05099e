/** Replays a recording in this process: the same world performs the same steps, and its answers are compared. */

import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import type { ControlAction } from '../../observer.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { ParsedRecording } from '../file.ts'
import { createRecordedSimulator } from '../header.ts'
import { performLines, type ReplayResult } from './perform-lines.ts'

/**
 * Replays a recording.
 *
 * @param onBegin called with the simulator before the first line
 * @param onBeforeAction called before each action, at its time
 * @throws RecordingError if this build makes another world of it
 */
export async function replayRecording(
  recording: ParsedRecording,
  what: string,
  onBegin?: (sim: Simulator) => void,
  onBeforeAction?: (action: ControlAction) => void,
): Promise<ReplayResult> {
  // Time that moves while the tokenizer is loaded would be another time.
  await loadTokenizer()
  const sim = createRecordedSimulator(recording.header, what)
  onBegin?.(sim)
  try {
    const { close, ...result } = await performLines(sim, recording, undefined, onBeforeAction)
    close()
    return result
  } finally {
    await sim[Symbol.asyncDispose]()
  }
}
