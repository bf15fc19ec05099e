import type { EngineClass } from '../../data/engine-classes.ts'
import type { Micros } from '../../kernel/duration.ts'
import { oncePer } from '../../lib/once.ts'
import { formatSpeed } from '../../lib/text/numbers.ts'
import { areFiguresAssumed, cacheTokens, instanceHardware, memoryShortage } from '../fleet/weights.ts'
import { InstanceEngine, type InstanceHardware, throughputBand } from '../load/engine.ts'
import type { DeploymentPlan, DeploymentRow } from './deployment-row.ts'
import { sizeArgument } from './engine-args.ts'
import type { InstanceRow, InstanceState } from './instance-row.ts'

/** Lengths that places are counted by if a deployment has no load of its own: those of a short chat (A). */
const TYPICAL_PROMPT = 500
const TYPICAL_ANSWER = 200

/** Returns the class of the engine in a container image. The image of the provider has one of the class `default` (A). */
export function engineClassOf({ containerImage }: Pick<DeploymentPlan, 'containerImage'>): EngineClass {
  return /tensorrt|trt-?llm/i.test(containerImage) ? 'tuned' : 'default'
}

/** Compute that a request to a LoRA adapter takes, as a factor (A). */
const ADAPTER_COMPUTE = 1.1

// A plan does not change, and several steps of each request and of each start need what follows from it.
const hardwareOfPlan = oncePer((plan: DeploymentPlan): InstanceHardware => {
  const { weights, gpu, numGpus, maxBatchSize, extraArgs, constants } = plan
  const engineClass = engineClassOf(plan)
  const stepTokens = extraArgs.length === 0 ? undefined : sizeArgument(extraArgs, 'max-num-batched-tokens')
  return instanceHardware(weights, gpu, numGpus, { engineClass, constants, stepTokens, maxBatchSize })
})
const engineForChats = oncePer((plan: DeploymentPlan) => engineOf({ plan }, TYPICAL_PROMPT, TYPICAL_ANSWER))

/** Returns what the speed of the instances of a deployment follows from, beside their work. */
export function hardwareOf({ plan }: Pick<DeploymentRow, 'plan'>): InstanceHardware {
  return hardwareOfPlan(plan)
}

/** Returns the reason for which the weights of a plan do not fit into an instance; undefined if they fit. */
export const shortageOf = oncePer(({ weights, gpu, numGpus }: DeploymentPlan) => memoryShortage(weights, gpu, numGpus))

/** Returns what the speed of a request to a LoRA adapter follows from, on the hardware of its base. */
export function withAdapter(hardware: InstanceHardware): InstanceHardware {
  const { computeShare16, computeShare8 } = hardware.constants
  const shares = { computeShare16: computeShare16 / ADAPTER_COMPUTE, computeShare8: computeShare8 / ADAPTER_COMPUTE }
  return { ...hardware, constants: { ...hardware.constants, ...shares } }
}

/** Returns the longest prompt and answer together, in tokens: the context of the model, if the cache of an instance holds it. */
export function contextOf(row: Readonly<DeploymentRow>): number {
  return Math.min(row.plan.weights.context, cacheTokens(hardwareOf(row)))
}

/** Returns the engine of an instance with work of these mean lengths. */
export function engineOf(
  row: Pick<DeploymentRow, 'plan'>,
  promptTokens: number,
  outputTokens: number,
  cachedShare = 0,
): InstanceEngine {
  return new InstanceEngine({ ...hardwareOf(row), promptTokens, outputTokens, cachedShare })
}

/** Returns the engine of an instance with the load of its deployment, or with short chats. */
export function speedOfInstance({ load, plan }: Readonly<DeploymentRow>): InstanceEngine {
  return load ? load.speed : engineForChats(plan)
}

/** What an instance of a deployment can do, and how sure that is. */
export interface EngineView {
  readonly class: EngineClass
  /** Output tokens/s with all the work that it can take. */
  readonly tokens_per_second: number
  /** The share by which published rows of this class differ from the model, at most in nine of ten; null without rows. */
  readonly band: number | null
  /** Published rows of this class that the band rests on; 0 if it rests on held-out rows only, or there is no band. */
  readonly rows: number
  /** Requests that it works on at once, and what limits them. */
  readonly places: number
  readonly limit: InstanceEngine['limit']
  /** Whether figures of the model follow from its size only. */
  readonly is_assumed: boolean
}

