import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a GPU type is out of stock, and the wait ends with the restock',
  {
    fixtures: 'two-nodes',
    seed: 26,
    tags: ['deployments', 'scaling', 'faults'],
    teaches:
      'Waiting for capacity is not a failure: the deployment stays initializing, costs nothing, and starts on restock.',
    client: 'Keeps one request waiting instead of creating in a loop, and shows its user that it waits for capacity.',
  },
  async ({ api, clock, cluster, ledger, check, never, at }) => {
    await cluster.stockOut('H100-80GB')
    at('9h', () => cluster.restock('H100-80GB'), 'restock')
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const made = await api.createLlmDeployment(wanted)
    const deployment = () => api.getDeployment(made)
    never(async () => (await deployment()).status === 'failed')

    await clock.advance('8h')
    check(await deployment(), { status: 'initializing', instances: { running: 0, pending: 1 } })
    check(await ledger.cost(made.deploy_id), 0, 'who waits does not pay')
    await clock.until(async () => (await deployment()).status === 'running', { within: '2h' })
  },
)
