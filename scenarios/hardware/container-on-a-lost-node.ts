import { scenario } from 'modelhost-sim/scenario'

const image = 'registry.example/notebook:1.9'
const start = {
  deployments: [{ model_name: 'acme/chat', gpu: 'H100-80GB' as const, num_gpus: 4 }],
}

export default scenario(
  'a node dies under a deployment and a container: only the deployment comes back by itself',
  {
    fixtures: 'two-nodes',
    seed: 49,
    with: start,
    tags: ['containers', 'hosted', 'hardware'],
    teaches: 'A container ends with its node: it has failed, is not billed any more, and is not restarted.',
    client:
      'Watches the state of what it rents, keeps what it must not lose elsewhere, and rents again after a failure.',
  },
  async ({ api, clock, cluster, ledger, check, expectRefusal }) => {
    cluster.limit.set('H100-80GB', 8)
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const box = await api.createHosted({ name: 'bench', plan_id: 'medium' })
    const rent = () =>
      api.createContainer({
        name: 'notebook',
        gpu_config: '2xH100-80GB',
        container_image: image,
        cloud_init_user_data: '#cloud-config',
      })
    const first = await rent()
    await clock.advance('1h')
    check([await api.getContainer(first), await api.getHosted(box)], [{ state: 'running' }, { state: 'running' }])

    const node = await cluster.nodeOf(first.container_id).view()
    check(await cluster.nodeOf(deploy_id).view(), { name: node.name })
    cluster.node(node.name).crash()

    const reason = `node ${node.name} crashed`
    check(await api.getContainer(first), { state: 'failed', fail_reason: reason })
    check(await api.getHosted(box), { state: 'running' }, 'a hosted instance has a machine of its own')
    cluster.hosted(box.instance_id).crash()
    check(await api.getHosted(box), { state: 'failed', fail_reason: 'its machine crashed' })
    check(await api.getDeployment({ deploy_id }), { status: 'running', instances: { running: 0, pending: 1 } })
    const before = await ledger.cost(first.container_id)
    await expectRefusal(api.startHosted(box), 400, 'failed, not stopped')

    const second = await rent()
    await clock.advance('1h')
    check(await api.getContainer(second), { state: 'running' })
    check(await api.getDeployment({ deploy_id }), { instances: { running: 1, pending: 0 } })
    check(await ledger.cost(first.container_id), before, 'what failed costs nothing more')
    await api.deleteContainer(first)
    await api.deleteHosted(box)
    check(await api.listContainers({}), [{ id: second.container_id }])
  },
)
