/** The interface of a second GPU host: pods, with the words and the statuses of that host. */
import { endpoint, recordTable, refuse } from 'modelhost-sim'
import * as z from 'zod'

const Pod = z.object({
  id: z.string(),
  name: z.string(),
  gpuTypeId: z.enum(['H100', 'A100']),
  desiredStatus: z.enum(['CREATED', 'RUNNING', 'EXITED']),
  costPerHr: z.number(),
})
export type Pod = z.infer<typeof Pod>

const PRICES = { H100: 2.39, A100: 1.19 }

/** The state: it forks, and snapshots and replays contain it. The price runs until a pod has ended. */
const pods = recordTable({
  kind: 'pod',
  record: Pod,
  key: 'id',
  status: 'desiredStatus',
  ended: ['EXITED'],
  usdPerHour: 'costPerHr',
})

/** A pod pulls its image for 40 seconds. */
export const createPod = endpoint({
  route: 'POST /rest/v1/pods',
  summary: 'Create a pod',
  roles: ['create pod'],
  refusals: { 409: 'another pod has this name' },
  body: z.object({ name: z.string().min(1), gpuTypeId: Pod.shape.gpuTypeId }),
  returns: Pod,
  example: { body: { name: 'chat', gpuTypeId: 'H100' } },
  handle: ({ body, world }) => {
    const table = world.records(pods)
    if (table.all().some(({ name }) => name === body.name)) refuse(409, `a pod has the name ${body.name}`)
    const pod = {
      ...body,
      id: table.newId(body.name),
      desiredStatus: 'CREATED' as const,
      costPerHr: PRICES[body.gpuTypeId],
    }
    return table.put(pod, { after: '40s', set: { desiredStatus: 'RUNNING' } })
  },
})

export const getPod = endpoint({
  route: 'GET /rest/v1/pods/{podId}',
  summary: 'Get a pod',
  roles: ['read pod'],
  refusals: { 404: 'unknown pod' },
  returns: Pod,
  handle: ({ params, world }) => world.records(pods).get(params.podId) ?? refuse(404, `no pod ${params.podId}`),
})

export const listPods = endpoint({
  route: 'GET /rest/v1/pods',
  summary: 'List the pods',
  roles: ['list pod'],
  returns: z.array(Pod),
  handle: ({ world }) => world.records(pods).all(),
})

export const deletePod = endpoint({
  route: 'DELETE /rest/v1/pods/{podId}',
  summary: 'Delete a pod',
  refusals: { 404: 'unknown pod' },
  returns: z.object({}),
  handle: ({ params, world }) => {
    if (!world.records(pods).delete(params.podId)) refuse(404, `no pod ${params.podId}`)
    return {}
  },
})

export const endpoints = { createPod, getPod, listPods, deletePod }
