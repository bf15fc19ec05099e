import { calibrated, ENGINE_CLASSES } from '../../data/engine-classes.ts'
import type { CatalogModel, HubRepository } from '../../data/records/catalog.ts'
import { type EntityKey, purpose } from '../../kernel/random.ts'
import type { Autoscaler } from '../deployments/autoscaler.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { hardwareOf, speedOfInstance } from '../deployments/instance-speed.ts'
import type { Instances } from '../deployments/instances.ts'
import type { ModelTarget } from '../deployments/model-lookup.ts'
import { cacheTokens, catalogWeights, estimateWeights, instanceHardware } from '../fleet/weights.ts'
import { InstanceEngine, type InstanceHardware } from '../load/engine.ts'
import { NO_ENGINE_REQUESTS, withEndedRequests } from '../load/engine-requests.ts'
import { countCachedBlocks, withEndedPrompt, withPrompt } from '../load/prefix-cache.ts'
import { waitQuantile } from '../load/prompt-wait.ts'
import { instancePoint, waitUnderLoad } from '../load/serving.ts'
import { Part } from '../part.ts'
import { finishReasonOf, progressOfEnded } from './engine-progress.ts'
import { timeAlone } from './media-work.ts'
import type { RequestCounts } from './request-counts.ts'
import type { EndedState, InferenceRow } from './request-row.ts'

const PROMPT_WAIT = purpose('inference.promptWait')

/** The lower parts that serving uses. */
export interface RequestServingParts {
  readonly deployments: Deployments
  readonly instances: Instances
  readonly autoscaler: Autoscaler
}

/** The instances as single requests use them: free capacity and delays. It has no state of its own. */
export class RequestServing extends Part<RequestServingParts, unknown, { readonly counts: RequestCounts }> {
  /** The last answer of `sharedHardware`: many requests are to one model. */
  #lastShared:
    | { model: CatalogModel | undefined; repository: HubRepository | undefined; hardware: InstanceHardware }
    | undefined

  /** Returns the number of requests that an instance of a deployment can run at once. */
  maxConcurrencyOf(row: Readonly<DeploymentRow>): number {
    return Math.floor(speedOfInstance(row).places)
  }

  /**
   * Returns the ready instance with free capacity that runs the fewest requests; -1 if all instances are full.
   *
   * @param adapter the adapter that must be loaded on the instance; -1: no adapter
   */
  leastBusyInstance(row: Readonly<DeploymentRow>, adapter: number): number {
    const { instances } = this.parts
    let best = -1
    let fewest = this.maxConcurrencyOf(row)
    for (const ordinal of row.instances) {
      const instance = instances.read(ordinal)
      if (instance.state !== 'ready') continue
      if (adapter >= 0 && !instance.adapters.some(each => each.adapter === adapter && each.loadEvent === 0)) continue
      const running = this.owner.counts.onInstance(ordinal)
      if (running < fewest) {
        best = ordinal
        fewest = running
      }
    }
    return best
  }

  /** Returns the seconds to the first token, and between two tokens. Media work comes in equal pieces instead of tokens. */
  paceOf(
    { plan: { key, deployment, promptTokens, longestAnswer, work }, instance, cachedTokens }: Readonly<InferenceRow>,
    hardware: InstanceHardware,
  ): { readonly firstTokenTime: number; readonly tokenTime: number } {
    const outputTokens = Math.max(1, longestAnswer)
    if (work !== undefined) {
      const pieceTime = this.#workTime(deployment, instance, timeAlone(work, hardware)) / outputTokens
      return { firstTokenTime: pieceTime, tokenTime: pieceTime }
    }
    const cachedShare = promptTokens > 0 ? cachedTokens / promptTokens : 0
    // The spread comes last: an object that grows behind a spread takes twenty times as long.
    const engine = new InstanceEngine({ promptTokens, outputTokens, cachedShare, ...hardware })
    if (instance < 0) return engine.at(1)
    const row = this.parts.deployments.read(deployment)
    const { firstTokenTime, tokenTime } = engine.at(this.#concurrencyWith(row, instance))
    const wait = Math.max(this.#queueDelay(row), this.#promptDelay(row, key))
    return { firstTokenTime: wait + firstTokenTime, tokenTime }
  }

  /** Returns the seconds that a prompt waits for prompts of the offered load: a draw. */
  #promptDelay(row: Readonly<DeploymentRow>, key: EntityKey): number {
    const { chance, clock } = this.context
    if (!row.load) return 0
    return waitQuantile(waitUnderLoad(row.load, row.effectiveInstances, clock.now), chance.unit(key, PROMPT_WAIT))
  }

  /** Returns the requests in work on an instance with one more: its part of the offered load, and single requests. */
  #concurrencyWith(row: Readonly<DeploymentRow>, instance: number): number {
    const single = this.owner.counts.onInstance(instance) + 1
    const { load, effectiveInstances } = row
    if (!load || effectiveInstances === 0) return single
    const { backlog } = this.parts.autoscaler.wholeRequests(row)
    const rate = load.curve.rateAt(this.context.clock.now)
    const { concurrency } = instancePoint(rate, load.speed, effectiveInstances, backlog)
    return Math.max(1, Math.min(load.speed.places, single + concurrency))
  }

