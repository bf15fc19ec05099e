import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a node is lost during a cold start',
  {
    fixtures: 'two-nodes',
    seed: 7,
    tags: ['deployments', 'faults'],
    teaches: 'A lost node moves the status back. The service starts again on another node by itself.',
    client: 'Accepts a status that goes backwards, and continues to wait.',
  },
  async ({ api, clock, cluster, check }) => {
    const { deploy_id } = await api.createLlmDeployment({
      model_name: 'acme/chat',
      gpu: 'H100-80GB',
      num_gpus: 4,
      hub: { repo: 'acme/chat-8b' },
    })
    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'downloading', { within: '2m' })

    cluster.nodeOf(deploy_id).crash()
    check(await api.getDeployment({ deploy_id }), { status: 'initializing', instances: { running: 0, pending: 1 } })

    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '40m' })
    check(await api.getDeployment({ deploy_id }), { instances: { running: 1, pending: 0 } })
    check(await cluster.nodeOf(deploy_id).view(), { name: 'h100-1', state: 'ready', free: 4 })
    check(await cluster.node('h100-0').view(), { state: 'down', free: 0 })
  },
)
