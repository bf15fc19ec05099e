import { z } from 'zod'
import type { World } from '../cluster/world.ts'
import { Nothing } from './answers.ts'
import { endpoint, refuse } from './endpoint.ts'
import { integer, text } from './fields.ts'

export const renameHosted = endpoint({
  route: 'PATCH /v1/hosted/{instance_id}',
  summary: 'Rename a hosted instance',
  provenance: 'documented',
  assumed: ['name is required; its length counts code points', '200 {}'],
  refusals: { 404: 'unknown instance' },
  body: z.object({ name: text({ min: 1, max: 64 }) }),
  returns: Nothing,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqw', body: { name: 'workbench' } },
  handle: ({ params, body, world }) => {
    hostedOf(world, params.instance_id).rename(body.name)
    return {}
  },
})

export const expandHostedStorage = endpoint({
  route: 'POST /v1/hosted/{instance_id}/expand_storage',
  summary: 'Give a hosted instance more storage',
  provenance: 'documented',
  assumed: ['the new size holds after 60 s', '200 {}'],
  refusals: { 404: 'unknown instance', 409: 'an expansion is under way', 400: 'not larger than the current size' },
  body: z.object({ new_size_gb: integer({ min: 21, max: 512 }) }),
  returns: Nothing,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqw/expand_storage', body: { new_size_gb: 200 } },
  handle: ({ params: { instance_id }, body: { new_size_gb }, world }) => {
    const instance = hostedOf(world, instance_id)
    if (instance.expanding) refuse(409, `storage of ${instance_id} is being expanded already`)
    if (new_size_gb <= instance.storage_gb) {
      refuse(
        400,
        `new_size_gb ${new_size_gb} is not larger than the current ${instance.storage_gb} GB of ${instance_id}`,
      )
    }
    instance.expand(new_size_gb)
    return {}
  },
})

function hostedOf(world: World, instance_id: string) {
  return world.hosted.get(instance_id) ?? refuse(404, `no hosted instance ${instance_id}`)
}