/** Returns what an instance of a deployment can do; null for a deployment without instances. */
export function engineView(row: Readonly<DeploymentRow>): EngineView | null {
  if (!row.plan.hasInstances) return null
  const { workload, tokensPerSecond, places, limit } = speedOfInstance(row)
  return {
    ...{ class: engineClassOf(row.plan), tokens_per_second: tokensPerSecond, places: Math.floor(places), limit },
    ...(throughputBand(workload) ?? { band: null, rows: 0 }),
    is_assumed: areFiguresAssumed(row.weights),
  }
}

/** Fewer places than this are tight: an error in the memory changes the throughput most. */
const FEW_PLACES = 20

/** Returns it in words: `2,900 tokens/s ± 20 %, tuned, validated on 297 rows, 64 places by memory`. */
export function formatEngine(engine: EngineView): string {
  const { places, limit, is_assumed } = engine
  const tight = places < FEW_PLACES ? ' (tight)' : ''
  const assumed = is_assumed ? ', figures of the model assumed from its size' : ''
  return `${formatSpeed(engine)}, ${places} places by ${limit}${tight}${assumed}`
}

/** The batches, as deployments see them. */
export interface BatchWork {
  /** Tells whether lines of a batch run on a deployment, or wait to. */
  hasWorkFor(deployment: number): boolean
  /** Tells whether lines of a batch run on a deployment now. */
  isRunningOn(deployment: number): boolean
  /** The capacity of a deployment or an adapter has changed. */
  onCapacityChanged(deployment: number): void
  /** A ready instance of a deployment is lost. */
  onInstanceLost(deployment: number): void
}

/** The single requests, as deployments see them. */
export interface RequestWork {
  /** Requests that are answered or wait, all together. */
  readonly inFlightCount: number
  /** Tells whether a request is answered by a deployment, or waits for it. */
  hasWorkFor(deployment: number): boolean
  countsOfDeployment(deployment: number): { readonly running: number; readonly waiting: number }
  /** Instances of a deployment became ready, or loaded an adapter. */
  onCapacityAvailable(deployment: number): void
  /** An instance is gone. */
  onInstanceLost(instance: number, reason: string): void
  /** A deployment or an adapter stopped, failed, was deleted or was parked. */
  onDeploymentStopped(deployment: number): void
}

/** What a part has that calls the work above it. */
export interface WorkPorts {
  readonly batches: BatchWork
  readonly inferenceRequests: RequestWork
}

/** The adapters, as deployments and instances see them. */
export interface AdapterFollower {
  /** The status of a base has changed. */
  onBaseChanged(base: number): void
  readonly slots: {
    assignSlots(base: number): void
    onAdapterEnded(adapter: number): void
  }
  start(ordinal: number): void
}

/** The autoscaler, as deployments see it. */
export interface Scaler {
  desiredInstances(row: Readonly<DeploymentRow>): number
  evaluate(ordinal: number): void
  updateFlow(ordinal: number): void
  scheduleEvaluation(row: DeploymentRow, ordinal: number): void
}

/** The deployments, as their instances see them. */
export interface InstanceOwner {
  read(ordinal: number): Readonly<DeploymentRow>
  writable(ordinal: number): DeploymentRow
  /** An instance came, moved from one state to another, or left. */
  countMove(ordinal: number, from: InstanceState | undefined, to: InstanceState | undefined): void
  updateStatus(ordinal: number): void
  updateMeter(ordinal: number): void
  onInstanceReady(ordinal: number): void
  fail(ordinal: number, reason: string): void
  readonly scaling: {
    onCapacityChanged(ordinal: number): void
    releaseExcess(ordinal: number): void
  }
  readonly failures: InstanceFailures
}

/** The failures of deployments, as their instances see them. */
export interface InstanceFailures {
  onInstanceLost(ordinal: number, reason: string): void
  onInstanceCrashed(ordinal: number, reason: string, readyTime: Micros): void
  engineArgsProblem(row: Readonly<DeploymentRow>): string | undefined
  pullRefusal(row: Readonly<DeploymentRow>): string | undefined
}

/** What instances call above them. */
export interface InstancesPorts {
  readonly deployments: InstanceOwner
  readonly slots: {
    assignSlots(base: number): void
    cancelLoads(row: InstanceRow): void
  }
  readonly batches: BatchWork
  readonly inferenceRequests: RequestWork
}
