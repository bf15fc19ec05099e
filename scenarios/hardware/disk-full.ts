import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'the disk of a node fills up under a download, and the start moves to another',
  {
    fixtures: 'two-nodes',
    seed: 54,
    tags: ['deployments', 'faults'],
    teaches:
      'A start that fails on one node is tried again on another: the status goes back to initializing on the way.',
    client: 'Accepts a status that goes back and forth, and alerts if the start takes too long.',
  },
  async ({ api, clock, cluster, check, never }) => {
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const made = await api.createLlmDeployment(wanted)
    const deployment = () => api.getDeployment(made)
    never(async () => (await deployment()).status === 'failed')
    await clock.until(async () => (await deployment()).status === 'downloading', { within: '5m' })
    const { name } = await cluster.nodeOf(made.deploy_id).view()
    await cluster.disk.fill(name)

    await clock.until(async () => (await deployment()).status === 'initializing', { within: '40m' })
    await clock.until(async () => (await deployment()).status === 'running', { within: '40m' })
    check((await cluster.nodeOf(made.deploy_id).view()).name === name, false, 'it runs on the other node')
  },
)
