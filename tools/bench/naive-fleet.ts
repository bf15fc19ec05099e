/**
 * The baseline of the fleet: the same model as one writes it in an afternoon. Plain objects, a heap of them for what is
 * planned, and an autoscaler that looks at every deployment every ten seconds. Times are the medians of the profile.
 *
 * It lacks what the real one has beside: draws, digest, causes, forks, faults, queues, exact money.
 */

import type { Distribution } from '../../src/data/profiles/distribution.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
import type { Fixture } from '../../src/data/records/fixture.ts'
import { HOUR } from '../../src/kernel/duration.ts'
import { Chance } from '../../src/kernel/random.ts'
import { estimateWeights, instanceHardware } from '../../src/simulation/fleet/weights.ts'
import { InstanceEngine } from '../../src/simulation/load/engine.ts'
import { LoadCurve } from '../../src/simulation/load/load-curve.ts'
import { requiredInstances } from '../../src/simulation/load/serving.ts'
import { ObjectHeap } from './object-heap.ts'

const TICK = 10_000_000
const { timings, prices } = loadProfile('realistic')

/** What each stage of an instance's life is followed by, and after how long. */
const STAGES = ['placed', 'pulling', 'downloading', 'loading', 'warming', 'ready', 'gone'] as const

interface PlainNode {
  name: string
  gpus: number
  free: number
  repositories: string[]
}

interface PlainInstance {
  id: number
  deployment: PlainDeployment
  state: 'pending' | (typeof STAGES)[number] | 'draining'
  node: PlainNode | undefined
}

interface PlainDeployment {
  name: string
  repo: string
  bytes: number
  gpus: number
  /** What an instance costs from one look to the next. */
  centsPerTick: number
  min: number
  max: number
  curve: LoadCurve
  /** Requests/s at which each instance is held. */
  each: number
  desired: number
  leaning: number
  leaningSince: number
  instances: PlainInstance[]
}

export class NaiveFleet {
  readonly journal: { time: number; kind: string; subject: string; fields?: object }[] = []
  cents = 0
  #now = 0
  #serial = 0
  #named = 0
  readonly #heap = new ObjectHeap()
  readonly #nodes: PlainNode[] = []
  readonly #deployments: PlainDeployment[] = []
  readonly #instances = new Map<number, PlainInstance>()
  #waiting: PlainInstance[] = []

  constructor(fixture: Fixture) {
    for (const pool of fixture.nodes.pools) {
      for (const { prefix, count, gpus_per_node: gpus } of pool.nodes) {
        for (let i = 0; i < count; i++) this.#nodes.push({ name: `${prefix}-${i}`, gpus, free: gpus, repositories: [] })
      }
    }
    const chance = new Chance(1)
    for (const {
      model_name: name,
      num_gpus: gpus,
      gpu,
      max_batch_size,
      weights,
      settings,
      load,
    } of fixture.deployments) {
      const modelWeights = estimateWeights(weights!.repo)
      const { prompt_tokens: promptTokens, output_tokens: outputTokens } = load!
      const hardware = instanceHardware(modelWeights, gpu, gpus, { maxBatchSize: max_batch_size })
      const engine = new InstanceEngine({ ...hardware, promptTokens, outputTokens })
      const deployment: PlainDeployment = {
        name,
        repo: weights!.repo,
        bytes: modelWeights.bytes,
        gpus,
        centsPerTick: (gpus * prices.centsPerHour[gpu] * TICK) / HOUR,
        min: settings.min_instances,
        max: settings.max_instances,
        curve: new LoadCurve(load!, { chance, key: chance.key('deployment', name) }),
        each: engine.rateWith(timings.concurrencyTarget * engine.places),
        desired: settings.min_instances,
        leaning: 0,
        leaningSince: 0,
        instances: [],
      }
      this.#deployments.push(deployment)
      for (let i = 0; i < deployment.min; i++) this.#ask(deployment)
    }
  }

