/** What if: the same requests with one thing changed, and the consequences alone. */

import type { ParsedRecording } from '../recording/file.ts'
import { createRecordedSimulator } from '../recording/header.ts'
import { type ChangeSpec, NO_CHANGE, readChange } from './changes.ts'
import { type Consequence, compareOutcomes } from './consequences.ts'
import { playFreely } from './play.ts'

/**
 * Plays a recording twice, as it was and with a change, and returns what differs. Both plays send the requests at their
 * times. So a client that would have acted otherwise after another answer still does what it did.
 *
 * @throws RecordingError for a change that the recording does not allow
 */
export async function whatIf(
  recording: ParsedRecording,
  what: string,
  spec: ChangeSpec,
): Promise<readonly Consequence[]> {
  const initial = createRecordedSimulator(recording.header, what)
  const change = readChange(
    spec,
    recording,
    initial.faults.list().map(({ id }) => id),
  )
  await initial[Symbol.asyncDispose]()
  const before = await playFreely(recording, what, NO_CHANGE)
  const after = await playFreely(recording, what, change)
  return compareOutcomes(before, after)
}
