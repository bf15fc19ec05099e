import { purpose } from '../../kernel/random.ts'
import type { SimulationContext } from '../context.ts'
import type { RentalKind, RentalRow, RentalState } from './rental-row.ts'
import type { Rentals } from './rentals.ts'

const ADDRESS = purpose('rental.address')
/** The number of addresses in 198.18.0.0/15, a range for tests that no machine of the internet has. */
const ADDRESSES = 2 ** 17

/** A rental for code outside the simulation. It reads the current row on each access. */
export abstract class Rental<State extends RentalState> {
  protected readonly context: SimulationContext
  protected readonly rentals: Rentals
  readonly ordinal: number

  constructor(context: SimulationContext, rentals: Rentals, ordinal: number) {
    this.context = context
    this.rentals = rentals
    this.ordinal = ordinal
  }

  protected get row(): Readonly<RentalRow> {
    return this.rentals.read(this.ordinal)
  }

  get id(): string {
    return this.row.id
  }
  get kind(): RentalKind {
    return this.row.kind
  }
  /** Whether its deletion follows its shutdown. */
  get deleting(): boolean {
    const { state, stateAfterShutdown } = this.row
    return (state === 'stopping' || state === 'shutting_down') && stateAfterShutdown === 'deleted'
  }
  get name(): string {
    return this.row.name
  }
  get state(): State {
    return this.row.state as State
  }

  /** Returns its times in Unix seconds. Its bill began at `start_ts`; a rental that never ran has its creation there. */
  protected times(): { start_ts: number; state_ts: number; stop_ts: number | null } {
    const { plan, billedSince, since, endedAt } = this.row
    const { clock } = this.context
    return {
      start_ts: clock.unix(billedSince < 0 ? plan.createdAt : billedSince),
      state_ts: clock.unix(since),
      stop_ts: endedAt < 0 ? null : clock.unix(endedAt),
    }
  }

  /** Returns its address while it runs or shuts down, otherwise null. */
  protected address(): string | null {
    const { plan, hasBooted } = this.row
    if (!hasBooted) return null
    const nth = this.context.chance.integer(ADDRESSES, plan.key, ADDRESS)
    return `198.${18 + (nth >> 16)}.${(nth >> 8) & 255}.${nth & 255}`
  }

  rename(name: string): void {
    this.rentals.rename(this.ordinal, name)
  }
  delete(): void {
    this.rentals.delete(this.ordinal)
  }
}