  /**
   * Returns the seconds of media work. Each request that runs on the instance already adds a share of the time alone, and
   * the backlog of offered load comes first. Shared capacity (-1) is never busy.
   */
  #workTime(deployment: number, instance: number, alone: number): number {
    if (instance < 0) return alone
    const { workSharing } = this.context.profile.timings
    const delay = this.#queueDelay(this.parts.deployments.read(deployment))
    return delay + alone * (1 + workSharing * this.owner.counts.onInstance(instance))
  }

  /** Returns the seconds that the backlog of offered load takes. */
  #queueDelay(row: Readonly<DeploymentRow>): number {
    if (!row.load || row.effectiveInstances === 0) return 0
    const { backlog } = this.parts.autoscaler.wholeRequests(row)
    return backlog / (row.effectiveInstances * row.load.speed.requestsPerSecond)
  }

  /** Returns the leading blocks of a prompt that its engine has in the prefix cache. Shared capacity has none. */
  cachedBlocksOf({ plan: { promptBlocks }, instance }: Readonly<InferenceRow>): number {
    if (instance < 0 || promptBlocks === undefined) return 0
    return countCachedBlocks(this.parts.instances.read(instance).prefixCache, promptBlocks, this.context.clock.now)
  }

  /** Adds the prompt of a request that has started to the prefix cache of its engine. */
  rememberPrompt({ plan, instance, firstTokenAt: readAt, cachedBlocks }: Readonly<InferenceRow>): void {
    const { promptBlocks, promptTokens: tokens, sequence } = plan
    if (instance < 0 || promptBlocks === undefined) return
    const capacity = cacheTokens(hardwareOf(this.parts.deployments.read(plan.deployment)))
    const row = this.parts.instances.writable(instance)
    const prompt = { sequence, hashes: promptBlocks.hashes, tokens, readAt }
    row.prefixCache = withPrompt(row.prefixCache, prompt, cachedBlocks, capacity, this.context.clock.now)
  }

  /** Adds a request that ends now to the totals of its engine. A request on shared capacity has no engine. */
  countOnEngine(row: Readonly<InferenceRow>, state: EndedState, answeredTokens: number): void {
    if (row.instance < 0) return
    const instance = this.parts.instances.writable(row.instance)
    const { now } = this.context.clock
    const progress = progressOfEnded(row, state, answeredTokens, now)
    const ended = { reason: finishReasonOf(row, state), ...progress }
    instance.requests = withEndedRequests(instance.requests ?? NO_ENGINE_REQUESTS, [ended])
    if (row.plan.promptBlocks === undefined) return
    const isRead = state === 'served' || now >= row.firstTokenAt
    instance.prefixCache = withEndedPrompt(instance.prefixCache, row.plan.sequence, isRead, now)
  }

  /** Returns the hardware of shared capacity: one H100 up to 20B parameters, four up to 100B, eight beyond (A). */
  sharedHardware(target: ModelTarget): InstanceHardware {
    const { models, hub } = this.context.store
    const model = target.kind === 'catalog' ? models.get(target.model) : undefined
    const repository = model && hub.get(model.model_name)
    const last = this.#lastShared
    if (last !== undefined && last.model === model && last.repository === repository) return last.hardware
    const weights = model ? catalogWeights(model, repository) : estimateWeights('')
    const gpus = weights.parametersB <= 20 ? 1 : weights.parametersB <= 100 ? 4 : 8
    const constants = calibrated(ENGINE_CLASSES.default, this.context.profile.engine)
    const hardware = instanceHardware(weights, 'H100-80GB', gpus, { constants })
    this.#lastShared = { model, repository, hardware }
    return hardware
  }
}
