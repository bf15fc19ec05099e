import { isTerminal } from '../deployments/deployment-row.ts'
import type { InferenceRow } from '../inference/request-row.ts'
import { type ReportViolation, WorldInvariants } from './invariant.ts'

/** What a request in flight was when it was looked at last. */
interface CheckedRequest {
  readonly id: string
  readonly deployment: number
  readonly adapter: number
  /** -1 while it waits. */
  readonly instance: number
}

/** I21: the running and pending requests of each instance. Shared capacity is never full and is not checked. */
export class InferenceInvariants extends WorldInvariants {
  readonly #checked = new Map<number, CheckedRequest>()
  readonly #onInstance = new Map<number, Set<number>>()
  readonly #waiting = new Map<number, Set<number>>()
  /** Deployments of which something has changed. */
  readonly #changedDeployments = new Set<number>()

  /** Something of a deployment has changed that requests go by: itself, an instance of it. */
  markChanged(deployment: number): void {
    this.#changedDeployments.add(deployment)
  }

  onWrite(row: Readonly<InferenceRow>, ordinal: number, report: ReportViolation): void {
    this.onRemove(ordinal)
    const { id, plan, instance, startedAt, next } = row
    // An answer that is under way comes to an end by itself; a request that waits is brought on by what it waits for.
    if (startedAt >= 0 !== (next !== 0)) report('I21', `request ${id} is answered, and its end is not planned`, id)
    if (startedAt > this.world.clock.now) report('I21', `request ${id} was begun at a time that is to come`, id)
    if (plan.deployment < 0) return
    const { deployment, adapter } = plan
    this.#checked.set(ordinal, { id, deployment, adapter, instance: startedAt < 0 ? -1 : instance })
    addTo(startedAt < 0 ? this.#waiting : this.#onInstance, startedAt < 0 ? deployment : instance, ordinal)
    this.markChanged(deployment)
  }

  onRemove(ordinal: number): void {
    const before = this.#checked.get(ordinal)
    if (before === undefined) return
    this.#checked.delete(ordinal)
    removeFrom(this.#waiting, before.deployment, ordinal)
    removeFrom(this.#onInstance, before.instance, ordinal)
    this.markChanged(before.deployment)
  }

  verify(report: ReportViolation): void {
    for (const deployment of this.#changedDeployments) this.#verifyDeployment(deployment, report)
    this.#changedDeployments.clear()
  }

  #verifyDeployment(ordinal: number, report: ReportViolation): void {
    const { deployments, instances, inferenceRequests } = this.world
    const row = deployments.read(ordinal)
    // An adapter has neither instances nor GPUs of its own.
    const places = row.instances.length === 0 ? 0 : inferenceRequests.maxConcurrencyOf(row)
    const waiting = this.#waiting.get(ordinal) ?? new Set()
    let running = 0
    for (const instance of row.instances) {
      const answered = this.#onInstance.get(instance)?.size ?? 0
      running += answered
      const { id, state, adapters } = instances.read(instance)
      if (answered > places) report('I21', `instance ${id} answers ${answered} requests in ${places} places`, id)
      const counted = inferenceRequests.running(instance)
      if (answered !== counted) report('I21', `instance ${id} answers ${answered} requests and counts ${counted}`, id)
      if (answered > 0 && state !== 'ready' && state !== 'draining') {
        report('I21', `instance ${id} is ${state} and answers ${answered} requests`, id)
      }
      if (state !== 'ready' || answered >= places || isTerminal(row.status)) continue
      const waitingRequests = [...waiting].map(each => this.#checked.get(each)!)
      const servableRequest = waitingRequests.find(
        ({ adapter }) => adapter < 0 || adapters.some(each => each.adapter === adapter && each.loadEvent === 0),
      )
      if (servableRequest !== undefined) {
        const { id: waits } = servableRequest
        report('I21', `request ${waits} waits, and instance ${id} has ${places - answered} places free`, waits)
      }
    }
    const counted = inferenceRequests.countsOfDeployment(ordinal)
    if (counted.running !== running || counted.waiting !== waiting.size) {
      const is = `${running} requests are answered and ${waiting.size} wait`
      report('I21', `of ${row.id} ${is}, it counts ${counted.running} and ${counted.waiting}`, row.id)
    }
    if (waiting.size > 0 && isTerminal(row.status)) {
      report('I21', `deployment ${row.id} is ${row.status}, and ${waiting.size} requests wait for it`, row.id)
    }
  }
}

function addTo(sets: Map<number, Set<number>>, key: number, value: number): void {
  sets.set(key, (sets.get(key) ?? new Set<number>()).add(value))
}

function removeFrom(sets: Map<number, Set<number>>, key: number, value: number): void {
  const set = sets.get(key)
  if (set?.delete(value) && set.size === 0) sets.delete(key)
}
