import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a deployment is deleted while it downloads and leaves nothing behind',
  {
    fixtures: 'two-nodes',
    seed: 8,
    tags: ['deployments'],
    teaches: 'A delete takes effect at once at every stage; the row stays listable, the name is free again.',
    client: 'Uses the id of the answer, because the next deployment with this name has another id.',
  },
  async ({ api, clock, cluster, ledger, check, expectRefusal }) => {
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 8, hub: { repo: 'acme/chat-70b' } } as const
    const { deploy_id } = await api.createLlmDeployment(wanted)
    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'downloading', { within: '2m' })
    check(await cluster.node('h100-0').view(), { free: 0 })

    await api.deleteDeployment({ deploy_id })
    check(await api.getDeployment({ deploy_id }), {
      status: 'deleted',
      fail_reason: '',
      instances: { running: 0, pending: 0 },
    })
    check(await cluster.node('h100-0').view(), { free: 8 })
    check(await api.listDeployments(), [{ deploy_id, status: 'deleted' }])
    check(await api.listDeployments({ status: 'deleted' }), [{ deploy_id }])
    await expectRefusal(api.startDeployment({ deploy_id }), 400, 'deleted, not stopped')
    await expectRefusal(api.deleteDeployment({ deploy_id }), 404, 'deleted already')

    const again = await api.createLlmDeployment(wanted)
    check(again.deploy_id === deploy_id, false, 'the name is free again, the id is not')
    await clock.until(async () => (await api.getDeployment(again)).status === 'running', { within: '30m' })
    check(await api.getDeployment({ deploy_id }), { status: 'deleted' })
    check(await ledger.cost(deploy_id), 0, 'a download costs nothing')
  },
)
