import type { Archive } from '../../kernel/archive.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import type { AccountAccess } from '../account/access/account-access.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { Ledger } from '../account/ledger.ts'
import { type RequestCost, tokenCostOf, tokenPriceOf, unitCostOf, unitPriceOf } from '../account/request-cost.ts'
import { type DeploymentRow, isTerminal } from '../deployments/deployment-row.ts'
import { hardwareOf, type RequestWork, withAdapter } from '../deployments/instance-speed.ts'
import type { LoraAdapters } from '../deployments/lora-adapters.ts'
import { findModelTarget, type ModelSources, type ModelTarget } from '../deployments/model-lookup.ts'
import { assertHandled, type EventOf } from '../events.ts'
import type { Nodes } from '../fleet/nodes.ts'
import type { InstanceHardware } from '../load/engine.ts'
import { TablePart } from '../part.ts'
import type { UsageHistory } from '../recording/history.ts'
import type { Store } from '../store.ts'
import { type AdmissionState, type RequestRejection, rejectionFor } from './request-admission.ts'
import { RequestCounts } from './request-counts.ts'
import {
  answeredTokensOf,
  countedEnd,
  countingRows,
  type EndedState,
  type InferenceCaller,
  InferenceHandle,
  type InferencePlan,
  InferenceRow,
  type InferenceSpec,
  webhookResultOf,
} from './request-row.ts'
import { RequestServing, type RequestServingParts } from './request-serving.ts'
import type { Webhooks } from './webhooks.ts'

/** The price in force of a request. */
type PlanPrice = Pick<InferencePlan, 'price' | 'unitPrice'>

const NO_PRICE: PlanPrice = Object.freeze({ price: undefined, unitPrice: undefined })

/** Returns the price in force of a request. An own deployment costs its rent alone. */
function priceOfRequest(store: Store, { work }: InferenceSpec, target: ModelTarget): PlanPrice {
  if (target.kind === 'own') return NO_PRICE
  const { model, priceShare } = target
  return work === undefined
    ? { price: tokenPriceOf(store, model, priceShare), unitPrice: undefined }
    : { price: undefined, unitPrice: unitPriceOf(store, model, priceShare) }
}

/**
 * Returns the cost of a request at its end; undefined if it is not charged. Media work is charged only if it was served.
 * Tokens are charged as far as they were generated.
 *
 * @param workTime microseconds of an instance's work
 */
function costOfRequest(
  { chargedModel, price, unitPrice, promptTokens, work }: InferencePlan,
  state: EndedState,
  isStarted: boolean,
  answerTokens: number,
  workTime: number,
): RequestCost | undefined {
  if (chargedModel === '' || !isStarted) return undefined
  const use = { promptTokens, answerTokens, amounts: work?.amounts, workTime }
  if (work === undefined) return price && tokenCostOf(price, use)
  return unitPrice && state === 'served' ? unitCostOf(unitPrice, use) : undefined
}

const ID = purpose('inference.id')

/** The lower parts that requests use. */
export interface InferenceRequestsParts extends RequestServingParts {
  readonly access: AccountAccess
  readonly nodes: Nodes
  readonly gpuQuotas: GpuQuotas
  readonly ledger: Ledger
  readonly history: UsageHistory
  readonly loraAdapters: LoraAdapters
  readonly webhooks: Webhooks
}

/**
 * The single requests that instances serve. A request that finds all instances full waits in the queue of its deployment,
 * first in, first out. The time to the first token and the time per token follow from GPU, model size and load, by the
 * same model as offered load. Shared capacity serves the models of the catalog and is never full.
 */
