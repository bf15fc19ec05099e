import type { Micros } from '../kernel/duration.ts'
import { purpose } from '../kernel/random.ts'
import { type Generation, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import type { GpuType } from '../store/records.ts'
import { type DeploymentRow, isOver } from './deployment-row.ts'
import type { EventName } from './events.ts'
import { type EndState, InferenceCall, type InferencePlan, InferenceRow, type InferenceSpec } from './inference-row.ts'
import { type InstanceSpeed, instanceSpeed, snapshot } from './serving.ts'
import { type Target, targetOf } from './targets.ts'
import type { World } from './world.ts'

const ID = purpose('inference.id')

/** Lengths that places are counted by where a deployment has no load of its own: those of a short chat (A). */
const TYPICAL_PROMPT = 500
const TYPICAL_ANSWER = 200

/** Why a request is turned away. */
export interface Turned {
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
interface Serving {
  readonly gpu: GpuType
  readonly gpus: number
  readonly parametersB: number
  readonly maxBatchSize: number
}

/**
 * Requests for answers, one by one, as instances serve them.
 *
 * An instance has so many places; who finds none waits in the queue of its deployment, first come, first served. The time
 * to the first token and that between two follow from GPU, model size and load, by the figures that offered load goes by.
 * Models of the catalog are served on shared capacity, which is never full.
 */
export class Inference {
  readonly #world: World
  readonly #table: Table<InferenceRow>
  /** Requests that were ever taken: the order of queues. */
  #taken: number
  /** What follows from the table. */
  readonly #inFlight = new Map<string, number>()
  readonly #queues = new Map<number, number[]>()
  readonly #onInstance = new Map<number, number>()
  readonly #onDeployment = new Map<number, number>()
  /** Doors that hold the client of a request, by its row: nothing of the world. */
  readonly #calls = new Map<number, InferenceCall>()
  /** How often a request was asked for at this moment: equal ones differ in their ids by it. */
  #moment: Micros = -1
  #asked = new Map<string, number>()

  constructor(world: World, from?: { table: Table<InferenceRow>; inference: Inference }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#taken = from === undefined ? 0 : from.inference.#taken
    if (!from) return
    const { inference } = from
    this.#moment = inference.#moment
    this.#asked = new Map(inference.#asked)
    this.#countAnew()
  }

  fork(world: World, theirs: Generation): Inference {
    return new Inference(world, { table: this.#table.fork(theirs, world.generation), inference: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#taken = tape.value(this.#taken)
    this.#moment = tape.value(this.#moment)
    this.#asked = new Map(tape.value([...this.#asked]))
    this.#countAnew()
  }

  entries(): Generator<[number, Readonly<InferenceRow>]> {
    return this.#table.entries()
  }

  /** Requests that are answered or wait, all together. */
  get underWay(): number {
    return this.#table.count
  }

  /** Requests that a deployment answers or that wait for it. */
  on(deployment: number): { readonly running: number; readonly waiting: number } {
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
  placeOf({ ordinal, plan }: InferenceCall): number {
    return this.#queues.get(plan.deployment)?.indexOf(ordinal) ?? -1
  }

  /** When an instance took a request on that waited; -1 while none has, undefined where it is over. */
  startOf({ ordinal, id }: InferenceCall): Micros | undefined {
    const row = this.#table.find(ordinal)
    return row?.id === id ? row.startedAt : undefined
  }

  /** Requests that an instance answers. */
  running(instance: number): number {
    return this.#onInstance.get(instance) ?? 0
  }

  /** Whether anybody is answered by a deployment, or waits for it. */
  workFor(deployment: number): boolean {
    return this.#onDeployment.has(deployment)
  }

  /** Why a request for a model would be turned away now; undefined where it would be taken. */
  refusal(model: string, token: string, target: Target | undefined = targetOf(this.#world, model)): Turned | undefined {
    const { profile, deployments, limits, autoscaler } = this.#world
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
    const { running, waiting } = this.on(target.deployment)
    const isFull = running > 0 || row.ready === 0
    if (isFull && waiting + autoscaler.served(row).backlog >= queuePerDeployment && !this.#hasRoom(row)) {
      return { status: 429, message: `${waiting} requests wait for ${model} already`, retryAfter: RETRY_AFTER.place }
    }
    // Nobody serves, nobody is on the way, and nobody may be asked for.
    const limit = limits.of(row.gpu)
    if (deployments.alive(target.deployment) === 0 && limit !== null && limits.held(row.gpu) + row.numGpus > limit) {
      const message = `no instance of ${model} may be started: the limit of ${row.gpu} is reached`
      return { status: 429, message, retryAfter: RETRY_AFTER.start }
    }
    return undefined
  }

  /** Takes a request on, which `refusal` must have let pass: it is answered from now on, or waits. */
  begin(spec: InferenceSpec, target: Target): InferenceCall {
    const world = this.#world
    const { now } = world.clock
    const key = world.chance.key('inference', `${spec.hash} ${now}`, this.#nthNow(spec.hash))
    const id = `${spec.prefix}${world.chance.letters(24, key, ID)}`
    const plan: InferencePlan = {
      ...spec,
      key,
      name: target.name,
      deployment: target.kind === 'own' ? target.deployment : -1,
      adapter: target.adapter ?? -1,
      charged: target.kind === 'catalog' ? target.model : '',
      priceShare: target.kind === 'catalog' ? target.priceShare : 0,
      arrivedAt: now,
      nth: this.#taken++,
    }
    const row = new InferenceRow(this.#table.generation, id, plan)
    const ordinal = this.#table.add(row)
    const use = this.#table.use(ordinal)
    const call = new InferenceCall(row, ordinal, (state, tokens) => {
      // Its slot may have been given to another request since.
      if (this.#table.use(ordinal) === use && this.#table.find(ordinal)) this.#end(ordinal, state, '', tokens)
    })
    this.#calls.set(ordinal, call)
    this.#countIn(ordinal, row)
    for (const one of [plan.deployment, plan.adapter]) {
      if (one >= 0) world.chronicle.requestCame(world.deployments.own(one))
    }
    if (plan.deployment < 0) {
      this.#start(ordinal, row, -1, this.#sharedServing(target), 1)
      return call
    }
    if (plan.adapter >= 0) world.adapters.slots.hold(plan.adapter)
    this.#dispatch(plan.deployment)
    if (this.#table.find(ordinal)?.startedAt === -1) {
      world.happened(this.#table.own(ordinal), 'inference.queued', {
        deployment: world.deployments.read(plan.deployment).id,
      })
      world.deployments.wake(plan.deployment)
    }
    world.deployments.workBegan(plan.deployment)
    world.autoscaler.pressed(plan.deployment, 1)
    return call
  }

  /** Its answer has come to its end. */
  fired(_event: EventName, ordinal: number, use: number): void {
    if (this.#table.use(ordinal) !== use) throw new Error('Failed to end an answer: its request has gone.')
    this.#table.own(ordinal).next = 0
    this.#end(ordinal, 'served', '', Number.POSITIVE_INFINITY)
  }

  /** Instances of a deployment came, or have an adapter loaded now: who waits may begin. */
  capacityCame(deployment: number): void {
    if (this.#queues.has(deployment)) this.#dispatch(deployment)
  }

  /** An instance is gone, and with it what it was answering. */
  instanceGone(instance: number, reason: string): void {
    if (!this.#onInstance.has(instance)) return
    for (const [ordinal, row] of this.#inOrder()) if (row.instance === instance) this.#end(ordinal, 'broken', reason, 0)
  }

  /** The account is cut off: what it pays by the token breaks off, and costs what was made so far. */
  accountCutOff(reason: string): void {
    for (const [ordinal, { plan }] of this.#inOrder()) {
      if (plan.charged !== '') this.#end(ordinal, 'cutOff', reason, 0)
    }
  }

  /** A deployment or an adapter stopped, failed or was deleted: who waits for it is turned away. */
  deploymentOver(ordinal: number): void {
    const { plan } = this.#world.deployments.read(ordinal)
    const queue = this.#queues.get(plan.base >= 0 ? plan.base : ordinal)
    for (const waiting of [...(queue ?? [])]) {
      const row = this.#table.read(waiting)
      if (plan.base >= 0 && row.plan.adapter !== ordinal) continue
      const { status } = this.#world.deployments.read(ordinal)
      this.#end(waiting, 'turnedAway', `model ${row.plan.model} is ${status}, not running`, 0)
    }
  }

  /** What an instance can do with the load that a deployment has, or with short chats. */
  speedOf({ load, gpu, numGpus: gpus, weights, maxBatchSize }: Readonly<DeploymentRow>): InstanceSpeed {
    return (
      load?.speed ??
      instanceSpeed({
        ...{ gpu, gpus, parametersB: weights.parametersB, maxBatchSize },
        ...{ promptTokens: TYPICAL_PROMPT, outputTokens: TYPICAL_ANSWER },
      })
    )
  }

  /** Requests that an instance of a deployment works on at once. */
  placesOf(row: Readonly<DeploymentRow>): number {
    const speed = this.speedOf(row)
    return Math.max(1, Math.floor(speed.requestsPerSecond * speed.requestTime))
  }

  #nthNow(hash: string): number {
    const { now } = this.#world.clock
    if (now !== this.#moment) {
      this.#moment = now
      this.#asked.clear()
    }
    const nth = this.#asked.get(hash) ?? 0
    this.#asked.set(hash, nth + 1)
    return nth
  }

  #inOrder(): [number, Readonly<InferenceRow>][] {
    return [...this.#table.entries()].sort(([, a], [, b]) => a.plan.nth - b.plan.nth)
  }

  #countAnew(): void {
    for (const counts of [this.#inFlight, this.#queues, this.#onInstance, this.#onDeployment]) counts.clear()
    for (const [ordinal, row] of this.#inOrder()) this.#countIn(ordinal, row)
  }

  #countIn(ordinal: number, { plan, instance, startedAt }: Readonly<InferenceRow>): void {
    add(this.#inFlight, inFlightKey(plan.name, plan.token), 1)
    if (plan.deployment < 0) return
    add(this.#onDeployment, plan.deployment, 1)
    if (startedAt < 0) this.#queues.set(plan.deployment, [...(this.#queues.get(plan.deployment) ?? []), ordinal])
    else add(this.#onInstance, instance, 1)
  }

  #leaveQueue(deployment: number, ordinal: number): void {
    const left = (this.#queues.get(deployment) ?? []).filter(other => other !== ordinal)
    if (left.length > 0) this.#queues.set(deployment, left)
    else this.#queues.delete(deployment)
  }

  #hasRoom(row: Readonly<DeploymentRow>): boolean {
    return this.#roomiest(row, -1) >= 0
  }

  /** The ready instance with the fewest requests that has a place left; -1 for none. */
  #roomiest(row: Readonly<DeploymentRow>, adapter: number): number {
    const { instances } = this.#world
    let best = -1
    let fewest = this.placesOf(row)
    for (const one of row.instances) {
      const instance = instances.read(one)
      if (instance.state !== 'ready') continue
      if (adapter >= 0 && !instance.adapters.some(each => each.adapter === adapter && each.loading === 0)) continue
      const running = this.running(one)
      if (running < fewest) {
        best = one
        fewest = running
      }
    }
    return best
  }

  /** Lets whoever waits begin, as far as there are places: first come, first served. */
  #dispatch(deployment: number): void {
    const { deployments, instances, nodes } = this.#world
    const row = deployments.read(deployment)
    if (isOver(row.status)) return
    for (const ordinal of [...(this.#queues.get(deployment) ?? [])]) {
      const waiting = this.#table.read(ordinal)
      const instance = this.#roomiest(row, waiting.plan.adapter)
      // Who waits for an adapter to be loaded holds up nobody else.
      if (instance < 0 && waiting.plan.adapter < 0) return
      if (instance < 0) continue
      const { gpu, numGpus: gpus, weights, maxBatchSize } = row
      const serving = { gpu, gpus, parametersB: weights.parametersB, maxBatchSize }
      const { slowdown } = nodes.read(instances.read(instance).node)
      this.#leaveQueue(deployment, ordinal)
      this.#start(ordinal, this.#table.own(ordinal), instance, serving, slowdown)
      add(this.#onInstance, instance, 1)
    }
  }

  #start(ordinal: number, row: InferenceRow, instance: number, serving: Serving, slowdown: number): void {
    const world = this.#world
    const { now } = world.clock
    const { promptTokens, longestAnswer } = row.plan
    const outputTokens = Math.max(1, longestAnswer)
    const speed = instanceSpeed({ ...serving, promptTokens, outputTokens })
    const delay = instance < 0 ? speed.firstTokenTime : this.#firstTokenDelay(row.plan.deployment, instance, speed)
    row.instance = instance
    row.startedAt = now
    row.firstTokenAt = now + Math.round(delay * slowdown * 1e6)
    row.tokenTime = speed.tokenTime * slowdown * 1e6
    const end = row.firstTokenAt + Math.ceil((outputTokens - 1) * row.tokenTime)
    row.next = world.planAt(end, 'inference.ended', ordinal, this.#table.use(ordinal))
    const call = this.#calls.get(ordinal)
    if (call === undefined) return
    call.startedAt = now
    call.firstTokenAt = row.firstTokenAt
    call.tokenTime = row.tokenTime
    call.became('running')
  }

  /** Seconds to the first token: behind the offered load that waits, and longer the busier the instance is. */
  #firstTokenDelay(deployment: number, instance: number, { firstTokenTime }: InstanceSpeed): number {
    const { deployments, autoscaler, clock } = this.#world
    const row = deployments.read(deployment)
    const own = this.running(instance) / this.placesOf(row)
    if (!row.load || row.servingShare === 0) return firstTokenTime * (1 + Math.min(1, own))
    const { backlog } = autoscaler.served(row)
    const { utilisation } = snapshot(row.load.curve.rateAt(clock.now), row.load.speed, row.servingShare, backlog)
    const waits = backlog / (row.servingShare * row.load.speed.requestsPerSecond)
    return waits + firstTokenTime * (1 + Math.min(1, own + utilisation))
  }

  /** Shared capacity is made of H100s: one for a small model, four up to 100B, eight beyond (A). */
  #sharedServing(target: Target): Serving {
    const name = target.kind === 'catalog' ? target.model : ''
    const parametersB = this.#world.store.models.get(name)?.parameters_b ?? 8
    const gpus = parametersB <= 20 ? 1 : parametersB <= 100 ? 4 : 8
    return { gpu: 'H100-80GB', gpus, parametersB, maxBatchSize: 96 }
  }

  #end(ordinal: number, state: EndState, reason: string, tokens: number): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    const { plan, instance, startedAt } = row
    world.cancel(row.next)
    row.next = 0
    const answered = this.#answered(row, state, tokens)
    this.#tell(row, state, reason, answered)
    add(this.#inFlight, inFlightKey(plan.name, plan.token), -1)
    if (plan.deployment >= 0) {
      add(this.#onDeployment, plan.deployment, -1)
      if (startedAt < 0) this.#leaveQueue(plan.deployment, ordinal)
      else add(this.#onInstance, instance, -1)
    }
    this.#table.remove(ordinal)
    const call = this.#calls.get(ordinal)
    this.#calls.delete(ordinal)
    if (plan.charged !== '' && startedAt >= 0) this.#charge(row, answered)
    const end = state === 'left' && startedAt < 0 ? 'abandoned' : state === 'cutOff' ? 'broken' : state
    const counted = { prompt: startedAt < 0 ? 0 : plan.promptTokens, answer: answered }
    for (const one of [plan.deployment, plan.adapter]) {
      if (one >= 0) world.chronicle.requestOver(world.deployments.own(one), end, counted)
    }
    if (plan.deployment >= 0) {
      if (plan.adapter >= 0) world.adapters.slots.drop(plan.adapter)
      if (this.#queues.has(plan.deployment)) this.#dispatch(plan.deployment)
      world.autoscaler.pressed(plan.deployment, -1)
      if (!this.workFor(plan.deployment)) world.deployments.workEnded(plan.deployment)
    }
    call?.became(state, reason)
  }

  /** Tokens of its answers that were made when it ended. */
  #answered(row: Readonly<InferenceRow>, state: string, tokens: number): number {
    const { answerTokens, longestAnswer } = row.plan
    if (state === 'served') return answerTokens
    if (row.startedAt < 0 || longestAnswer === 0) return 0
    const since = this.#world.clock.now - row.firstTokenAt
    const made = since < 0 ? 0 : Math.floor(since / row.tokenTime) + 1
    return Math.round(answerTokens * Math.min(1, Math.max(made, tokens) / longestAnswer))
  }

  #tell(row: InferenceRow, state: EndState, reason: string, tokens: number): void {
    const world = this.#world
    const { model, promptTokens } = row.plan
    const fields =
      state === 'served' || state === 'left'
        ? { model, prompt_tokens: promptTokens, completion_tokens: tokens }
        : { model, reason }
    // A client that has its answer, or leaves, does so at no request's bidding.
    if (world.journal.cause === 0) world.command(row, `inference.${state}`, fields)
    else world.happened(row, `inference.${state}`, fields)
  }

  #charge({ plan }: Readonly<InferenceRow>, answered: number): void {
    this.#world.ledger.chargeLiveTokens(plan.charged, plan.priceShare, plan.promptTokens, answered)
  }
}

function inFlightKey(name: string, token: string): string {
  return `${token} ${name}`
}

function add<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
