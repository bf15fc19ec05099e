import type { Micros } from '../../kernel/duration.ts'
import { countsAgainstLimit, type RentalRow, type RentalState } from '../rental-row.ts'
import type { World } from '../world.ts'
import type { Broken } from './law.ts'

/** Where a state may go. A hosted instance starts again from `running` where its provider moves it to another machine. */
const HOSTED_EDGES: Readonly<Partial<Record<RentalState, readonly RentalState[]>>> = {
  creating: ['starting', 'stopped', 'failed', 'deleted'],
  starting: ['running', 'stopped', 'failed', 'deleted'],
  running: ['starting', 'stopping', 'failed'],
  // From `stopping` at once where funds have come back meanwhile, and the provider starts what lacked them.
  stopping: ['stopped', 'deleted', 'starting'],
  stopped: ['starting', 'deleted'],
  failed: ['starting', 'deleted'],
}
const CONTAINER_EDGES: typeof HOSTED_EDGES = {
  creating: ['starting', 'failed', 'deleted'],
  starting: ['running', 'failed', 'deleted'],
  running: ['shutting_down', 'failed'],
  shutting_down: ['deleted'],
  failed: ['deleted'],
}

/** What a rental was when it was looked at last. */
interface Seen {
  readonly state: RentalState
  readonly updatedAt: Micros
  readonly storageGb: number
}

/** Of I6, I7, I9, I14 and I18 what concerns hosted instances and containers. */
export class RentalLaws {
  readonly #world: World
  readonly #seen: (Seen | undefined)[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** @param billed units that its meter counts */
  wrote(row: Readonly<RentalRow>, ordinal: number, billed: number, broken: Broken): void {
    const before = this.#seen[ordinal]
    const who = `${row.kind} ${row.id}`
    this.#seen[ordinal] = { state: row.state, updatedAt: row.updatedAt, storageGb: row.storageGb }
    if (before !== undefined) this.#checkMove(row, before, who, broken)
    const { now } = this.#world.clock
    if (row.updatedAt > now || row.since > now) broken('I7', `${who} was changed at a time that is to come`, row.id)
    const { kind, node, ran, storageGb } = row
    if (!countsAgainstLimit(row.state) && (node >= 0 || ran || row.next !== 0)) {
      broken('I14', `${who} is ${row.state} and holds GPUs, or something is due`, row.id)
    }
    const billable = node >= 0 && (ran || this.#world.profile.policies.billFrom === 'placed') ? 1 : 0
    if (billed !== billable) {
      const law = billable < billed ? 'I14' : 'I9'
      broken(law, `${who} is billed for ${billed} units, ${billable} are billable`, row.id)
    }
    if (kind === 'hosted' && (storageGb > 512 || storageGb < (before?.storageGb ?? 20))) {
      const was = before === undefined ? '' : `, it had ${before.storageGb}`
      broken('I18', `${who} has ${storageGb} GB of storage${was}`, row.id)
    }
  }

  #checkMove(row: Readonly<RentalRow>, before: Seen, who: string, broken: Broken): void {
    const edges = row.kind === 'hosted' ? HOSTED_EDGES : CONTAINER_EDGES
    if (row.updatedAt < before.updatedAt) broken('I7', `${who} was changed before it was`, row.id)
    if (row.state === before.state) return
    if (!edges[before.state]?.includes(row.state)) {
      broken('I6', `${who} went from ${before.state} to ${row.state}`, row.id)
    }
    if (row.state === 'failed' && row.failReason === '') broken('I6', `${who} has failed and says no reason`, row.id)
    if (row.state === 'running' && row.failReason !== '') broken('I6', `${who} runs and says ${row.failReason}`, row.id)
  }
}