export class InferenceRequests extends TablePart<InferenceRow, InferenceRequestsParts> implements RequestWork {
  protected readonly table = this.tableOf(InferenceRow)
  readonly #models: ModelSources = {
    ...{ store: this.context.store, profile: this.context.profile, clock: this.context.clock },
    deployments: this.parts.deployments,
  }
  /** The number of all accepted requests: it gives the order of queues. */
  #nextSequence = 0
  readonly counts = new RequestCounts()
  readonly #serving = new RequestServing(this.context, this.parts, this)
  readonly #admission: AdmissionState = {
    ...this.parts,
    ...{ context: this.context, counts: this.counts, serving: this.#serving },
  }
  /** The handles of transports that hold the client of a request, by ordinal. They are not state of the world. */
  readonly handles = new Map<number, InferenceHandle>()
  /** How often each request was made at this time. The index makes the ids of equal requests distinct. */
  #countedAt: Micros = -1
  #countsByHash = new Map<string, number>()

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#nextSequence = archive.value(this.#nextSequence)
    this.#countedAt = archive.value(this.#countedAt)
    this.#countsByHash = archive.own(this.#countsByHash)
    if (archive.isReading) this.#rebuildCounts()
  }

  /** The number of running and waiting requests. */
  get inFlightCount(): number {
    return this.table.count
  }

  /** Returns the number of requests that run on a deployment and that wait for it. */
  countsOfDeployment(deployment: number): { readonly running: number; readonly waiting: number } {
    const waiting = this.counts.queueOf(deployment)?.length ?? 0
    return { running: this.counts.onDeployment(deployment) - waiting, waiting }
  }

  /** The number of waiting requests of all deployments. */
  get waiting(): number {
    return this.counts.waiting
  }

  /** Returns the position of a request in the queue of its deployment; -1 if it does not wait. Adapters share the queue of their base. */
  queuePosition({ ordinal, plan }: InferenceHandle): number {
    return this.counts.queueOf(plan.deployment)?.indexOf(ordinal) ?? -1
  }

  /** Returns when a request started; -1 while it waits, undefined after its end. */
  startTimeOf({ ordinal, id }: InferenceHandle): Micros | undefined {
    const row = this.table.find(ordinal)
    return row?.id === id ? row.startedAt : undefined
  }

  /** Returns the number of requests that run on an instance. */
  running(instance: number): number {
    return this.counts.onInstance(instance)
  }

  /** Tells whether a request runs on a deployment or waits for it. */
  hasWorkFor(deployment: number): boolean {
    return this.counts.onDeployment(deployment) > 0
  }

  /** Returns why a request for a model would be rejected now; undefined if it would be accepted. */
  rejectionFor(
    model: string,
    token: string,
    target: ModelTarget | undefined = findModelTarget(this.#models, model),
  ): RequestRejection | undefined {
    return rejectionFor(this.#admission, model, token, target)
  }

  /** Accepts a request for which `rejectionFor` returned undefined. It starts now or waits. */
  submit(spec: InferenceSpec, caller: InferenceCaller, target: ModelTarget): InferenceHandle {
    const { now } = this.context.clock
    const key = this.context.chance.key('inference', `${spec.hash} ${now}`, this.#indexAmongEqual(spec.hash))
    const id = `${spec.prefix}${this.context.chance.letters(24, key, ID)}`
    const price = priceOfRequest(this.context.store, spec, target)
    const plan = createPlan(spec, caller, target, price, { key, arrivedAt: now, sequence: this.#nextSequence++ })
    this.parts.access.rateLimits.countTokens(plan.name, plan.token, plan.promptTokens + plan.answerTokens)
    const row = new InferenceRow(this.table.generation, id, { plan })
    const ordinal = this.table.add(row)
    const use = this.table.useCount(ordinal)
    const handle = new InferenceHandle(row, ordinal, (state, tokens) => {
      // Another request may use its slot by now.
      if (this.table.useCount(ordinal) === use && this.table.find(ordinal)) this.#end(ordinal, state, '', tokens)
    })
    handle.cause = this.context.journal.cause
    this.handles.set(ordinal, handle)
    this.counts.add(ordinal, row)
    for (const counting of countingRows(plan)) {
      this.parts.history.requests.onArrived(this.parts.deployments.writable(counting), this.context.clock.now)
    }
    if (plan.deployment < 0) {
      this.#start(ordinal, row, -1, this.#serving.sharedHardware(target), 1)
      return handle
    }
    if (plan.adapter >= 0) this.parts.loraAdapters.slots.acquire(plan.adapter)
    this.#dispatch(plan.deployment)
    if (this.table.find(ordinal)?.startedAt === -1) {
      this.context.record(this.table.writable(ordinal), 'inference.queued', {
        deployment: this.parts.deployments.read(plan.deployment).id,
      })
      this.parts.deployments.scaling.wake(plan.deployment)
    }
    this.parts.deployments.scaling.onWorkBegan(plan.deployment)
    this.parts.autoscaler.onRequestCountChanged(plan.deployment, 1)
    return handle
  }

  /** Ends a request as its client would. Does nothing if it has ended. */
  endByClient(ordinal: number, state: 'served' | 'left', tokens: number): void {
    if (this.table.find(ordinal)) this.#end(ordinal, state, '', tokens)
  }

  onEvent(event: EventOf<'inferenceRequests'>, ordinal: number, use: number): void {
    if (this.table.useCount(ordinal) !== use) throw new Error(`Failed to fire ${event}: its request has gone.`)
    this.table.writable(ordinal).next = 0
    switch (event) {
      case 'inference.ended':
        this.#end(ordinal, 'served', '', Number.POSITIVE_INFINITY)
        break
      default:
        assertHandled(event)
    }
  }

  /** Starts waiting requests after instances of a deployment became ready or loaded an adapter. */
  onCapacityAvailable(deployment: number): void {
    if (this.counts.queueOf(deployment)) this.#dispatch(deployment)
  }

  /** Breaks the requests that ran on a lost instance. */
  onInstanceLost(instance: number, reason: string): void {
    if (this.counts.onInstance(instance) === 0) return
    for (const [ordinal, row] of this.#sortedRows()) if (row.instance === instance) this.fail(ordinal, reason)
  }

  /** Returns the row of a request in flight; undefined if it has ended. */
  findWritable(ordinal: number): InferenceRow | undefined {
    return this.table.find(ordinal) && this.table.writable(ordinal)
  }

  /** Breaks a request in flight. */
  fail(ordinal: number, reason: string): void {
    if (this.table.find(ordinal)) this.#end(ordinal, 'broken', reason, 0)
  }

  /** Ends the requests that are billed by token after the account is cut off. It pays for the tokens so far. */
  onAccountCutOff(reason: string): void {
    for (const [ordinal, { plan }] of this.#sortedRows()) {
      if (plan.chargedModel !== '') this.#end(ordinal, 'cutOff', reason, 0)
    }
  }

  /** Rejects the requests that wait for a deployment or an adapter that stopped, failed, was deleted or was parked. */
  onDeploymentStopped(ordinal: number): void {
    const deployment = this.parts.deployments.read(ordinal)
    const { plan } = deployment
    const queue = this.counts.queueOf(plan.base >= 0 ? plan.base : ordinal)
    for (const waiting of [...(queue ?? [])]) {
      const row = this.table.read(waiting)
      if (plan.base >= 0 && row.plan.adapter !== ordinal) continue
      const phase = isTerminal(deployment.status) ? deployment.status : 'parked'
      this.#end(waiting, 'turnedAway', `model ${row.plan.model} is ${phase}, not running`, 0)
    }
  }

  /** Returns the number of requests that an instance of a deployment can run at once. */
  maxConcurrencyOf(row: Readonly<DeploymentRow>): number {
    return this.#serving.maxConcurrencyOf(row)
  }

  #indexAmongEqual(hash: string): number {
    const { now } = this.context.clock
    if (now !== this.#countedAt) {
      this.#countedAt = now
      this.#countsByHash.clear()
    }
    const index = this.#countsByHash.get(hash) ?? 0
    this.#countsByHash.set(hash, index + 1)
    return index
  }

  #sortedRows(): [number, Readonly<InferenceRow>][] {
    return [...this.table.entries()].sort(([, a], [, b]) => a.plan.sequence - b.plan.sequence)
  }

  #rebuildCounts(): void {
    this.counts.clear()
    for (const [ordinal, row] of this.#sortedRows()) this.counts.add(ordinal, row)
  }

  /** Starts waiting requests while instances have free capacity: first in, first out. */
  #dispatch(deployment: number): void {
    const { deployments, instances, nodes } = this.parts
    const row = deployments.read(deployment)
    if (isTerminal(row.status)) return
    const hardware = hardwareOf(row)
    for (const ordinal of [...(this.counts.queueOf(deployment) ?? [])]) {
      const waiting = this.table.read(ordinal)
      const instance = this.#serving.leastBusyInstance(row, waiting.plan.adapter)
      // A request that waits for its adapter does not block the requests behind it.
      if (instance < 0 && waiting.plan.adapter < 0) return
      if (instance < 0) continue
      const { slowdown } = nodes.read(instances.read(instance).node)
      this.counts.leaveQueue(deployment, ordinal)
      this.#start(
        ordinal,
        this.table.writable(ordinal),
        instance,
        waiting.plan.adapter < 0 ? hardware : withAdapter(hardware),
        slowdown,
      )
      this.counts.addToInstance(instance)
    }
  }

  #start(ordinal: number, row: InferenceRow, instance: number, hardware: InstanceHardware, slowdown: number): void {
    const { now } = this.context.clock
    row.instance = instance
    row.cachedBlocks = this.#serving.cachedBlocksOf(row)
    const { firstTokenTime, tokenTime } = this.#serving.paceOf(row, hardware)
    row.startedAt = now
    row.firstTokenAt = now + Math.round(firstTokenTime * slowdown * 1e6)
    row.tokenTime = tokenTime * slowdown * 1e6
    this.#serving.rememberPrompt(row)
    row.next = this.context.scheduleAt(row.endsAt, 'inference.ended', ordinal, this.table.useCount(ordinal))
    const handle = this.handles.get(ordinal)
    if (handle === undefined) return
    handle.startedAt = now
    handle.firstTokenAt = row.firstTokenAt
    handle.tokenTime = row.tokenTime
    handle.setState('running')
  }

  #end(ordinal: number, state: EndedState, reason: string, tokens: number): void {
    const row = this.table.writable(ordinal)
    const { plan, startedAt } = row
    this.context.cancel(row.next)
    row.next = 0
    const answeredTokens = answeredTokensOf(row, state, tokens, this.context.clock.now)
    const time = row.workTime(state, this.context.clock.now)
    const cost = costOfRequest(plan, state, startedAt >= 0, answeredTokens, time)
    const handle = this.handles.get(ordinal)
    this.#recordEnd(row, state, reason, answeredTokens, time, handle?.cause)
    this.#serving.countOnEngine(row, state, answeredTokens)
    this.counts.remove(ordinal, row)
    this.table.remove(ordinal)
    this.handles.delete(ordinal)
    if (cost) this.parts.ledger.chargeRequest(plan.chargedModel, cost, plan.token)
    if (startedAt >= 0) this.parts.access.onRequestEnded(row.id, plan.scope, cost)
    const { now } = this.context.clock
    const { outcome, work } = countedEnd(row, state, answeredTokens, now)
    for (const counting of countingRows(plan)) {
      this.parts.history.requests.onEnded(this.parts.deployments.writable(counting), now, outcome, work)
    }
    if (plan.deployment >= 0) {
      const { adapter, deployment } = plan
      if (adapter >= 0) this.parts.loraAdapters.slots.release(adapter)
      if (this.counts.queueOf(deployment)) this.#dispatch(deployment)
      this.parts.autoscaler.onRequestCountChanged(deployment, -1)
      if (!this.hasWorkFor(deployment)) this.parts.deployments.scaling.onWorkEnded(deployment)
    }
    if (plan.webhook) this.parts.webhooks.add(row.id, plan.webhook, webhookResultOf(row, state, cost, time))
    if (handle) handle.cost = cost
    handle?.setState(state, reason)
  }

  #recordEnd(row: InferenceRow, state: EndedState, reason: string, tokens: number, time: Micros, request = 0): void {
    const { model, promptTokens, work } = row.plan
    const isAnswered = state === 'served' || state === 'left'
    const fields = !isAnswered
      ? { model, reason }
      : work === undefined
        ? { model, prompt_tokens: promptTokens, completion_tokens: tokens }
        : { model, seconds: time / SECOND }
    // The end is an external command if no event caused it: the client got its answer or left.
    const { journal } = this.context
    if (journal.cause === 0) this.context.recordCommand(row, `inference.${state}`, fields, request || journal.origin)
    else this.context.record(row, `inference.${state}`, fields)
  }
}

