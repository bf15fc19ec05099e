import type { World } from '../../simulation/world.ts'

/** Returns the name of the model of a deployment, or the name of a rental; otherwise the id. */
export function nameOfThing({ deployments, rentals }: World, id: string): string {
  const deployment = deployments.ordinalOf(id)
  if (deployment !== undefined) return deployments.read(deployment).plan.modelName
  const rental = rentals.ordinalOf(id)
  return rental === undefined ? id : rentals.read(rental).name
}
