import type { SimulationContext } from '../context.ts'
import type { RentalKind, RentalRow, RentalState } from './rental-row.ts'
import type { Rentals } from './rentals.ts'

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

  rename(name: string): void {
    this.rentals.rename(this.ordinal, name)
  }
  delete(): void {
    this.rentals.delete(this.ordinal)
  }
}
