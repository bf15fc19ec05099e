import { scenario } from 'modelhost-sim/scenario'

export default scenario.each([
  { xid: 31, what: 'an engine fault', crashes: 1 },
  { xid: 79, what: 'a GPU off the bus', crashes: 0 },
])(
  'XID $xid, $what, takes an instance with it',
  {
    fixtures: 'two-nodes',
    seed: 53,
    with: { deployments: [{ model_name: 'acme/chat' }] },
    tags: ['deployments', 'faults'],
    teaches:
      'Some codes crash the engine alone and some take the GPU out until its node is repaired; a client sees the same of both.',
    client: 'Waits for the replacement in both cases, and ignores the error code, which is for operators.',
  },
  async ({ api, clock, cluster, check, countOf }, { xid, crashes }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const deployment = () => api.getDeployment({ deploy_id })
    await cluster.gpu('h100-0', 0).fail(xid)
    check(await deployment(), { status: 'running', instances: { running: 0, pending: 1 } })
    await clock.until(async () => (await deployment()).instances?.running === 1, { within: '30m' })
    await countOf('instance.crashed', crashes)
    await countOf('instance.lost', 1 - crashes)

    const free = async () => (await cluster.nodes()).reduce((sum, node) => sum + node.free, 0)
    check(await free(), crashes === 1 ? 15 : 14, 'a GPU that is out is not handed out')
    if (crashes === 0) await cluster.node('h100-0').repair()
    check(await free(), 15)
  },
)
