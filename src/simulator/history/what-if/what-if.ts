/** What if: the same requests with one thing changed, and the consequences alone. */

import type { ParsedRecording } from '../file.ts'
import { createRecordedSimulator } from '../header.ts'
import { type Change, type ChangeSpec, NO_CHANGE, readChange } from './changes.ts'
import { type Consequence, compareOutcomes } from './consequences.ts'
import { playFreely } from './play.ts'
import { findReceivers } from './recorded-receivers.ts'

/**
 * Plays a recording twice, as it was and with a change, and returns what differs. Both plays send the requests at their
 * times. So a client that would have acted otherwise after another answer still does what it did. Receivers of webhooks
 * answer as they did.
 *
 * @throws RecordingError for a change that the recording does not allow
 */
export async function whatIf(
  recording: ParsedRecording,
  what: string,
  spec: ChangeSpec,
): Promise<readonly Consequence[]> {
  const change = await readChangeOf(recording, what, spec)
  const receivers = await findReceivers(recording, what)
  const before = await playFreely(recording, what, NO_CHANGE, receivers)
  const after = await playFreely(recording, what, change, receivers)
  return compareOutcomes(before, after)
}

/** Reads the change. Its parts can be rules that the world begins with. */
async function readChangeOf(recording: ParsedRecording, what: string, spec: ChangeSpec): Promise<Change> {
  const initial = createRecordedSimulator(recording.header, what)
  try {
    const rules = initial.faults.list().map(({ id }) => id)
    return readChange(spec, recording, rules)
  } finally {
    await initial[Symbol.asyncDispose]()
  }
}