  /** Lives until `target`, in microseconds. */
  runTo(target: number): void {
    for (let tick = this.#now + TICK; tick <= target; tick += TICK) {
      while (this.#heap.nextTime <= tick) {
        const { time, kind, subject } = this.#heap.pop()!
        this.#now = time
        const instance = this.#instances.get(subject)
        if (instance !== undefined) this.#enter(instance, STAGES[kind]!)
      }
      this.#now = tick
      for (const deployment of this.#deployments) this.#scale(deployment)
    }
  }

  #scale(deployment: PlainDeployment): void {
    const rate = deployment.curve.rateAt(this.#now)
    const byLoad = requiredInstances(rate, deployment.each)
    const wanted = Math.min(deployment.max, Math.max(deployment.min, byLoad))
    const serving = deployment.instances.filter(({ state }) => state === 'ready' || state === 'draining').length
    this.cents += serving * deployment.centsPerTick
    const direction = Math.sign(wanted - deployment.desired)
    if (direction !== deployment.leaning) {
      deployment.leaning = direction
      deployment.leaningSince = this.#now
    }
    if (direction === 0) return
    const delay = direction > 0 ? timings.scaleUpDelay : timings.scaleDownDelay
    if (this.#now < deployment.leaningSince + delay) return
    const kind = direction > 0 ? 'deployment.scaledUp' : 'deployment.scaledDown'
    this.#happened(kind, deployment.name, { from: deployment.desired, to: wanted })
    deployment.desired = wanted
    deployment.leaning = 0
    const alive = deployment.instances.filter(({ state }) => state !== 'draining')
    for (let i = alive.length; i < wanted; i++) this.#ask(deployment)
    for (const instance of alive.slice(wanted)) {
      instance.state = 'draining'
      this.#happened('instance.draining', `${deployment.name}-${instance.id}`)
      this.#plan(timings.drain, 'gone', instance)
    }
  }

  #ask(deployment: PlainDeployment): void {
    const instance: PlainInstance = { id: this.#named++, deployment, state: 'pending', node: undefined }
    deployment.instances.push(instance)
    this.#instances.set(instance.id, instance)
    this.#happened('instance.pending', `${deployment.name}-${instance.id}`, { deployment: deployment.name })
    this.#waiting.push(instance)
    this.#place()
  }

  #place(): void {
    this.#waiting = this.#waiting.filter(instance => {
      const { gpus, repo } = instance.deployment
      let best: PlainNode | undefined
      for (const node of this.#nodes) {
        if (node.free < gpus || (best !== undefined && node.free > best.free)) continue
        const isCloser = best === undefined || node.free < best.free
        if (isCloser || (node.repositories.includes(repo) && !best!.repositories.includes(repo))) best = node
      }
      if (best === undefined) return true
      best.free -= gpus
      instance.node = best
      this.#plan(medianOf(timings.placementDelay), 'placed', instance)
      return false
    })
  }

  #enter(instance: PlainInstance, state: (typeof STAGES)[number]): void {
    const { deployment, node } = instance
    // It began to drain while it was still on its way.
    if (instance.state === 'draining' && state !== 'gone') return
    instance.state = state
    this.#happened(`instance.${state}`, `${deployment.name}-${instance.id}`, { node: node?.name })
    const isCached = node?.repositories.includes(deployment.repo) ?? false
    switch (state) {
      case 'placed':
        this.#plan(medianOf(timings.containerStart), 'pulling', instance)
        break
      case 'pulling':
        this.#plan(0, 'downloading', instance)
        break
      case 'downloading':
        this.#plan(isCached ? 0 : (deployment.bytes / 800e6) * 1e6, 'loading', instance)
        break
      case 'loading':
        if (!isCached) node?.repositories.push(deployment.repo)
        this.#plan(timings.loadFixed + (deployment.bytes / timings.loadRate) * 1e6, 'warming', instance)
        break
      case 'warming': {
        const { median, trace, compile, graphs } = timings.warmUp
        this.#plan(median + 32 * (trace + compile + graphs), 'ready', instance)
        break
      }
      case 'gone':
        deployment.instances = deployment.instances.filter(other => other !== instance)
        this.#instances.delete(instance.id)
        this.#waiting = this.#waiting.filter(other => other !== instance)
        if (node) node.free += deployment.gpus
        this.#place()
    }
  }

  #plan(delay: number, state: (typeof STAGES)[number], { id }: PlainInstance): void {
    this.#heap.push({ time: this.#now + delay, serial: this.#serial++, kind: STAGES.indexOf(state), subject: id })
  }

  #happened(kind: string, subject: string, fields?: object): void {
    this.journal.push({ time: this.#now, kind, subject, ...(fields && { fields }) })
    if (this.journal.length > 20_000) this.journal.splice(0, 10_000)
  }
}

/** Returns the median of a lognormal time, because the naive fleet has no draws. */
function medianOf(distribution: Distribution): number {
  return 'median' in distribution ? distribution.median : 0
}
