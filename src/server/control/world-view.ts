/** A world in responses of the control plane: its clock, its pending requests, and the names of its things. */
import * as z from 'zod'
import type { World } from '../../simulation/world.ts'
import { CLOCK_MODES } from '../../simulator/clock/settings.ts'
import type { Simulator } from '../../simulator/simulator.ts'

export const ClockModeSchema = z.object({
  mode: z.enum(CLOCK_MODES),
  speed: z.number().nullable(),
  paused_by: z.array(z.string()),
})

export function clockModeOf({ clock }: Simulator): z.infer<typeof ClockModeSchema> {
  return { mode: clock.mode, speed: clock.speed ?? null, paused_by: [...clock.pausedBy] }
}

export const PendingRequestSchema = z
  .object({
    operation: z.string().nullable(),
    request: z.string().describe('Method and path'),
    id: z.string().nullable().describe('The id of the answer; null if a fault rule delays it'),
    model: z.string().nullable().describe('As the request names it'),
    deploy_id: z.string().nullable().describe('The deployment that answers; null for models of the catalog'),
    since: z.string().describe('The time of the world at the start of the wait'),
    waited_seconds: z.number().describe('Real seconds since the start of the wait'),
    for: z.string().describe('The reason of the wait'),
    until: z
      .string()
      .nullable()
      .describe('The end of the wait if there is no further request or command; null if no scheduled event ends it'),
  })
  .meta({ id: 'WaitingRequest' })

export function pendingRequestsOf(sim: Simulator): z.input<typeof PendingRequestSchema>[] {
  return sim.pendingRequests.map(pending => {
    const { operation = null, request, id = null, model = null, deploy_id = null, since, until = null } = pending
    const waited = pending.waitedMs / 1000
    return { operation, request, id, model, deploy_id, since, waited_seconds: waited, for: pending.for, until }
  })
}

/** Returns the name of the model of a deployment, or the name of a rental or a record; otherwise the id. */
export function nameOfThing({ deployments, rentals, ownRecords }: World, id: string, kind: string): string {
  const { name } = (ownRecords.findRow(id, kind)?.value ?? {}) as { readonly name?: unknown }
  const own = typeof name === 'string' ? name : id
  return deployments.findById(id)?.plan.modelName ?? rentals.findById(id)?.name ?? own
}
