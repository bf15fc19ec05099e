/** What a play of a recording needs whose world may go another way than the recorded one. */

import type { Micros } from '../../../kernel/duration.ts'
import type { InferencePace } from '../../clock/answer-waiter.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { ParsedRecording } from '../file.ts'

/** Returns when models answer in a play on a manual clock: as recorded, some answers take time, or none does. */
export function paceOf({ header, lines }: ParsedRecording): InferencePace {
  return header.options.inferencePace ?? (lines.some(line => 'waits' in line) ? 'clock' : 'instant')
}

/** Moves the clock to a time of the world, in microseconds since its epoch. Does nothing for a time that is over. */
export async function moveTo({ clock }: Simulator, time: Micros): Promise<void> {
  if (time > clock.elapsed) await clock.advance(`${time - clock.elapsed}us`)
}
