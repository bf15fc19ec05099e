/** The capacity of catalog models, which the batches of all accounts share. */
import type { Micros } from '../../kernel/duration.ts'
import type { SimulationContext } from '../context.ts'

type CapacityContext = Pick<SimulationContext, 'clock' | 'profile'>

/** Billions of parameters of the model to which `batch_shared_tokens_per_second` applies. */
const REFERENCE_PARAMETERS_B = 8
/**
 * Billions of parameters that cost as much time as the fixed work for a token. A model of 3 billion is then 20 times as
 * fast as one of 671 billion.
 */
const FIXED_WORK_B = 32
/** The hour of the day, in UTC, in which the capacity is least. */
const BUSIEST_HOUR = 16
const SECONDS_PER_HOUR = 3600

/**
 * Returns the tokens per second that one batch gets from the shared capacity of a model in this hour.
 *
 * @param parametersB billions of parameters of the model
 * @param batches batches of the account that run on the model, this one included
 * @param tokens all tokens of the batch, which do not run faster than in `batch_shared_shortest`
 */
export function sharedTokensPerSecond(
  { clock, profile }: CapacityContext,
  parametersB: number,
  batches: number,
  tokens: number,
): number {
  const { batchSharedTokensPerSecond, batchSharedOthers, batchSharedShortest, batchSharedDaySwing } = profile.timings
  const modelFactor = (FIXED_WORK_B + REFERENCE_PARAMETERS_B) / (FIXED_WORK_B + parametersB)
  const share = (1 + batchSharedOthers) / (batches + batchSharedOthers)
  const hours = Math.abs((Math.floor(clock.unix() / SECONDS_PER_HOUR) % 24) - BUSIEST_HOUR)
  const hourFactor = 1 + batchSharedDaySwing * (Math.min(hours, 24 - hours) / 6 - 1)
  const rate = batchSharedTokensPerSecond * modelFactor * share * hourFactor
  return batchSharedShortest > 0 ? Math.min(rate, (tokens * 1e6) / batchSharedShortest) : rate
}

/** Returns the moment at which the next hour begins. */
export function nextHour({ clock }: Pick<SimulationContext, 'clock'>): Micros {
  return clock.fromUnix((Math.floor(clock.unix() / SECONDS_PER_HOUR) + 1) * SECONDS_PER_HOUR)
}
