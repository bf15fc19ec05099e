import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'the GPU limit is lowered below what runs, and a crash makes it felt',
  {
    fixtures: 'two-nodes',
    seed: 38,
    with: { deployments: [{ model_name: 'acme/chat', num_gpus: 8, settings: { min_instances: 2, max_instances: 2 } }] },
    tags: ['limits', 'faults'],
    teaches: 'A lower limit removes nothing at once, but lost instances are not replaced.',
    client: 'Alerts if fewer instances run than requested and none is pending, then checks its limits.',
  },
  async ({ api, clock, cluster, check, countOf }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const deployment = () => api.getDeployment({ deploy_id })
    await cluster.limit.set('H100-80GB', 8)
    await clock.advance('1h')
    check(await deployment(), { instances: { running: 2, pending: 0 } }, 'what runs goes on')

    await cluster.node('h100-1').crash()
    await cluster.node('h100-1').repair()
    await clock.advance('1h')
    check(await deployment(), { status: 'running', instances: { running: 1, pending: 0 } })
    await countOf('deployment.limited', '1..')

    await cluster.limit.set('H100-80GB', 16)
    await clock.until(async () => (await deployment()).instances?.running === 2, { within: '30m' })
  },
)
