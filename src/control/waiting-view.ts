/** Who waits for time in a world, as the control plane tells it. */
import * as z from 'zod'
import type { Simulator } from '../simulator/simulator.ts'

export const PendingRequestSchema = z
  .object({
    operation: z.string().nullable(),
    request: z.string().describe('Method and path'),
    id: z.string().nullable().describe('Of the answer; null where a fault of the wire delays it'),
    model: z.string().nullable().describe('As the request names it'),
    deploy_id: z.string().nullable().describe('The deployment that answers; null for models of the catalog'),
    since: z.string().describe('The time of the world when it began to wait'),
    waited_seconds: z.number().describe('Real seconds since then'),
    for: z.string().describe('What it waits for'),
    until: z
      .string()
      .nullable()
      .describe('When that comes if nobody does anything until then; null where nothing that is planned brings it'),
  })
  .meta({ id: 'WaitingRequest' })

export function pendingRequestsOf(sim: Simulator): z.input<typeof PendingRequestSchema>[] {
  return sim.pendingRequests.map(({ operation, request, id, model, deploy_id, since, waitedMs, until, ...rest }) => ({
    operation: operation ?? null,
    request,
    id: id ?? null,
    model: model ?? null,
    deploy_id: deploy_id ?? null,
    since,
    waited_seconds: waitedMs / 1000,
    for: rest.for,
    until: until ?? null,
  }))
}
