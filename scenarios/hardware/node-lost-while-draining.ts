import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a node is drained for maintenance and dies before it is empty',
  {
    fixtures: 'two-nodes',
    seed: 51,
    with: { deployments: [{ model_name: 'acme/chat', num_gpus: 4 }] },
    tags: ['deployments', 'faults'],
    teaches:
      'A drain requests the replacement at once, and the old instance still serves. A crash ends it, and requests no second one.',
    client: 'Keeps two instances if a cold start without any is too long; a drained node can die before its deadline.',
  },
  async ({ api, clock, cluster, ledger, check, countOf }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const deployment = () => api.getDeployment({ deploy_id })
    const node = cluster.node('h100-0')
    check(await cluster.nodeOf(deploy_id).view(), { name: 'h100-0' })

    await clock.advance('1h')
    await node.drain()
    check(await deployment(), { status: 'running', instances: { running: 1, pending: 1 } })
    await clock.advance('4s')
    await node.crash()
    check(await ledger.rentSeconds(deploy_id), 3604, 'billed to the crash and no further')

    await clock.until(async () => (await deployment()).instances?.running === 1, { within: '30m' })
    await countOf('instance.placed', 1, 'one replacement, not two')
    check(await cluster.nodes(), [
      { name: 'h100-0', state: 'down', free: 0 },
      { name: 'h100-1', state: 'ready', free: 4 },
    ])
  },
)
