/** Batches on the shared capacity of catalog models. */
import { SECOND } from '../../src/kernel/duration.ts'
import { batchOf, many } from './batch-world.ts'
import { pass, passUntil, stage } from './small-world.ts'

export const SLOWEST = 'saltmarsh/marsh-671b-think'
export const SMALLEST = 'aurora-labs/aurora-3b-instruct'
/** Lines of about 900 tokens each, with an answer that `max_tokens` bounds. */
const long = (count: number, model: string) => {
  const content = 'river '.repeat(880)
  return many(count, { model, body: { messages: [{ role: 'user', content }] } })
}
/** Runs batches on shared capacity, and returns them with the seconds from the first line to the last. */
export const runs = (batches: number, lines: number, model: string, profile = {}, about: { at?: string } = {}) => {
  const sim = stage([], {}, { profile: { timings: { batch_validation: '0s', ...profile } }, check: false })
  if (about.at !== undefined) pass(sim, about.at)
  const all = Array.from({ length: batches }, () => batchOf(sim, long(lines, model)))
  passUntil(sim, () => all.every(one => one.status !== 'validating'), '1m')
  const from = sim.world.clock.now
  passUntil(sim, () => all.every(one => one.status !== 'in_progress'), '25h')
  return { seconds: (sim.world.clock.now - from) / SECOND, all }
}