/** Every field of a plan. A field that is optional may be undefined, but not missing. */
type CompletePlan = { readonly [Name in keyof Required<InferencePlan>]: InferencePlan[Name] }

/** Returns the fields of a request that never change. */
function createPlan(
  spec: InferenceSpec,
  { model, token, scope }: InferenceCaller,
  target: ModelTarget,
  { price, unitPrice }: PlanPrice,
  { key, arrivedAt, sequence }: Pick<InferencePlan, 'key' | 'arrivedAt' | 'sequence'>,
): CompletePlan {
  // Field by field: an object that grows behind a spread takes several times as long.
  return {
    model,
    prefix: spec.prefix,
    token,
    scope,
    hash: spec.hash,
    promptTokens: spec.promptTokens,
    promptBlocks: spec.promptBlocks,
    answerTokens: spec.answerTokens,
    longestAnswer: spec.longestAnswer,
    work: spec.work,
    isCut: spec.isCut,
    webhook: spec.webhook,
    key,
    name: target.name,
    deployment: target.kind === 'own' ? target.deployment : -1,
    adapter: target.adapter ?? -1,
    reference: target.kind === 'catalog' && target.adapter === undefined ? (target.row ?? -1) : -1,
    chargedModel: target.kind === 'catalog' ? target.model : '',
    price,
    unitPrice,
    arrivedAt,
    sequence,
  }
}
