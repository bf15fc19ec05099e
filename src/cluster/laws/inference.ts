import { isOver } from '../deployment-row.ts'
import type { InferenceRow } from '../inference-row.ts'
import type { World } from '../world.ts'
import type { Broken } from './law.ts'

/** What a request in flight was when it was looked at last. */
interface Seen {
  readonly id: string
  readonly deployment: number
  readonly adapter: number
  /** -1 while it waits. */
  readonly instance: number
}

/** I21: who answers how many requests, and who waits. Shared capacity, which is never full, is none of it. */
export class InferenceLaws {
  readonly #world: World
  readonly #seen = new Map<number, Seen>()
  readonly #onInstance = new Map<number, Set<number>>()
  readonly #waiting = new Map<number, Set<number>>()
  /** Deployments of which something has changed. */
  readonly #touched = new Set<number>()

  constructor(world: World) {
    this.#world = world
  }

  /** Something of a deployment has changed that requests go by: itself, an instance of it. */
  touch(deployment: number): void {
    this.#touched.add(deployment)
  }

  wrote(row: Readonly<InferenceRow>, ordinal: number, broken: Broken): void {
    this.removed(ordinal)
    const { id, plan, instance, startedAt, next } = row
    // An answer that is under way comes to an end by itself; a request that waits is brought on by what it waits for.
    if (startedAt >= 0 !== (next !== 0)) broken('I21', `request ${id} is answered, and its end is not planned`, id)
    if (startedAt > this.#world.clock.now) broken('I21', `request ${id} was begun at a time that is to come`, id)
    if (plan.deployment < 0) return
    const { deployment, adapter } = plan
    this.#seen.set(ordinal, { id, deployment, adapter, instance: startedAt < 0 ? -1 : instance })
    put(startedAt < 0 ? this.#waiting : this.#onInstance, startedAt < 0 ? deployment : instance, ordinal)
    this.touch(deployment)
  }

  removed(ordinal: number): void {
    const before = this.#seen.get(ordinal)
    if (before === undefined) return
    this.#seen.delete(ordinal)
    take(this.#waiting, before.deployment, ordinal)
    take(this.#onInstance, before.instance, ordinal)
    this.touch(before.deployment)
  }

  settle(broken: Broken): void {
    for (const deployment of this.#touched) this.#settleOne(deployment, broken)
    this.#touched.clear()
  }

  #settleOne(ordinal: number, broken: Broken): void {
    const { deployments, instances, inference } = this.#world
    const row = deployments.read(ordinal)
    // An adapter has neither instances nor GPUs of its own.
    const places = row.instances.length === 0 ? 0 : inference.placesOf(row)
    const waiting = this.#waiting.get(ordinal) ?? new Set()
    let running = 0
    for (const one of row.instances) {
      const answered = this.#onInstance.get(one)?.size ?? 0
      running += answered
      const { id, state, adapters } = instances.read(one)
      if (answered > places) broken('I21', `instance ${id} answers ${answered} requests in ${places} places`, id)
      if (answered !== inference.running(one)) {
        broken('I21', `instance ${id} answers ${answered} requests and counts ${inference.running(one)}`, id)
      }
      if (answered > 0 && state !== 'ready' && state !== 'draining') {
        broken('I21', `instance ${id} is ${state} and answers ${answered} requests`, id)
      }
      if (state !== 'ready' || answered >= places || isOver(row.status)) continue
      const kept = [...waiting].map(each => this.#seen.get(each)!)
      const held = kept.find(
        ({ adapter }) => adapter < 0 || adapters.some(each => each.adapter === adapter && each.loading === 0),
      )
      if (held !== undefined) {
        broken('I21', `request ${held.id} waits, and instance ${id} has ${places - answered} places free`, held.id)
      }
    }
    const told = inference.on(ordinal)
    if (told.running !== running || told.waiting !== waiting.size) {
      const is = `${running} requests are answered and ${waiting.size} wait`
      broken('I21', `of ${row.id} ${is}, it counts ${told.running} and ${told.waiting}`, row.id)
    }
    if (waiting.size > 0 && isOver(row.status)) {
      broken('I21', `deployment ${row.id} is ${row.status}, and ${waiting.size} requests wait for it`, row.id)
    }
  }
}

function put(sets: Map<number, Set<number>>, key: number, value: number): void {
  const set = sets.get(key) ?? new Set()
  set.add(value)
  sets.set(key, set)
}

function take(sets: Map<number, Set<number>>, key: number, value: number): void {
  const set = sets.get(key)
  if (set?.delete(value) && set.size === 0) sets.delete(key)
}
