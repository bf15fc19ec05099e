import type { EngineClass } from '../../data/engine-classes.ts'
import { instanceHardware } from '../fleet/weights.ts'
import { InstanceEngine, type InstanceHardware } from '../load/engine.ts'
import type { DeploymentPlan, DeploymentRow } from './deployment-row.ts'
import { sizeArgument } from './engine-args.ts'

/** Lengths that places are counted by if a deployment has no load of its own: those of a short chat (A). */
const TYPICAL_PROMPT = 500
const TYPICAL_ANSWER = 200

/** Returns the class of the engine in a container image. The image of the provider has one of the class `default` (A). */
export function engineClassOf({ containerImage }: Pick<DeploymentPlan, 'containerImage'>): EngineClass {
  return /tensorrt|trt-?llm/i.test(containerImage) ? 'tuned' : 'default'
}

/** Returns what the speed of the instances of a deployment follows from, beside their work. */
export function hardwareOf({ plan }: Readonly<DeploymentRow>): InstanceHardware {
  const { weights, gpu, numGpus, maxBatchSize, extraArgs } = plan
  const engineClass = engineClassOf(plan)
  const stepTokens = extraArgs.length === 0 ? undefined : sizeArgument(extraArgs, 'max-num-batched-tokens')
  return instanceHardware(weights, gpu, numGpus, { engineClass, stepTokens, maxBatchSize })
}

/** Returns the engine of an instance with work of these mean lengths. */
export function engineOf(
  row: Readonly<DeploymentRow>,
  promptTokens: number,
  outputTokens: number,
  cachedShare = 0,
): InstanceEngine {
  return new InstanceEngine({ ...hardwareOf(row), promptTokens, outputTokens, cachedShare })
}

/** Returns the engine of an instance with the load of its deployment, or with short chats. */
export function speedOfInstance(row: Readonly<DeploymentRow>): InstanceEngine {
  return row.load ? row.load.speed : engineOf(row, TYPICAL_PROMPT, TYPICAL_ANSWER)
}
