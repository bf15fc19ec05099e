import { concurrentSequences } from '../fleet/weights.ts'
import { type InstanceSpeed, type InstanceWorkload, instanceSpeed } from '../load/throughput.ts'
import type { DeploymentRow } from './deployment-row.ts'

/** Lengths that places are counted by if a deployment has no load of its own: those of a short chat (A). */
const TYPICAL_PROMPT = 500
const TYPICAL_ANSWER = 200

/** Returns the work of one instance of a deployment. The memory for the cache bounds its concurrent sequences. */
export function instanceWorkload(
  row: Readonly<DeploymentRow>,
  promptTokens: number,
  outputTokens: number,
): InstanceWorkload {
  const { gpu, numGpus: gpus, weights, maxBatchSize: limit } = row
  const maxBatchSize = concurrentSequences(weights, { gpu, gpus, maxBatchSize: limit }, promptTokens, outputTokens)
  return { gpu, gpus, parametersB: weights.parametersB, maxBatchSize, promptTokens, outputTokens }
}

/** Returns what an instance can do with the load of its deployment, or with short chats. */
export function speedOfInstance(row: Readonly<DeploymentRow>): InstanceSpeed {
  return row.load ? row.load.speed : instanceSpeed(instanceWorkload(row, TYPICAL_PROMPT, TYPICAL_ANSWER))
}
