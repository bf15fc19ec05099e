import { type Generation, Row, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import { GPU_TYPES, type GpuType } from '../store/records.ts'
import type { EventName } from './events.ts'
import { gpuIndex } from './gpus.ts'
import type { World } from './world.ts'

/** A request for a higher GPU limit, decided after a review. */
export class LimitRequestRow extends Row {
  readonly gpu: GpuType
  readonly requested: number
  readonly reason: string
  decision: 'pending' | 'approved' | 'denied' = 'pending'
  /** The end of its review. */
  next = 0

  constructor(generation: Generation, id: string, gpu: GpuType, requested: number, reason: string) {
    super(generation, id)
    this.gpu = gpu
    this.requested = requested
    this.reason = reason
  }

  copy(generation: Generation): LimitRequestRow {
    const copy = new LimitRequestRow(generation, this.id, this.gpu, this.requested, this.reason)
    copy.decision = this.decision
    copy.next = this.next
    return copy.takeHash(this)
  }
}

/** How many GPUs of each type the account may hold, and how many it holds or has asked for. */
export class GpuLimits {
  readonly #world: World
  readonly #table: Table<LimitRequestRow>
  /** By type; -1 means no limit. */
  #limit: Int32Array
  #held: Int32Array
  /** Types for which somebody was held back, as bits. */
  #heldBack: number

  constructor(world: World, from?: { table: Table<LimitRequestRow>; limits: GpuLimits }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#limit = from
      ? from.limits.#limit.slice()
      : new Int32Array(GPU_TYPES.length).fill(world.profile.limits.defaultGpuLimit ?? -1)
    this.#held = from ? from.limits.#held.slice() : new Int32Array(GPU_TYPES.length)
    this.#heldBack = from ? from.limits.#heldBack : 0
  }

  fork(world: World, theirs: Generation): GpuLimits {
    return new GpuLimits(world, { table: this.#table.fork(theirs, world.generation), limits: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#limit = tape.value(this.#limit)
    this.#held = tape.value(this.#held)
    this.#heldBack = tape.value(this.#heldBack)
  }

  /** The limit of a type; null means none. */
  of(gpu: GpuType): number | null {
    const limit = this.#limit[gpuIndex(gpu)]!
    return limit < 0 ? null : limit
  }

  /** GPUs of a type that the account holds or has asked for. */
  held(gpu: GpuType): number {
    return this.#held[gpuIndex(gpu)]!
  }

  /** Whether the account may have this many more; asking changes nothing. */
  hasRoom(gpu: GpuType, gpus: number): boolean {
    const limit = this.of(gpu)
    return limit === null || this.held(gpu) + gpus <= limit
  }

  /** Whether the account may have this many more. Who is told no here is told when some are given back. */
  allows(gpu: GpuType, gpus: number): boolean {
    if (this.hasRoom(gpu, gpus)) return true
    this.#heldBack |= 1 << gpuIndex(gpu)
    return false
  }

  hold(gpu: GpuType, gpus: number): void {
    const index = gpuIndex(gpu)
    this.#held[index] = this.#held[index]! + gpus
  }

  release(gpu: GpuType, gpus: number): void {
    const index = gpuIndex(gpu)
    this.#held[index] = this.#held[index]! - gpus
    if (this.#heldBack & (1 << index)) this.#tellHeldBack(index)
  }

  /** Sets the limit of a type; null means none. */
  set(gpu: GpuType, limit: number | null): void {
    const index = gpuIndex(gpu)
    this.#limit[index] = limit ?? -1
    if (this.#heldBack & (1 << index)) this.#tellHeldBack(index)
  }

  /** The same, by the user of the simulator: a fault or its repair. */
  command(gpu: GpuType, limit: number | null): void {
    this.#world.command(this.#world.ledger.account, 'limit.set', { gpu, limit })
    this.set(gpu, limit)
  }

  /** The requests for higher limits, in the order in which they were filed. */
  entries(): Generator<[number, Readonly<LimitRequestRow>]> {
    return this.#table.entries()
  }

  pending(gpu: GpuType): boolean {
    return this.requested(gpu) !== undefined
  }

  /** The limit that a pending request asks for. */
  requested(gpu: GpuType): number | undefined {
    for (const [, row] of this.#table.entries()) if (row.gpu === gpu && row.decision === 'pending') return row.requested
    return undefined
  }

  /** Files a request; the review decides it later. */
  request(gpu: GpuType, requested: number, reason: string): void {
    const world = this.#world
    const key = world.newKey('limit', gpu)
    const id = `limit_${world.chance.letters(24, key, 0)}`
    const row = new LimitRequestRow(this.#table.generation, id, gpu, requested, reason)
    const ordinal = this.#table.add(row)
    world.happened(row, 'limit.requested', { gpu, requested_limit: requested })
    const { limitReview, limitPolicy } = world.profile.reviews
    if (limitPolicy !== 'manual') row.next = world.plan(limitReview, 'limit.decided', ordinal)
    world.seen()
  }

  on(event: EventName, subject: number): void {
    if (event === 'limit.decided') this.#decide(subject)
    else this.#freed(subject)
  }

  /** Decides the pending request for a type by hand; false when there is none. */
  settle(gpu: GpuType, decision: 'approved' | 'denied'): boolean {
    for (const [ordinal, row] of this.#table.entries()) {
      if (row.gpu !== gpu || row.decision !== 'pending') continue
      this.#world.cancel(row.next)
      this.#settle(this.#table.own(ordinal), decision)
      return true
    }
    return false
  }

  #decide(ordinal: number): void {
    const { limitApprovedUpTo, limitPolicy } = this.#world.profile.reviews
    const row = this.#table.own(ordinal)
    const approved = limitPolicy === 'approve' && row.requested <= limitApprovedUpTo
    this.#settle(row, approved ? 'approved' : 'denied')
  }

  #settle(row: LimitRequestRow, decision: 'approved' | 'denied'): void {
    const world = this.#world
    row.next = 0
    row.decision = decision
    world.happened(row, `limit.${row.decision}`, { gpu: row.gpu, requested_limit: row.requested })
    const present = this.of(row.gpu)
    if (row.decision === 'approved' && present !== null && row.requested > present) this.set(row.gpu, row.requested)
    world.seen()
  }

  #freed(index: number): void {
    this.#heldBack &= ~(1 << index)
    this.#world.deployments.limitRaised(GPU_TYPES[index]!)
  }

  #tellHeldBack(index: number): void {
    this.#heldBack &= ~(1 << index)
    this.#world.plan(0, 'limit.freed', index)
  }
}
