import type { Lifecycle } from '../../data/records/lifecycle.ts'
import type { Micros } from '../../kernel/duration.ts'
import { countsAgainstQuota, RENTAL_LIFECYCLES, type RentalRow, type RentalState } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'
import type { ReportViolation } from './invariant.ts'

/** What a rental was when it was looked at last. */
interface CheckedRental {
  readonly state: RentalState
  readonly updatedAt: Micros
  readonly storageGb: number
}

/** Of I6, I7, I9, I14 and I18 what concerns hosted instances and containers. */
export class RentalInvariants {
  readonly #world: World
  readonly #checked: (CheckedRental | undefined)[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** @param billedUnits units that its meter counts */
  onWrite(row: Readonly<RentalRow>, ordinal: number, billedUnits: number, report: ReportViolation): void {
    const before = this.#checked[ordinal]
    const subject = `${row.kind} ${row.id}`
    this.#checked[ordinal] = { state: row.state, updatedAt: row.updatedAt, storageGb: row.storageGb }
    if (before !== undefined) this.#checkTransition(row, before, subject, report)
    const { now } = this.#world.clock
    if (row.updatedAt > now || row.since > now) report('I7', `${subject} was changed at a time that is to come`, row.id)
    const { kind, isPlaced, hasBooted, storageGb } = row
    if (!countsAgainstQuota(row.state) && (isPlaced || hasBooted || row.next !== 0)) {
      report('I14', `${subject} is ${row.state} and has a machine or GPUs, or something is due`, row.id)
    }
    const billableUnits = isPlaced && (hasBooted || this.#world.profile.policies.billFrom === 'placed') ? 1 : 0
    if (billedUnits !== billableUnits) {
      const invariant = billableUnits < billedUnits ? 'I14' : 'I9'
      report(invariant, `${subject} is billed for ${billedUnits} units, ${billableUnits} are billable`, row.id)
    }
    if (kind === 'hosted' && (storageGb > 512 || storageGb < (before?.storageGb ?? 20))) {
      const was = before === undefined ? '' : `, it had ${before.storageGb}`
      report('I18', `${subject} has ${storageGb} GB of storage${was}`, row.id)
    }
  }

  #checkTransition(row: Readonly<RentalRow>, before: CheckedRental, subject: string, report: ReportViolation): void {
    const lifecycle: Pick<Lifecycle<RentalState>, 'has' | 'next'> = RENTAL_LIFECYCLES[row.kind]
    if (row.updatedAt < before.updatedAt) report('I7', `${subject} was changed before it was`, row.id)
    if (row.state === before.state) return
    if (!lifecycle.has(before.state) || !lifecycle.next(before.state).includes(row.state)) {
      report('I6', `${subject} went from ${before.state} to ${row.state}`, row.id)
    }
    if (row.state === 'failed' && row.failReason === '')
      report('I6', `${subject} has failed and says no reason`, row.id)
    if (row.state === 'running' && row.failReason !== '')
      report('I6', `${subject} runs and says ${row.failReason}`, row.id)
  }
}
