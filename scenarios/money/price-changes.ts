import { scenario } from 'modelhost-sim/scenario'

const cents = 1_000_000

export default scenario(
  'the price of a GPU doubles while it is rented',
  {
    fixtures: 'empty',
    seed: 43,
    with: { deployments: [{ model_name: 'acme/chat' }] },
    tags: ['money'],
    teaches: 'A new price applies at once, also to running instances. Earlier use keeps the old price.',
    client: 'Multiplies rent by the price of each interval, and looks at prices again rather than once at its start.',
  },
  async ({ api, clock, cluster, ledger, check }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    await clock.advance('2h')
    check(await ledger.cost(deploy_id), 2 * 220 * cents)
    await cluster.price.set('H100-80GB', 440)
    check(await ledger.cost(deploy_id), 2 * 220 * cents, 'nothing is charged again')
    await clock.advance('2h')
    check(await ledger.cost(deploy_id), (2 * 220 + 2 * 440) * cents)
    const from = Math.floor(Date.parse('2026-01-01T00:00:00Z') / 1000)
    check((await api.getRentUsage({ from })).id_to_duration[deploy_id]!, 4 * 3600, 'the rent says hours, not cents')
  },
)
