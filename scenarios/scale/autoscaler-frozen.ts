import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'an instance is lost while the autoscaler decides nothing',
  {
    fixtures: 'two-nodes',
    seed: 28,
    with: { deployments: [{ model_name: 'acme/chat', num_gpus: 8, settings: { min_instances: 2, max_instances: 2 } }] },
    tags: ['deployments', 'scaling', 'faults'],
    teaches: 'The control plane replaces lost instances, and it can fail too. Running instances continue.',
    client: 'Alerts if fewer instances than min_instances run for longer than a cold start, whatever the status is.',
  },
  async ({ api, clock, cluster, check, countOf }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const deployment = () => api.getDeployment({ deploy_id })
    await cluster.autoscaler.freeze()
    check(await deployment(), { instances: { running: 2, pending: 0 } })

    await cluster.node('h100-0').crash()
    await clock.advance('3h')
    check(await deployment(), { status: 'running', instances: { running: 1, pending: 0 } }, 'nothing is asked for')
    await cluster.node('h100-0').repair()
    await clock.advance('1h')
    await countOf('instance.placed', 0, 'there is room again, and no instance takes it')

    await cluster.autoscaler.free()
    await clock.until(async () => (await deployment()).instances?.running === 2, { within: '30m' })
    await countOf('autoscaler.freed', 1)
  },
)
