import type { World } from '../world.ts'
import type { RentalRow, RentalState } from './rental-row.ts'

/** What is rented, as code outside the simulation holds it: reads the present row each time. */
export abstract class Rental<State extends RentalState> {
  protected readonly world: World
  readonly ordinal: number

  constructor(world: World, ordinal: number) {
    this.world = world
    this.ordinal = ordinal
  }

  protected get row(): Readonly<RentalRow> {
    return this.world.rentals.read(this.ordinal)
  }

  get name(): string {
    return this.row.name
  }
  get state(): State {
    return this.row.state as State
  }

  rename(name: string): void {
    this.world.rentals.rename(this.ordinal, name)
  }
  delete(): void {
    this.world.rentals.delete(this.ordinal)
  }
}
