import { draw } from '../../data/profiles/distribution.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import type { SimulationContext } from '../context.ts'
import type { BatchRow } from './batch-row.ts'
import { countLines } from './jsonl-writer.ts'

const VALIDATION = purpose('batch.validation')
const FINALIZING = purpose('batch.finalizing')
const CANCELLING = purpose('batch.cancelling')

/** Returns the duration of the validation: a drawn part, and a constant part for each line. */
export function validationTime({ profile, chance }: SimulationContext, row: Readonly<BatchRow>): Micros {
  const { batchValidation, batchValidationPerLine } = profile.timings
  return draw(batchValidation, chance, row.key, VALIDATION) + countLines(row.inputChunks) * batchValidationPerLine
}

/** Returns the duration of finalizing: a drawn part, and the time to write `bytes` of output. */
export function finalizingTime({ profile, chance }: SimulationContext, row: Readonly<BatchRow>, bytes: number): Micros {
  const { batchFinalizing, batchFinalizingRate } = profile.timings
  return draw(batchFinalizing, chance, row.key, FINALIZING) + (bytes / batchFinalizingRate) * 1e6
}

/** Returns the time from the request to cancel a batch until it is cancelled. */
export function cancellingTime({ profile, chance }: SimulationContext, row: Readonly<BatchRow>): Micros {
  return draw(profile.timings.batchFinalizing, chance, row.key, CANCELLING)
}
