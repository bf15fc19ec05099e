/** `replay` of the main entry: what `modelhost-sim replay` finds, as a value. */

import { assertKnownKeys } from '../../../lib/known-keys.ts'
import { quote, shellQuote } from '../../../lib/quote.ts'
import type { OwnEndpoints } from '../../../service/own-endpoints.ts'
import { type ParsedRecording, parseRecording, RecordingError, withEndpoints } from '../file.ts'
import * as files from '../read-recording.ts'
import * as changed from './changed-replay.ts'
import type { Consequence } from './consequences.ts'
import * as replays from './perform-lines.ts'

/** The path of a file, what `sim.record()` returned, or an object with the text of a recording. */
export type ReplaySource = string | { readonly text: string; readonly file?: string | undefined }

/** With a change, the outcome is its consequences. */
export interface ReplayOptions extends changed.ReplayChanges {
  /** Accepts a recording without an end, as a killed process leaves it. Default: false. */
  readonly partial?: boolean | undefined
  /** The own endpoints that the recorded simulator had. */
  readonly endpoints?: OwnEndpoints | undefined
}

/** What came of a replay. */
export type ReplayOutcome =
  /** Every answer is the same, and the digest of the world at the end. */
  | {
      readonly outcome: 'same'
      /** How many requests were sent. */
      readonly requests: number
    }
  /** An answer or an event differs without a change. The replay ended there. */
  | {
      readonly outcome: 'diverged'
      readonly requests: number
      readonly divergence: replays.Divergence
    }
  /** The replay had a change. */
  | {
      readonly outcome: 'changed'
      /** What differs from the recorded run. Empty: nothing. */
      readonly consequences: readonly Consequence[]
    }
  /** The recording could not be replayed, or not to its end. */
  | {
      readonly outcome: 'failed'
      /** What is wrong, and what to do. */
      readonly reason: string
    }

const CHANGES = ['without', 'set', 'profile', 'weather'] as const satisfies readonly (keyof changed.ReplayChanges)[]
const CONTEXT = 'Failed to replay'

/**
 * Replays a recording in this process: a new world performs the same steps, and each answer is compared byte by byte. It
 * sends nothing over the network. With a change, it does that first. Then the requests are sent at their times to two worlds, and
 * the differences between these are returned.
 *
 * @returns a promise that rejects with RangeError for an argument of the wrong type, and for no other reason
 * @example
 * const result = await replay('run.ndjson')
 * if (result.outcome === 'diverged') console.log(result.divergence.recorded, result.divergence.replayed)
 */
export async function replay(recording: ReplaySource, options: ReplayOptions = {}): Promise<ReplayOutcome> {
  assertKnownKeys(options, ['partial', 'endpoints', ...CHANGES], CONTEXT)
  const { partial = false, endpoints } = options
  if (typeof partial !== 'boolean') {
    throw new RangeError(`${CONTEXT}: partial is ${quote(partial)}. Give true or false.`)
  }
  for (const name of ['without', 'set'] as const) {
    const text = options[name]
    if (text !== undefined && typeof text !== 'string') {
      throw new RangeError(`${CONTEXT}: ${name} is ${quote(text)}. Give a text.`)
    }
  }
  assertSource(recording)
  try {
    const { parsed: read, what } = readSource(recording)
    const parsed = withEndpoints(read, endpoints)
    const { cut } = parsed
    const remedy = typeof recording === 'string' ? 'To accept it, give partial: true' : 'Call its stop() first'
    const unfinished = {
      outcome: 'failed',
      reason: `${CONTEXT} ${what} to its end: ${cut}. ${remedy}.`,
    } as const
    const isUnfinished = cut !== undefined && !partial
    const isChanged = CHANGES.some(name => options[name] !== undefined)
    if (isChanged && isUnfinished) return unfinished
    const { requests, divergence, consequences }: changed.ChangedReplay = isChanged
      ? await changed.replayChanged(parsed, what, options)
      : await replays.replayRecording(parsed, what)
    if (divergence !== undefined) return { outcome: 'diverged', requests, divergence }
    if (consequences !== undefined) return { outcome: 'changed', consequences }
    return isUnfinished ? unfinished : { outcome: 'same', requests }
  } catch (error) {
    if (!(error instanceof RecordingError)) throw error
    return { outcome: 'failed', reason: error.message }
  }
}

function assertSource(recording: unknown): void {
  if (typeof recording === 'string') {
    if (!/^\s*\{/.test(recording)) return
    throw new RangeError(`${CONTEXT}: the path begins with '{', as the text of a recording does. Give { text }.`)
  }
  if (typeof recording === 'object' && recording !== null && 'text' in recording) return
  throw new RangeError(
    `${CONTEXT}: the recording is ${quote(recording)}. Give the path of a file, or what sim.record() returned.`,
  )
}

/** Returns a recording with its name for errors. */
function readSource(recording: ReplaySource): { readonly parsed: ParsedRecording; readonly what: string } {
  if (typeof recording === 'string') return { parsed: files.readRecording(recording), what: shellQuote(recording) }
  const { file, text } = recording
  const what = file === undefined ? '{ text }' : shellQuote(file)
  if (typeof text !== 'string')
    throw new RangeError(`${CONTEXT}: text is ${quote(text)}. Give the text of a recording.`)
  return { parsed: parseRecording(text, what), what }
}
