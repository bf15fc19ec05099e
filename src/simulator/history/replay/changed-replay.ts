/** A replay with something changed: the same requests at their times, and the consequences of the change alone. */

import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import { quote } from '../../../lib/quote.ts'
import { plural } from '../../../lib/text/numbers.ts'
import type { SimulatorOptions } from '../../options.ts'
import { type ParsedRecording, RecordingError } from '../file.ts'
import { createRecordedSimulator } from '../header.ts'
import type { Numbered } from '../lines.ts'
import { listExchanges } from '../timeline.ts'
import { type Consequence, compareOutcomes } from './consequences.ts'
import { type Change, playFreely, setField } from './free-play.ts'
import type { ReplayResult } from './perform-lines.ts'
import { findReceivers } from './recorded-receivers.ts'

/** What a replay changes. */
export interface ReplayChanges {
  /** A part that is left out: `fault:3`, the third fault rule of the recording, `command:2` or `request:5`. */
  readonly without?: string | undefined
  /** `min_instances=2`: another value of a field, in each JSON body that has it. */
  readonly set?: string | undefined
  readonly profile?: SimulatorOptions['profile'] | undefined
  readonly weather?: SimulatorOptions['weather'] | undefined
}

/** What came of an unchanged replay. */
export interface ChangedReplay extends ReplayResult {
  /** The consequences of a change; undefined without a change, or if the replay diverged. */
  readonly consequences?: readonly Consequence[]
}

/**
 * Replays a recording. If each answer is the same, plays it twice, as it was and with changes, and returns what differs.
 * Both plays send the requests at their times. So a client that would have acted otherwise after another answer still does
 * what it did. Receivers of webhooks answer as they did.
 *
 * @throws RecordingError for a change that the recording does not allow
 */
export async function replayChanged(
  recording: ParsedRecording,
  what: string,
  changes: ReplayChanges,
): Promise<ChangedReplay> {
  const change = await readChange(recording, what, changes)
  const receivers = await findReceivers(recording, what)
  const { replay } = receivers
  // Of a world that is not the recorded one, the change would have other consequences.
  if (replay.divergence !== undefined) return replay
  const before = await playFreely(recording, what, receivers)
  return { ...replay, consequences: compareOutcomes(before, await playFreely(recording, what, receivers, change)) }
}

async function readChange(
  recording: ParsedRecording,
  what: string,
  { without, set, profile, weather }: ReplayChanges,
): Promise<Change> {
  const { header, lines } = recording
  const name = profile !== undefined ? 'profile' : weather !== undefined ? 'weather' : undefined
  if (name !== undefined && header.snapshot !== undefined) {
    throw new RecordingError(
      `Failed to change the ${name}: the recording begins with a snapshot, which has it. Record from the start of a world.`,
    )
  }
  await using initial = createRecordedSimulator(header, what)
  const initialRules = initial.faults.list().map(({ id }) => id)
  const removed = without === undefined ? undefined : readRemoval(without, lines, initialRules)
  return {
    options: { ...(profile !== undefined && { profile }), ...(weather !== undefined && { weather }) },
    removedRule: typeof removed === 'string' ? removed : undefined,
    removedLine: typeof removed === 'number' ? removed : undefined,
    field: set === undefined ? undefined : readField(set, lines),
  }
}

const PARTS = ['fault', 'command', 'request'] as const

/** Returns the id of a rule that the world begins with, or the number of a line. */
function readRemoval(text: string, lines: readonly Numbered[], initialRules: readonly string[]): string | number {
  const [, kind = text, number] = /^(\w+):(\d+)$/.exec(text) ?? []
  if (!(PARTS as readonly string[]).includes(kind)) {
    const advice = formatSuggestion(kind, PARTS, "Give 'fault:3', 'command:2' or 'request:5'.")
    throw new RecordingError(`Failed to leave out '${text}': unknown part '${kind}'. ${advice}`)
  }
  const found = lines.filter(line => isPart(line, kind as (typeof PARTS)[number])).map(({ line }) => line)
  const parts = [...(kind === 'fault' ? initialRules : []), ...found]
  const part = parts[Number(number) - 1]
  if (part !== undefined) return part
  const [count, advice] =
    parts.length === 0
      ? [`no ${kind}s`, 'Leave out something else.']
      : [plural(parts.length, kind), `Give ${kind}:1${parts.length === 1 ? '' : ` to ${kind}:${parts.length}`}.`]
  throw new RecordingError(`Failed to leave out '${text}': the recording has ${count}. ${advice}`)
}

function isPart(line: Numbered, kind: (typeof PARTS)[number]): boolean {
  if (kind === 'request') return 'request' in line && !line.look
  return 'action' in line && line.action.do === (kind === 'fault' ? 'addFault' : 'command')
}

function readField(text: string, lines: readonly Numbered[]): NonNullable<Change['field']> {
  const [, name = '', value = ''] = /^([\w.]+)=(.*)$/s.exec(text) ?? []
  if (name === '') {
    throw new RecordingError(
      `Failed to set '${text}': it is not a field with a value. Give it as in 'min_instances=2'.`,
    )
  }
  const field = { name, value: parseJsonOrText(value) }
  const isUsed = listExchanges(lines).some(
    ({ body }) => typeof body === 'string' && setField(body, field) !== undefined,
  )
  if (isUsed) return field
  throw new RecordingError(
    `Failed to set '${text}': no request of the recording has the field ${quote(name)}. Give a field of a JSON body.`,
  )
}
