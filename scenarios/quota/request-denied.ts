import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a request for a higher GPU limit is denied',
  {
    fixtures: 'two-nodes',
    seed: 37,
    profile: { reviews: { limit_policy: 'manual' } },
    tags: ['limits'],
    teaches: 'A denied request leaves no message: pending_requests is null again and the limit is unchanged.',
    client: 'Compares limit and pending request, plans within the limit it has, and asks for less the next time.',
  },
  async ({ api, clock, cluster, check, expectRefusal, countOf }) => {
    const gpu = 'H100-80GB'
    await cluster.limit.set(gpu, 8)
    const ask = (requested_limit: number) =>
      api.requestGpuLimit({ gpu_type: gpu, requested_limit, reason: 'search goes live' })
    const want = (min_instances: number) => {
      const settings = { min_instances, max_instances: min_instances }
      return { model_name: 'acme/search', gpu, num_gpus: 8, hub: { repo: 'acme/chat-70b' }, settings } as const
    }
    await ask(512)
    check(await api.getGpuLimits(), { pending_requests: { [gpu]: 512 } })
    await clock.advance('2d')
    await expectRefusal(ask(16), 403, 'pending')

    await cluster.limit.deny(gpu)
    const limits = await api.getGpuLimits()
    check(limits.pending_requests, null)
    check(limits.limits[gpu]!, 8)
    await countOf('limit.denied', 1)
    await expectRefusal(api.createLlmDeployment(want(2)), 403, 'over the GPU limit')

    const one = await api.createLlmDeployment(want(1))
    await clock.until(async () => (await api.getDeployment(one)).status === 'running', { within: '30m' })
    await ask(16)
    check(await api.getGpuLimits(), { pending_requests: { [gpu]: 16 } }, 'it may ask again')
  },
)
