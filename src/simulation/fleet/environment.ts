import { type GpuType, gpuIndex } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'

/** What is wrong with the world around the nodes: plain values, replaced and never edited, so that forks share them. */
interface EnvironmentState {
  /** GPU types of which none is handed out, as bits. */
  readonly stockedOut: number
  readonly hubDown: boolean
  /** Downloads run at this share of their rate. */
  readonly hubShare: number
  /** Repositories whose state was changed by hand. */
  readonly repositoryStates: ReadonlyMap<string, RepositoryState>
  readonly registryDown: boolean
  readonly autoscalerFrozen: boolean
  /** Zones that are away. */
  readonly zonesDown: ReadonlySet<string>
  /** Provisioning takes this many times as long. */
  readonly provisioningFactor: number
}

/** `gated` requires a token, `open` does not, `missing` answers 404. */
export type RepositoryState = 'gated' | 'open' | 'missing'

const HEALTHY: EnvironmentState = {
  stockedOut: 0,
  hubDown: false,
  hubShare: 1,
  repositoryStates: new Map(),
  registryDown: false,
  autoscalerFrozen: false,
  zonesDown: new Set(),
  provisioningFactor: 1,
}

/** The hub, the image registry, the stock of GPUs, the autoscaler: up, or not. */
export class Environment {
  #state = HEALTHY

  archive(archive: Archive): void {
    this.#state = archive.value(this.#state)
  }

  get state(): EnvironmentState {
    return this.#state
  }

  isStockedOut(gpu: GpuType): boolean {
    return (this.#state.stockedOut & (1 << gpuIndex(gpu))) !== 0
  }

  isZoneDown(zone: string): boolean {
    return this.#state.zonesDown.has(zone)
  }

  repositoryState(repo: string): RepositoryState | undefined {
    return this.#state.repositoryStates.get(repo)
  }

  /** Changes some of it; false when that changes nothing. */
  update(change: Partial<Omit<EnvironmentState, 'stockedOut' | 'zonesDown' | 'repositoryStates'>>): boolean {
    const next = { ...this.#state, ...change }
    const isUnchanged = (Object.keys(change) as (keyof typeof change)[]).every(name => next[name] === this.#state[name])
    this.#state = next
    return !isUnchanged
  }

  setStock(gpu: GpuType, inStock: boolean): boolean {
    const bit = 1 << gpuIndex(gpu)
    if (this.isStockedOut(gpu) === !inStock) return false
    this.#state = { ...this.#state, stockedOut: this.#state.stockedOut ^ bit }
    return true
  }

  setZone(zone: string, isUp: boolean): void {
    const zonesDown = new Set(this.#state.zonesDown)
    if (isUp) zonesDown.delete(zone)
    else zonesDown.add(zone)
    this.#state = { ...this.#state, zonesDown }
  }

  setRepository(repo: string, state: RepositoryState): boolean {
    if (this.repositoryState(repo) === state) return false
    this.#state = { ...this.#state, repositoryStates: new Map(this.#state.repositoryStates).set(repo, state) }
    return true
  }
}
