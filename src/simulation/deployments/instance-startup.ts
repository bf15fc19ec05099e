import { gpuSpec } from '../../data/gpu-specs.ts'
import { draw } from '../../data/profiles/distribution.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import { oncePer } from '../../lib/once.ts'
import type { SimulationContext } from '../context.ts'
import type { EventName } from '../events.ts'
import type { Downloads } from '../fleet/downloads.ts'
import type { Environment } from '../fleet/environment.ts'
import { imageRefusal } from '../fleet/known-repositories.ts'
import { joinPull } from '../fleet/node-caches.ts'
import { hasImage, hasWeights, isInPageCache } from '../fleet/node-row.ts'
import type { Nodes } from '../fleet/nodes.ts'
import { modelFigures } from '../fleet/weights.ts'
import { Part } from '../part.ts'
import type { DeploymentLogs } from '../recording/deployment-logs.ts'
import type { Loss } from '../recording/instance-timeline.ts'
import type { DeploymentPlan } from './deployment-row.ts'
import { hasSwitch } from './engine-args.ts'
import type { InstanceRow, InstanceState } from './instance-row.ts'
import { type InstanceOwner, shortageOf } from './instance-speed.ts'

const IMAGE_PULL = purpose('instance.imagePull')
const DOWNLOAD = purpose('instance.download')
const WARM_UP = purpose('instance.warmUp')
const SLOW_COMPILE = purpose('instance.slowCompile')

/** What an engine does to compile its model: all of it, load it from a cache, or nothing (`--enforce-eager`). */
export type Compilation = 'compile' | 'cached' | 'none'
type Timings = SimulationContext['profile']['timings']

/** Returns the time in which weights come from the disk or from the page cache of a node to the GPUs. */
export function readTime(
  { loadRate, pageCacheRate }: Timings,
  bytes: number,
  gpus: number,
  isInMemory: boolean,
): Micros {
  return (bytes / (isInMemory ? pageCacheRate * (gpus > 1 ? 1.35 : 1) : loadRate)) * 1e6
}

/** Returns the median time of the initialisation of an engine on a fast host. */
export function warmUpTime(warmUp: Timings['warmUp'], layers: number, compilation: Compilation): Micros {
  if (compilation === 'none') return warmUp.median + layers * warmUp.trace
  return warmUp.median + layers * (warmUp.trace + warmUp[compilation] + warmUp.graphs)
}

/** Returns the factor by which the host of a GPU starts an engine more slowly than that of an H100. */
export function hostFactor(timings: Timings, gpu: GpuType, compilation: Compilation): number {
  if (!gpuSpec(gpu).hasSlowHost) return 1
  return compilation === 'compile' ? timings.slowHostFactor : timings.slowHostCachedFactor
}

/** Names what a compile cache is good for on one node: a model, an engine, GPUs and arguments. */
const compiledFor = oncePer(({ weights, containerImage, numGpus, extraArgs }: DeploymentPlan): string =>
  [weights.repo, containerImage, numGpus, ...extraArgs].join(' '),
)

/** The exit of an engine after a command, or in the series of crashes that a command started. */
export const ENGINE_CRASH: Loss = { cause: 'engine_exit', reason: 'engine exited with code 1' }

/** The parts below that it uses. */
export interface InstanceStartupParts {
  readonly environment: Environment
  readonly nodes: Nodes
  readonly downloads: Downloads
  readonly deploymentLogs: DeploymentLogs
}

/** What lies above that a startup calls. */
interface InstanceStartupPorts {
  readonly deployments: InstanceOwner
}

/** The instances, as their startup sees them. */
interface StartingInstances {
  schedule(ordinal: number, delay: Micros, event: EventName): number
  enterState(instance: InstanceRow, state: InstanceState, fields?: Record<string, string | number>): void
  lose(ordinals: readonly number[], loss: Loss): void
}

