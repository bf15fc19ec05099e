import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import { Table } from '../../kernel/table.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import type { SimulationContext } from '../context.ts'
import type { Autoscaler } from '../deployments/autoscaler.ts'
import { type DeploymentRow, isTerminal } from '../deployments/deployment-row.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { speedOfInstance } from '../deployments/instance-speed.ts'
import type { Instances } from '../deployments/instances.ts'
import type { LoraAdapters } from '../deployments/lora-adapters.ts'
import { findModelTarget, type ModelSources, type ModelTarget } from '../deployments/model-lookup.ts'
import type { RequestWork } from '../deployments/work.ts'
import type { Nodes } from '../fleet/nodes.ts'
import { estimateServing, type InstanceSpeed, instanceSpeed } from '../load/throughput.ts'
import type { UsageHistory } from '../recording/history.ts'
import {
  type EndedState,
  InferenceHandle,
  type InferencePlan,
  InferenceRow,
  type InferenceSpec,
} from './request-row.ts'

const ID = purpose('inference.id')

/** Why a request is turned away. */
export interface RequestRejection {
  readonly status: 404 | 429 | 503
  readonly message: string
  /** Seconds after which it may be worth another try; none will help a model that is not there. */
  readonly retryAfter?: number
}

/**
 * What Retry-After says, in seconds: where a place may be free any moment, another instance among them; and where
 * something has to start first, or be started, for which clients that obey should come by now and then (A).
 */
export const RETRY_AFTER = { place: 1, start: 10 } as const

/** What an instance of a model is like, as requests meet it. */
interface ServingHardware {
  readonly gpu: GpuType
  readonly gpus: number
  readonly parametersB: number
  readonly maxBatchSize: number
}

/** The parts below that it uses. */
export interface InferenceRequestsParts {
  readonly deployments: Deployments
  readonly instances: Instances
  readonly nodes: Nodes
  readonly autoscaler: Autoscaler
  readonly gpuQuotas: GpuQuotas
  readonly ledger: Ledger
  readonly history: UsageHistory
  readonly loraAdapters: LoraAdapters
}

/**
 * Requests for answers, one by one, as instances serve them.
 *
 * An instance has so many places; who finds none waits in the queue of its deployment, first come, first served. The time
 * to the first token and that between two follow from GPU, model size and load, by the figures that offered load goes by.
 * Models of the catalog are served on shared capacity, which is never full.
 */
export class InferenceRequests implements RequestWork {
  readonly #context: SimulationContext
  readonly #parts: InferenceRequestsParts
  readonly #models: ModelSources
  readonly #table: Table<InferenceRow>
  /** Requests that were ever taken: the order of queues. */
  #nextSequence: number
  /** What follows from the table. */
  readonly #inFlight = new Map<string, number>()
  readonly #queues = new Map<number, number[]>()
  readonly #onInstance = new Map<number, number>()
  readonly #onDeployment = new Map<number, number>()
  /** Doors that hold the client of a request, by its row: nothing of the world. */
  readonly #handles = new Map<number, InferenceHandle>()
  /** How often a request was asked for at this moment: equal ones differ in their ids by it. */
  #countedAt: Micros = -1
  #countsByHash = new Map<string, number>()

  constructor(context: SimulationContext, parts: InferenceRequestsParts, origin?: InferenceRequests) {
    this.#context = context
    this.#parts = parts
    this.#models = { deployments: parts.deployments, store: context.store, profile: context.profile }
    this.#table = origin
      ? origin.#table.fork(origin.#context.generation, context.generation)
      : new Table(context.generation)
    this.#nextSequence = origin === undefined ? 0 : origin.#nextSequence
    if (!origin) return
    this.#countedAt = origin.#countedAt
    this.#countsByHash = new Map(origin.#countsByHash)
    this.#rebuildCounts()
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
    this.#nextSequence = archive.value(this.#nextSequence)
    this.#countedAt = archive.value(this.#countedAt)
    this.#countsByHash = new Map(archive.value([...this.#countsByHash]))
    this.#rebuildCounts()
  }

  entries(): Generator<[number, Readonly<InferenceRow>]> {
    return this.#table.entries()
  }

  /** Requests that are answered or wait, all together. */
  get inFlightCount(): number {
    return this.#table.count
  }

