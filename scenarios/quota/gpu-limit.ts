import { scenario } from 'modelhost-sim/scenario'

const eight = { gpu: 'H100-80GB', num_gpus: 4, settings: { min_instances: 2, max_instances: 4 } } as const

export default scenario(
  'more instances than the GPU limit allows are refused until it is raised',
  {
    fixtures: 'two-nodes',
    seed: 3,
    tags: ['deployments', 'limits'],
    teaches: 'A create over the GPU limit is refused whole, and a higher limit takes hours.',
    client: 'Asks once, waits for the decision, and creates again.',
  },
  async ({ api, clock, cluster, check, expectRefusal }) => {
    cluster.limit.set('H100-80GB', 8)
    const first = await api.createLlmDeployment({ model_name: 'acme/chat', hub: { repo: 'acme/chat-8b' }, ...eight })
    await clock.until(async () => (await api.getDeployment(first)).instances?.running === 2, { within: '30m' })

    const more = { model_name: 'acme/search', hub: { repo: 'acme/chat-8b' }, ...eight }
    await expectRefusal(api.createLlmDeployment(more), 403, 'over the GPU limit: this asks for 8 H100-80GB, 8 are held')
    check(await api.listDeployments(), [{ deploy_id: first.deploy_id, status: 'running' }])

    const ask = { gpu_type: 'H100-80GB', reason: 'search goes live' }
    await expectRefusal(api.requestGpuLimit({ ...ask, requested_limit: 8 }), 400, 'not above the present limit')
    await api.requestGpuLimit({ ...ask, requested_limit: 16 })
    await expectRefusal(api.requestGpuLimit({ ...ask, requested_limit: 24 }), 403, 'pending')
    await expectRefusal(api.createLlmDeployment(more), 403)

    await clock.advance('2d')
    const second = await api.createLlmDeployment(more)
    await clock.until(async () => (await api.getDeployment(second)).instances?.running === 2, { within: '30m' })
    check(await cluster.nodes(), [{ free: 0 }, { free: 0 }])
  },
)
