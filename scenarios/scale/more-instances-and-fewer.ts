import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a deployment is given more instances for the day and fewer for the night',
  {
    fixtures: 'two-nodes',
    seed: 27,
    with: { deployments: [{ model_name: 'acme/chat', settings: { min_instances: 1, max_instances: 1 } }] },
    tags: ['deployments', 'scaling', 'money'],
    teaches: 'New bounds apply at once, new instances need a cold start, and only ready instances cost rent.',
    client: 'Raises the bounds minutes before it needs them, and watches instances.running until they are there.',
  },
  async ({ api, clock, ledger, check, expectRefusal }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const running = async () => (await api.getDeployment({ deploy_id })).instances?.running
    const resize = (min_instances: number, max_instances: number) =>
      api.updateDeployment({ deploy_id, settings: { min_instances, max_instances } })
    await expectRefusal(resize(3, 2), 422, 'max_instances (2) should not be below')

    await resize(3, 3)
    check(await api.getDeployment({ deploy_id }), { status: 'running', instances: { running: 1, pending: 2 } })
    await clock.until(async () => (await running()) === 3, { within: '30m' })
    const day = await ledger.rentSeconds(deploy_id)
    await clock.advance('1h')
    check((await ledger.rentSeconds(deploy_id)) - day, 3 * 3600, 'three instances an hour')

    await resize(1, 1)
    await clock.advance('1m')
    check(await running(), 1)
    const night = await ledger.rentSeconds(deploy_id)
    await clock.advance('1h')
    check((await ledger.rentSeconds(deploy_id)) - night, 3600, 'one instance an hour')
  },
)
