/** The changes that hosted instances and containers have in common. */
import type { Rental } from '../simulation/rentals/rental.ts'
import type { RentalState } from '../simulation/rentals/rental-row.ts'
import { refuse } from './refusals.ts'

/** Renames a rental. Refuses with 400 if it is deleted. */
export function renameRental(rental: Rental<RentalState>, name: string): void {
  requireUndeleted(rental)
  rental.rename(name)
}

/** Deletes a rental. Refuses with 400 if it is deleted, or if its deletion is in progress. */
export function deleteRental(rental: Rental<RentalState>): void {
  requireUndeleted(rental)
  if (rental.deleting) refuse(400, `${describeRental(rental)} is being deleted already`)
  rental.delete()
}

/** Refuses with 400 if the rental is deleted. */
export function requireUndeleted(rental: Rental<RentalState>): void {
  if (rental.state === 'deleted') refuse(400, `${describeRental(rental)} is deleted`)
}

function describeRental({ kind, id }: Rental<RentalState>): string {
  return `${kind === 'hosted' ? 'hosted instance' : 'container'} ${id}`
}
