import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'the hub throttles while 70 billion parameters are on their way',
  {
    fixtures: 'two-nodes',
    seed: 61,
    tags: ['deployments', 'faults'],
    teaches: 'A slow download is not a failure and has no deadline of its own: an hour in downloading can be right.',
    client: 'Sets its deadline by the size of the weights, not by what the last small model took.',
  },
  async ({ api, clock, cluster, ledger, check, never }) => {
    const wanted = { model_name: 'acme/big', gpu: 'H100-80GB', num_gpus: 2, hub: { repo: 'acme/chat-70b' } } as const
    const made = await api.createLlmDeployment(wanted)
    const deployment = () => api.getDeployment(made)
    never(async () => (await deployment()).status === 'failed')
    await clock.until(async () => (await deployment()).status === 'downloading', { within: '1m' })

    await cluster.hub.throttle(0.01)
    await clock.advance('20m')
    check(await deployment(), { status: 'downloading', instances: { running: 0, pending: 1 } })
    check(await ledger.cost(made.deploy_id), 0, 'waiting for the hub costs nothing')
    await cluster.hub.unthrottle()
    await clock.until(async () => (await deployment()).status === 'running', { within: '30m' })

    const again = await api.createLlmDeployment({ ...wanted, model_name: 'acme/again' })
    await cluster.hub.throttle(0.02)
    const run = async () => (await api.getDeployment(again)).status === 'running'
    await clock.until(run, { within: '10m' })
    check(await cluster.nodeOf(again.deploy_id).view(), { name: 'h100-0' }, 'the weights were there')
  },
)
