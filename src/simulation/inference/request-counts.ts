import type { InferencePlan, InferenceRow } from './request-row.ts'

/**
 * Counts and queues of the requests in flight. They follow from the table of requests and are never archived. A count of
 * 0 and an empty queue stay: a Map that loses its last entry shrinks, and most requests are alone.
 */
export class RequestCounts {
  /** By the token of the caller, then by the full name of the model. */
  readonly #inFlight = new Map<string, Map<string, number>>()
  readonly #queues = new Map<number, number[]>()
  readonly #onInstance = new Map<number, number>()
  readonly #onDeployment = new Map<number, number>()

  clear(): void {
    for (const counts of [this.#inFlight, this.#queues, this.#onInstance, this.#onDeployment]) counts.clear()
  }

  /** Counts a request. A request that has not started enters the queue of its deployment. */
  add(ordinal: number, { plan, instance, startedAt }: Readonly<InferenceRow>): void {
    this.#adjustInFlight(plan, 1)
    if (plan.deployment < 0) return
    adjustCount(this.#onDeployment, plan.deployment, 1)
    if (startedAt < 0) this.#queues.set(plan.deployment, [...(this.#queues.get(plan.deployment) ?? []), ordinal])
    else adjustCount(this.#onInstance, instance, 1)
  }

  /** Counts a started request on its instance. */
  addToInstance(instance: number): void {
    adjustCount(this.#onInstance, instance, 1)
  }

  remove(ordinal: number, { plan, instance, startedAt }: Readonly<InferenceRow>): void {
    this.#adjustInFlight(plan, -1)
    if (plan.deployment < 0) return
    adjustCount(this.#onDeployment, plan.deployment, -1)
    if (startedAt < 0) this.leaveQueue(plan.deployment, ordinal)
    else adjustCount(this.#onInstance, instance, -1)
  }

  /** Returns the number of requests of a token to a model in flight. */
  inFlight(model: string, token: string): number {
    return this.#inFlight.get(token)?.get(model) ?? 0
  }

  #adjustInFlight({ token, name }: InferencePlan, change: number): void {
    let counts = this.#inFlight.get(token)
    if (counts === undefined) {
      counts = new Map()
      this.#inFlight.set(token, counts)
    }
    adjustCount(counts, name, change)
  }

  /** Returns the ordinals of the requests that wait for a deployment, in order; undefined if none waits. */
  queueOf(deployment: number): readonly number[] | undefined {
    const queue = this.#queues.get(deployment)
    return queue?.length ? queue : undefined
  }

  /** Returns the number of requests that run on an instance. */
  onInstance(instance: number): number {
    return this.#onInstance.get(instance) ?? 0
  }

  /** Returns the number of requests that run on a deployment or wait for it. */
  onDeployment(deployment: number): number {
    return this.#onDeployment.get(deployment) ?? 0
  }

  /** The number of waiting requests of all deployments. */
  get waiting(): number {
    let waiting = 0
    for (const queue of this.#queues.values()) waiting += queue.length
    return waiting
  }

  /** Removes a request from the queue of its deployment. */
  leaveQueue(deployment: number, ordinal: number): void {
    const queue = this.#queues.get(deployment)
    if (queue)
      this.#queues.set(
        deployment,
        queue.filter(other => other !== ordinal),
      )
  }
}

function adjustCount<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  counts.set(key, (counts.get(key) ?? 0) + change)
}