/** The steps of an instance from its container to a warm engine: image, weights, load, warm-up. */
export class InstanceStartup extends Part<InstanceStartupParts, InstanceStartupPorts, StartingInstances> {
  /** Enters the state `pulling` and fetches the container image unless the node has it. */
  pullImage(ordinal: number, instance: InstanceRow): void {
    const { profile } = this.context
    const { nodes, environment } = this.parts
    const { containerImage } = this.ports.deployments.read(instance.deployment).plan
    const isCached = hasImage(nodes.read(instance.node), containerImage)
    this.owner.enterState(instance, 'pulling', { image: isCached ? 'cached' : 'fetched' })
    if (imageRefusal(this.context, containerImage) !== undefined) {
      instance.next = this.owner.schedule(ordinal, profile.timings.hubRefusal, 'instance.weightsRefused')
      return
    }
    if (!isCached && environment.state.registryDown) {
      instance.next = this.owner.schedule(ordinal, profile.timings.hubTimeout, 'instance.imageTimedOut')
      return
    }
    const duration = isCached ? 0 : this.#joinPull(instance, containerImage)
    instance.next = this.owner.schedule(ordinal, duration, 'instance.imagePulled')
  }

  /** Returns the time until the image of an instance is on its node. */
  #joinPull(instance: Readonly<InstanceRow>, image: string): Micros {
    const { chance, clock, profile } = this.context
    const { key } = this.ports.deployments.read(instance.deployment)
    const drawDuration = () => draw(profile.timings.imagePull, chance, key, IMAGE_PULL, instance.index)
    return joinPull(this.parts.nodes.writable(instance.node), image, clock.now, drawDuration)
  }

  /** Fetches the weights from the hub unless the node has them. The image is on the node from now on. */
  downloadWeights(ordinal: number, instance: InstanceRow): void {
    const { timings } = this.context.profile
    const deployment = this.ports.deployments.read(instance.deployment)
    this.parts.nodes.cacheImage(instance.node, deployment.plan.containerImage)
    instance.timeline.pulled = this.context.clock.now
    const node = this.parts.nodes.read(instance.node)
    const isCached = hasWeights(node, deployment.weights.repo)
    if (this.ports.deployments.failures.pullRefusal(deployment) !== undefined) {
      instance.next = this.owner.schedule(ordinal, timings.hubRefusal, 'instance.weightsRefused')
      return
    }
    if (!isCached && node.diskFull) {
      this.owner.lose([ordinal], { cause: 'disk', reason: `no space left on ${node.id}` })
      return
    }
    this.context.record(instance, 'instance.imagePulled', { weights: isCached ? 'cached' : 'fetched' })
    if (isCached) instance.next = this.owner.schedule(ordinal, 0, 'instance.weightsPulled')
    else {
      const rate = draw(timings.downloadRate, this.context.chance, deployment.key, DOWNLOAD, instance.index)
      this.parts.downloads.start(ordinal, deployment.weights.bytes, rate)
    }
  }

  /** Fails the deployment because its image or weights are refused. If they are accepted by now, the download begins. */
  onPullRefused(ordinal: number, instance: InstanceRow): void {
    const reason = this.ports.deployments.failures.pullRefusal(this.ports.deployments.read(instance.deployment))
    // The repository may have opened while the answer was on its way.
    if (reason === undefined) this.downloadWeights(ordinal, instance)
    else this.#failDeployment(instance, 'instance.refused', reason)
  }

  /** Enters the state `loading` and schedules its end: a loaded engine, a lack of memory or a crash. */
  loadWeights(ordinal: number, instance: InstanceRow): void {
    const { nodes } = this.parts
    const { timings } = this.context.profile
    const deployment = this.ports.deployments.read(instance.deployment)
    const isInMemory = isInPageCache(nodes.read(instance.node), deployment.weights.repo, timings.pageCacheBytes)
    nodes.cacheWeights(instance.node, deployment.weights.repo, deployment.weights.bytes)
    this.owner.enterState(instance, 'loading')
    instance.readyDeadlineEvent = this.owner.schedule(ordinal, timings.readyWithin, 'instance.overdue')
    if (
      deployment.remainingCrashes > 0 ||
      this.ports.deployments.failures.engineArgsProblem(deployment) !== undefined
    ) {
      instance.next = this.owner.schedule(ordinal, timings.crashAfter, 'instance.engineExited')
      return
    }
    const { weights, gpu, numGpus } = deployment
    const fixed = timings.loadFixed * hostFactor(timings, gpu, this.#compilation(instance))
    if (shortageOf(deployment.plan) !== undefined) {
      // The engine allocates all memory for the weights before it reads the first byte.
      instance.next = this.owner.schedule(ordinal, fixed, 'instance.outOfMemory')
      return
    }
    const duration = fixed + readTime(timings, weights.bytes, numGpus, isInMemory)
    instance.next = this.owner.schedule(ordinal, duration, 'instance.loaded')
  }

  /** Keeps what the engine of an instance compiled if the profile has a volume for it. */
  onWarmed(instance: Readonly<InstanceRow>): void {
    if (this.context.profile.policies.compileCache === 'container' || this.#compilation(instance) !== 'compile') return
    const node = this.parts.nodes.writable(instance.node)
    node.compiled = [...node.compiled, compiledFor(this.ports.deployments.read(instance.deployment).plan)]
  }

  #compilation(instance: Readonly<InstanceRow>): Compilation {
    const deployment = this.ports.deployments.read(instance.deployment)
    if (hasSwitch(deployment.plan.extraArgs, 'enforce-eager')) return 'none'
    return this.parts.nodes.read(instance.node).compiled.includes(compiledFor(deployment.plan)) ? 'cached' : 'compile'
  }

  /** Returns the reason for which the engine exited, and counts down the crashes that a command asked for. */
  exitReason(instance: Readonly<InstanceRow>): string {
    const deployments = this.ports.deployments
    const argsProblem = deployments.failures.engineArgsProblem(deployments.read(instance.deployment))
    if (argsProblem !== undefined) return `engine exited with code 2: ${argsProblem}`
    deployments.writable(instance.deployment).remainingCrashes--
    return ENGINE_CRASH.reason
  }

  /** Fails the deployment because its weights do not fit into the memory of the GPUs. */
  onOutOfMemory(instance: InstanceRow): void {
    const reason = shortageOf(this.ports.deployments.read(instance.deployment).plan) ?? 'CUDA out of memory'
    this.#failDeployment(instance, 'instance.outOfMemory', reason)
  }

  /** Fails the whole deployment and writes the reason to the log of the instance. */
  #failDeployment({ deployment, index }: Readonly<InstanceRow>, kind: string, reason: string): void {
    this.parts.deploymentLogs.append(deployment, index, kind, { reason })
    this.ports.deployments.fail(deployment, reason)
  }

  /** Enters the state `warming` and schedules its end. */
  warmUp(ordinal: number, instance: InstanceRow): void {
    const { chance } = this.context
    const { timings } = this.context.profile
    const deployment = this.ports.deployments.read(instance.deployment)
    const { weights, gpu, key } = deployment
    const compilation = this.#compilation(instance)
    this.owner.enterState(instance, 'warming')
    const isSlow =
      timings.slowCompileShare > 0 && chance.unit(key, SLOW_COMPILE, instance.index) < timings.slowCompileShare
    const warmUp = isSlow ? { ...timings.warmUp, compile: timings.warmUp.compile * 10 } : timings.warmUp
    const medianDuration =
      warmUpTime(warmUp, modelFigures(weights).layers, compilation) * hostFactor(timings, gpu, compilation)
    instance.next = this.owner.schedule(
      ordinal,
      chance.lognormal(medianDuration, warmUp.sigma, key, WARM_UP, instance.index),
      'instance.warmed',
    )
  }
}
