import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'an engine crashes three times and comes back by itself',
  {
    fixtures: 'empty',
    seed: 23,
    with: { deployments: [{ model_name: 'acme/chat' }] },
    tags: ['deployments', 'faults'],
    teaches: 'A crashed engine is started again with growing waits; the status stays running while nothing is ready.',
    client: 'Looks at instances.running and not at the status, and leaves the restart to the service.',
  },
  async ({ api, clock, cluster, check, countOf, always }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const deployment = () => api.getDeployment({ deploy_id })
    check(await deployment(), { status: 'running', instances: { running: 1 } })

    always(async () => (await deployment()).status === 'running', 'a crash is not a failure')
    await cluster.deployment(deploy_id).crash(3)
    check(await deployment(), { instances: { running: 0, pending: 1 } })

    await clock.until(async () => (await deployment()).instances?.running === 1, { within: '30m' })
    await countOf('instance.crashed', 3)
    check(clock.elapsed > 70_000_000, true, 'waits of 10, 20 and 40 seconds lie between')
  },
)
