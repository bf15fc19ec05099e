import { type InstanceSpeed, instanceSpeed } from '../load/throughput.ts'
import type { DeploymentRow } from './deployment-row.ts'

/** Lengths that places are counted by if a deployment has no load of its own: those of a short chat (A). */
const TYPICAL_PROMPT = 500
const TYPICAL_ANSWER = 200

/** Returns what an instance can do with the load of its deployment, or with short chats. */
export function speedOfInstance(row: Readonly<DeploymentRow>): InstanceSpeed {
  if (row.load) return row.load.speed
  const { gpu, numGpus: gpus, weights, maxBatchSize } = row
  return instanceSpeed({
    gpu,
    gpus,
    parametersB: weights.parametersB,
    maxBatchSize,
    promptTokens: TYPICAL_PROMPT,
    outputTokens: TYPICAL_ANSWER,
  })
}
