/** What commands about recordings write. */

import { shellQuote } from '../lib/quote.ts'
import { type ParsedRecording, withEndpoints } from '../simulator/history/file.ts'
import { readRecording } from '../simulator/history/read-recording.ts'
import type { Difference } from '../simulator/history/replay/compare.ts'
import { UsageError } from './command.ts'
import { flag, toggle } from './flags.ts'

/** The mode of a file that is made of a recording. It contains prompts, as the recording does. */
export const ONLY_OWNER = 0o600

/** Accepts a recording without an end. */
export const partial = toggle('Accept a recording without an end, as a killed process leaves it')

/** The file that has the own endpoints of the recorded world. */
export const endpointsFile = flag(
  'File with your own endpoints. Default: the file of MODELHOST_SIM_CONFIG, or the configuration file of the current folder',
)

/**
 * Reads a recording for a command that writes something of it. If an accepted recording has no end, stderr says so.
 *
 * @param isPartialAccepted whether a recording without an end is accepted
 * @throws UsageError for a recording without an end that is not accepted: it looks like one that was cut
 */
export function readRecordingToEnd(file: string, isPartialAccepted: boolean): ParsedRecording {
  const recording = readRecording(file)
  const { cut } = recording
  if (cut === undefined) return recording
  const name = shellQuote(file)
  if (!isPartialAccepted) {
    throw new UsageError(
      `Failed to read the recording ${name} to its end: ${cut}. To use the lines before, give --partial.`,
    )
  }
  process.stderr.write(`${name}: ${cut}. The lines before are used.\n`)
  return recording
}

/** Returns what to do if a replay differs because no endpoint has the path of a request; nothing for another reason. */
export function endpointsAdvice({ replayed }: Difference): string[] {
  if (replayed !== UNKNOWN_PATH) return []
  return ['If that request is for an endpoint of your own, give --config and the file whose endpoints declare it.']
}

/** How a replay differs at a request whose path no endpoint has. */
const UNKNOWN_PATH = 'status 404 with the body {"detail":"Not Found"}'

/** Returns a recording whose world has the own endpoints of a configuration file. Default: that of this folder. */
export async function withProjectEndpoints(recording: ParsedRecording, file?: string): Promise<ParsedRecording> {
  // Loaded on demand: other users of this module read no configuration.
  const { readEndpoints } = await import('./read-config.ts')
  return withEndpoints(recording, (await readEndpoints(file)).endpoints)
}
