import { draw } from '../../data/profiles/distribution.ts'
import { GPU_TYPES, type GpuType, gpuIndex } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'
import { purpose } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import { assertHandled, type EventOf } from '../events.ts'
import { TablePart } from '../part.ts'
import type { LedgerParts } from './ledger.ts'
import type { AccountObserver } from './ledger-types.ts'

const REVIEW = purpose('limit.review')

/** A request for a higher GPU limit, decided after a review. */
export class QuotaRequestRow extends Row {
  declare readonly gpu: GpuType
  declare readonly requested: number
  declare readonly reason: string
  decision = this.reference<'pending' | 'approved' | 'denied'>('pending')
  /** The end of its review. */
  reviewEvent = this.number(0)

  constructor(generation: Generation, id: string, initial: Pick<QuotaRequestRow, 'gpu' | 'requested' | 'reason'>) {
    super(generation, id)
    this.gpu = this.reference(initial.gpu)
    this.requested = this.number(initial.requested)
    this.reason = this.reference(initial.reason)
  }
}

/** How many GPUs of each type the account may hold, and how many it holds or has asked for. */
export class GpuQuotas extends TablePart<QuotaRequestRow, LedgerParts, AccountObserver> {
  protected readonly table = this.tableOf(QuotaRequestRow)
  /** By type; -1 means no limit. */
  #quotas = new Int32Array(GPU_TYPES.length).fill(this.context.profile.limits.defaultGpuLimit ?? -1)
  #held = new Int32Array(GPU_TYPES.length)
  /** GPU types for which a tenant was refused, as bits. */
  #waitingTypes = 0

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#quotas = archive.own(this.#quotas)
    this.#held = archive.own(this.#held)
    this.#waitingTypes = archive.value(this.#waitingTypes)
  }

  /** The limit of a type; null means none. */
  get(gpu: GpuType): number | null {
    const quota = this.#quotas[gpuIndex(gpu)]!
    return quota < 0 ? null : quota
  }

  /** GPUs of a type that the account holds or has asked for. */
  held(gpu: GpuType): number {
    return this.#held[gpuIndex(gpu)]!
  }

  /** Whether the account may have this many more; asking changes nothing. */
  hasRoom(gpu: GpuType, gpus: number): boolean {
    const quota = this.get(gpu)
    return quota === null || this.held(gpu) + gpus <= quota
  }

  /** Whether the account may hold this many more. After a refusal, the observer learns of released GPUs. */
  hasRoomOrWaits(gpu: GpuType, gpus: number): boolean {
    if (this.hasRoom(gpu, gpus)) return true
    this.#waitingTypes |= 1 << gpuIndex(gpu)
    return false
  }

  acquire(gpu: GpuType, gpus: number): void {
    const index = gpuIndex(gpu)
    this.#held[index] = this.#held[index]! + gpus
  }

  release(gpu: GpuType, gpus: number): void {
    const index = gpuIndex(gpu)
    this.#held[index] = this.#held[index]! - gpus
    if (this.#waitingTypes & (1 << index)) this.#scheduleFreed(index)
  }

  /** Sets the limit of a type; null means none. */
  set(gpu: GpuType, quota: number | null): void {
    const index = gpuIndex(gpu)
    this.#quotas[index] = quota ?? -1
    if (this.#waitingTypes & (1 << index)) this.#scheduleFreed(index)
  }

  /** The same, by the user of the simulator: a fault or its repair. */
  setByCommand(gpu: GpuType, limit: number | null): void {
    this.context.recordCommand(this.parts.ledger.account, 'limit.set', { gpu, limit })
    this.set(gpu, limit)
  }

  hasPendingRequest(gpu: GpuType): boolean {
    return this.pendingQuota(gpu) !== undefined
  }

  /** The limit that a pending request asks for. */
  pendingQuota(gpu: GpuType): number | undefined {
    for (const [, row] of this.table.entries()) if (row.gpu === gpu && row.decision === 'pending') return row.requested
    return undefined
  }

  /** Files a request; the review decides it later. */
  fileRequest(gpu: GpuType, requested: number, reason: string): void {
    const key = this.context.newKey('limit', gpu)
    const id = `limit_${this.context.chance.letters(24, key, 0)}`
    const row = new QuotaRequestRow(this.table.generation, id, { gpu, requested, reason })
    const ordinal = this.table.add(row)
    this.context.record(row, 'limit.requested', { gpu, requested_limit: requested })
    const { chance, profile } = this.context
    if (profile.reviews.limitPolicy !== 'manual') {
      const duration = draw(profile.reviews.limitReview, chance, key, REVIEW)
      row.reviewEvent = this.context.schedule(duration, 'limit.decided', ordinal)
    }
    this.context.markVisibleChange()
  }

  /** Decides the pending request for a type by command. Returns false if no request is pending. */
  decideByCommand(gpu: GpuType, decision: 'approved' | 'denied'): boolean {
    for (const [ordinal, row] of this.table.entries()) {
      if (row.gpu !== gpu || row.decision !== 'pending') continue
      this.context.cancel(row.reviewEvent)
      this.#applyDecision(this.table.writable(ordinal), decision)
      return true
    }
    return false
  }

  /** Denies all pending requests, because the account is deleted. */
  withdrawRequests(): void {
    for (const [ordinal, { decision, reviewEvent }] of [...this.table.entries()]) {
      if (decision !== 'pending') continue
      this.context.cancel(reviewEvent)
      this.#applyDecision(this.table.writable(ordinal), 'denied')
    }
  }

  onEvent(event: EventOf<'gpuQuotas'>, subject: number): void {
    switch (event) {
      case 'limit.decided':
        this.#decideByPolicy(subject)
        break
      case 'limit.freed':
        this.#onFreed(subject)
        break
      default:
        assertHandled(event)
    }
  }

  #decideByPolicy(ordinal: number): void {
    const { limitApprovedUpTo, limitPolicy } = this.context.profile.reviews
    const row = this.table.writable(ordinal)
    const approved = limitPolicy === 'approve' && row.requested <= limitApprovedUpTo
    this.#applyDecision(row, approved ? 'approved' : 'denied')
  }

  #applyDecision(row: QuotaRequestRow, decision: 'approved' | 'denied'): void {
    row.reviewEvent = 0
    row.decision = decision
    this.context.record(row, `limit.${row.decision}`, { gpu: row.gpu, requested_limit: row.requested })
    const currentQuota = this.get(row.gpu)
    if (row.decision === 'approved' && currentQuota !== null && row.requested > currentQuota)
      this.set(row.gpu, row.requested)
    this.context.markVisibleChange()
  }

  #onFreed(index: number): void {
    this.#waitingTypes &= ~(1 << index)
    this.ports.onQuotaAvailable(GPU_TYPES[index]!)
  }

  #scheduleFreed(index: number): void {
    this.#waitingTypes &= ~(1 << index)
    this.context.schedule(0, 'limit.freed', index)
  }
}