  /** Requests that a deployment answers or that wait for it. */
  countsOfDeployment(deployment: number): { readonly running: number; readonly waiting: number } {
    const waiting = this.#queues.get(deployment)?.length ?? 0
    return { running: (this.#onDeployment.get(deployment) ?? 0) - waiting, waiting }
  }

  /** Requests that wait, of every deployment. */
  get waiting(): number {
    let waiting = 0
    for (const queue of this.#queues.values()) waiting += queue.length
    return waiting
  }

  /** How many requests a deployment answers before one that waits for it; an adapter's wait with those of its base. */
  queuePosition({ ordinal, plan }: InferenceHandle): number {
    return this.#queues.get(plan.deployment)?.indexOf(ordinal) ?? -1
  }

  /** When an instance took a request on that waited; -1 while none has, undefined where it is over. */
  startTimeOf({ ordinal, id }: InferenceHandle): Micros | undefined {
    const row = this.#table.find(ordinal)
    return row?.id === id ? row.startedAt : undefined
  }

  /** Requests that an instance answers. */
  running(instance: number): number {
    return this.#onInstance.get(instance) ?? 0
  }

  /** Whether anybody is answered by a deployment, or waits for it. */
  hasWorkFor(deployment: number): boolean {
    return this.#onDeployment.has(deployment)
  }

  /** Why a request for a model would be turned away now; undefined where it would be taken. */
  rejectionFor(
    model: string,
    token: string,
    target: ModelTarget | undefined = findModelTarget(this.#models, model),
  ): RequestRejection | undefined {
    const { profile } = this.#context
    const { deployments, gpuQuotas, autoscaler } = this.#parts
    if (target === undefined) return { status: 404, message: `no model ${model}` }
    if (target.row !== undefined) {
      const { status } = deployments.read(target.row)
      if (status !== 'running') {
        return { status: 503, message: `model ${model} is ${status}, not running`, retryAfter: RETRY_AFTER.start }
      }
    }
    const { requestsInFlight, queuePerDeployment } = profile.limits
    if ((this.#inFlight.get(inFlightKey(target.name, token)) ?? 0) >= requestsInFlight) {
      return {
        status: 429,
        message: `${requestsInFlight} requests to ${model} are in flight with this token`,
        retryAfter: RETRY_AFTER.place,
      }
    }
    if (target.kind !== 'own') return undefined
    const row = deployments.read(target.deployment)
    const { running, waiting } = this.countsOfDeployment(target.deployment)
    const isFull = running > 0 || row.ready === 0
    if (
      isFull &&
      waiting + autoscaler.wholeRequests(row).backlog >= queuePerDeployment &&
      !this.#hasFreeInstance(row)
    ) {
      return {
        status: 429,
        message: `${waiting} requests wait for ${model} already`,
        retryAfter: RETRY_AFTER.place,
      }
    }
    // Nobody serves, nobody is on the way, and nobody may be asked for.
    const limit = gpuQuotas.get(row.gpu)
    if (
      deployments.liveInstances(target.deployment) === 0 &&
      limit !== null &&
      gpuQuotas.held(row.gpu) + row.numGpus > limit
    ) {
      const message = `no instance of ${model} may be started: the limit of ${row.gpu} is reached`
      return { status: 429, message, retryAfter: RETRY_AFTER.start }
    }
    return undefined
  }

  /** Takes a request on, which `refusal` must have let pass: it is answered from now on, or waits. */
  submit(spec: InferenceSpec, target: ModelTarget): InferenceHandle {
    const { now } = this.#context.clock
    const key = this.#context.chance.key('inference', `${spec.hash} ${now}`, this.#indexAmongEqual(spec.hash))
    const id = `${spec.prefix}${this.#context.chance.letters(24, key, ID)}`
    const plan: InferencePlan = {
      ...spec,
      key,
      name: target.name,
      deployment: target.kind === 'own' ? target.deployment : -1,
      adapter: target.adapter ?? -1,
      chargedModel: target.kind === 'catalog' ? target.model : '',
      priceShare: target.kind === 'catalog' ? target.priceShare : 0,
      arrivedAt: now,
      sequence: this.#nextSequence++,
    }
    const row = new InferenceRow(this.#table.generation, id, plan)
    const ordinal = this.#table.add(row)
    const use = this.#table.useCount(ordinal)
    const handle = new InferenceHandle(row, ordinal, (state, tokens) => {
      // Its slot may have been given to another request since.
      if (this.#table.useCount(ordinal) === use && this.#table.find(ordinal)) this.#end(ordinal, state, '', tokens)
    })
    this.#handles.set(ordinal, handle)
    this.#addToCounts(ordinal, row)
    for (const deployment of [plan.deployment, plan.adapter]) {
      if (deployment >= 0) this.#parts.history.onRequestArrived(this.#parts.deployments.writable(deployment))
    }
    if (plan.deployment < 0) {
      this.#start(ordinal, row, -1, this.#sharedServing(target), 1)
      return handle
    }
    if (plan.adapter >= 0) this.#parts.loraAdapters.slots.acquire(plan.adapter)
    this.#dispatch(plan.deployment)
    if (this.#table.find(ordinal)?.startedAt === -1) {
      this.#context.record(this.#table.writable(ordinal), 'inference.queued', {
        deployment: this.#parts.deployments.read(plan.deployment).id,
      })
      this.#parts.deployments.wake(plan.deployment)
    }
    this.#parts.deployments.onWorkBegan(plan.deployment)
    this.#parts.autoscaler.onRequestCountChanged(plan.deployment, 1)
    return handle
  }

  /** Its answer has come to its end. */
  onAnswerEnded(ordinal: number, use: number): void {
    if (this.#table.useCount(ordinal) !== use) throw new Error('Failed to end an answer: its request has gone.')
    this.#table.writable(ordinal).next = 0
    this.#end(ordinal, 'served', '', Number.POSITIVE_INFINITY)
  }

  /** Instances of a deployment came, or have an adapter loaded now: who waits may begin. */
  onCapacityAvailable(deployment: number): void {
    if (this.#queues.has(deployment)) this.#dispatch(deployment)
  }

  /** An instance is gone, and with it what it was answering. */
  onInstanceLost(instance: number, reason: string): void {
    if (!this.#onInstance.has(instance)) return
    for (const [ordinal, row] of this.#sortedRows())
      if (row.instance === instance) this.#end(ordinal, 'broken', reason, 0)
  }

  /** The account is cut off: what it pays by the token breaks off, and costs what was made so far. */
  onAccountCutOff(reason: string): void {
    for (const [ordinal, { plan }] of this.#sortedRows()) {
      if (plan.chargedModel !== '') this.#end(ordinal, 'cutOff', reason, 0)
    }
  }

  /** A deployment or an adapter stopped, failed or was deleted: who waits for it is turned away. */
  onDeploymentStopped(ordinal: number): void {
    const { plan } = this.#parts.deployments.read(ordinal)
    const queue = this.#queues.get(plan.base >= 0 ? plan.base : ordinal)
    for (const waiting of [...(queue ?? [])]) {
      const row = this.#table.read(waiting)
      if (plan.base >= 0 && row.plan.adapter !== ordinal) continue
      const { status } = this.#parts.deployments.read(ordinal)
      this.#end(waiting, 'turnedAway', `model ${row.plan.model} is ${status}, not running`, 0)
    }
  }

  /** Requests that an instance of a deployment works on at once. */
  maxConcurrencyOf(row: Readonly<DeploymentRow>): number {
    const speed = speedOfInstance(row)
    return Math.max(1, Math.floor(speed.requestsPerSecond * speed.requestTime))
  }

  #indexAmongEqual(hash: string): number {
    const { now } = this.#context.clock
    if (now !== this.#countedAt) {
      this.#countedAt = now
      this.#countsByHash.clear()
    }
    const index = this.#countsByHash.get(hash) ?? 0
    this.#countsByHash.set(hash, index + 1)
    return index
  }

  #sortedRows(): [number, Readonly<InferenceRow>][] {
    return [...this.#table.entries()].sort(([, a], [, b]) => a.plan.sequence - b.plan.sequence)
  }

  #rebuildCounts(): void {
    for (const counts of [this.#inFlight, this.#queues, this.#onInstance, this.#onDeployment]) counts.clear()
    for (const [ordinal, row] of this.#sortedRows()) this.#addToCounts(ordinal, row)
  }

  #addToCounts(ordinal: number, { plan, instance, startedAt }: Readonly<InferenceRow>): void {
    adjustCount(this.#inFlight, inFlightKey(plan.name, plan.token), 1)
    if (plan.deployment < 0) return
    adjustCount(this.#onDeployment, plan.deployment, 1)
    if (startedAt < 0) this.#queues.set(plan.deployment, [...(this.#queues.get(plan.deployment) ?? []), ordinal])
    else adjustCount(this.#onInstance, instance, 1)
  }

  #leaveQueue(deployment: number, ordinal: number): void {
    const remaining = (this.#queues.get(deployment) ?? []).filter(other => other !== ordinal)
    if (remaining.length > 0) this.#queues.set(deployment, remaining)
    else this.#queues.delete(deployment)
  }

  #hasFreeInstance(row: Readonly<DeploymentRow>): boolean {
    return this.#leastBusyInstance(row, -1) >= 0
  }

  /** The ready instance with the fewest requests that has a place left; -1 for none. */
  #leastBusyInstance(row: Readonly<DeploymentRow>, adapter: number): number {
    const { instances } = this.#parts
    let best = -1
    let fewest = this.maxConcurrencyOf(row)
    for (const ordinal of row.instances) {
      const instance = instances.read(ordinal)
      if (instance.state !== 'ready') continue
      if (adapter >= 0 && !instance.adapters.some(each => each.adapter === adapter && each.loadEvent === 0)) continue
      const running = this.running(ordinal)
      if (running < fewest) {
        best = ordinal
        fewest = running
      }
    }
    return best
  }

  /** Lets whoever waits begin, as far as there are places: first come, first served. */
  #dispatch(deployment: number): void {
    const { deployments, instances, nodes } = this.#parts
    const row = deployments.read(deployment)
    if (isTerminal(row.status)) return
    for (const ordinal of [...(this.#queues.get(deployment) ?? [])]) {
      const waiting = this.#table.read(ordinal)
      const instance = this.#leastBusyInstance(row, waiting.plan.adapter)
      // Who waits for an adapter to be loaded holds up nobody else.
      if (instance < 0 && waiting.plan.adapter < 0) return
      if (instance < 0) continue
      const { gpu, numGpus: gpus, weights, maxBatchSize } = row
      const serving = { gpu, gpus, parametersB: weights.parametersB, maxBatchSize }
      const { slowdown } = nodes.read(instances.read(instance).node)
      this.#leaveQueue(deployment, ordinal)
      this.#start(ordinal, this.#table.writable(ordinal), instance, serving, slowdown)
      adjustCount(this.#onInstance, instance, 1)
    }
  }

  #start(ordinal: number, row: InferenceRow, instance: number, serving: ServingHardware, slowdown: number): void {
    const { now } = this.#context.clock
    const { promptTokens, longestAnswer } = row.plan
    const outputTokens = Math.max(1, longestAnswer)
    const speed = instanceSpeed({ ...serving, promptTokens, outputTokens })
    const delay = instance < 0 ? speed.firstTokenTime : this.#firstTokenDelay(row.plan.deployment, instance, speed)
    row.instance = instance
    row.startedAt = now
    row.firstTokenAt = now + Math.round(delay * slowdown * 1e6)
    row.tokenTime = speed.tokenTime * slowdown * 1e6
    const end = row.firstTokenAt + Math.ceil((outputTokens - 1) * row.tokenTime)
    row.next = this.#context.scheduleAt(end, 'inference.ended', ordinal, this.#table.useCount(ordinal))
    const handle = this.#handles.get(ordinal)
    if (handle === undefined) return
    handle.startedAt = now
    handle.firstTokenAt = row.firstTokenAt
    handle.tokenTime = row.tokenTime
    handle.setState('running')
  }

  /** Seconds to the first token: behind the offered load that waits, and longer the busier the instance is. */
  #firstTokenDelay(deployment: number, instance: number, { firstTokenTime }: InstanceSpeed): number {
    const { deployments, autoscaler } = this.#parts
    const { clock } = this.#context
    const row = deployments.read(deployment)
    const ownUtilisation = this.running(instance) / this.maxConcurrencyOf(row)
    if (!row.load || row.effectiveInstances === 0) return firstTokenTime * (1 + Math.min(1, ownUtilisation))
    const { backlog } = autoscaler.wholeRequests(row)
    const { utilisation } = estimateServing(
      row.load.curve.rateAt(clock.now),
      row.load.speed,
      row.effectiveInstances,
      backlog,
    )
    const queueDelay = backlog / (row.effectiveInstances * row.load.speed.requestsPerSecond)
    return queueDelay + firstTokenTime * (1 + Math.min(1, ownUtilisation + utilisation))
  }

  /** Shared capacity is made of H100s: one for a small model, four up to 100B, eight beyond (A). */
  #sharedServing(target: ModelTarget): ServingHardware {
    const name = target.kind === 'catalog' ? target.model : ''
    const parametersB = this.#context.store.models.get(name)?.parameters_b ?? 8
    const gpus = parametersB <= 20 ? 1 : parametersB <= 100 ? 4 : 8
    return { gpu: 'H100-80GB', gpus, parametersB, maxBatchSize: 96 }
  }

  #end(ordinal: number, state: EndedState, reason: string, tokens: number): void {
    const row = this.#table.writable(ordinal)
    const { plan, instance, startedAt } = row
    this.#context.cancel(row.next)
    row.next = 0
    const answeredTokens = this.#answeredTokens(row, state, tokens)
    this.#recordEnd(row, state, reason, answeredTokens)
    adjustCount(this.#inFlight, inFlightKey(plan.name, plan.token), -1)
    if (plan.deployment >= 0) {
      adjustCount(this.#onDeployment, plan.deployment, -1)
      if (startedAt < 0) this.#leaveQueue(plan.deployment, ordinal)
      else adjustCount(this.#onInstance, instance, -1)
    }
    this.#table.remove(ordinal)
    const handle = this.#handles.get(ordinal)
    this.#handles.delete(ordinal)
    if (plan.chargedModel !== '' && startedAt >= 0) this.#charge(row, answeredTokens)
    const requestEnd = state === 'left' && startedAt < 0 ? 'abandoned' : state === 'cutOff' ? 'broken' : state
    const tokenCounts = { prompt: startedAt < 0 ? 0 : plan.promptTokens, answer: answeredTokens }
    for (const deployment of [plan.deployment, plan.adapter]) {
      if (deployment >= 0)
        this.#parts.history.onRequestEnded(this.#parts.deployments.writable(deployment), requestEnd, tokenCounts)
    }
    if (plan.deployment >= 0) {
      if (plan.adapter >= 0) this.#parts.loraAdapters.slots.release(plan.adapter)
      if (this.#queues.has(plan.deployment)) this.#dispatch(plan.deployment)
      this.#parts.autoscaler.onRequestCountChanged(plan.deployment, -1)
      if (!this.hasWorkFor(plan.deployment)) this.#parts.deployments.onWorkEnded(plan.deployment)
    }
    handle?.setState(state, reason)
  }

  /** Tokens of its answers that were made when it ended. */
  #answeredTokens(row: Readonly<InferenceRow>, state: string, tokens: number): number {
    const { answerTokens, longestAnswer } = row.plan
    if (state === 'served') return answerTokens
    if (row.startedAt < 0 || longestAnswer === 0) return 0
    const since = this.#context.clock.now - row.firstTokenAt
    const generatedTokens = since < 0 ? 0 : Math.floor(since / row.tokenTime) + 1
    return Math.round(answerTokens * Math.min(1, Math.max(generatedTokens, tokens) / longestAnswer))
  }

  #recordEnd(row: InferenceRow, state: EndedState, reason: string, tokens: number): void {
    const { model, promptTokens } = row.plan
    const fields =
      state === 'served' || state === 'left'
        ? { model, prompt_tokens: promptTokens, completion_tokens: tokens }
        : { model, reason }
    // A client that has its answer, or leaves, does so at no request's bidding.
    if (this.#context.journal.cause === 0) this.#context.recordCommand(row, `inference.${state}`, fields)
    else this.#context.record(row, `inference.${state}`, fields)
  }

  #charge({ plan }: Readonly<InferenceRow>, answeredTokens: number): void {
    this.#parts.ledger.chargeRequestTokens(plan.chargedModel, plan.priceShare, plan.promptTokens, answeredTokens)
  }
}

function inFlightKey(name: string, token: string): string {
  return `${token} ${name}`
}

function adjustCount<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
