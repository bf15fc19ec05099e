import { scenario } from 'modelhost-sim/scenario'

const cents = 1_000_000
const start = { account: { funds_cents: 330 }, deployments: [{ model_name: 'acme/chat', gpu: 'H100-80GB' as const }] }
const search = { model_name: 'acme/search', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
const title = 'funds run out, what runs stops after a grace, and a payment lets it start again'

export default scenario(
  title,
  {
    fixtures: 'empty',
    seed: 6,
    with: start,
    tags: ['money'],
    teaches: 'At zero a create answers 402. Ten minutes later everything stops, and a payment does not start it again.',
    client: 'Watches the balance, pays within the grace period, and starts stopped deployments again.',
  },
  async props => {
    const { api, clock, cluster, ledger, check, expectRefusal } = props
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!

    await clock.advance('90m')
    check(await ledger.balance(), 0, '90 min at 220 cents an hour')
    await expectRefusal(api.createLlmDeployment(search), 402, 'no funds')
    check(await api.getDeployment({ deploy_id }), { status: 'running' })

    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'stopped', { within: '10m' })
    check(clock.iso, '2026-01-01T01:40:00.000000+00:00', 'ten minutes later')
    await expectRefusal(api.startDeployment({ deploy_id }), 402, 'no funds')

    cluster.card.decline()
    await expectRefusal(api.addFunds({ amount: 1000 }), 402, 'declined')
    cluster.card.accept()
    await api.addFunds({ amount: 1000 })
    await clock.advance('1m')
    check(
      await ledger.rentSeconds(deploy_id),
      5400 + 600 + 10,
      'what was paid for, the grace, and ten seconds of draining',
    )
    check(await ledger.cost(deploy_id), Math.floor((6010 * 220 * cents) / 3600))
    check(await ledger.balance(), 1330 * cents - (await ledger.cost(deploy_id)))

    await api.startDeployment({ deploy_id })
    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '15m' })
    check(await api.getDeployment({ deploy_id }), { instances: { running: 1, pending: 0 } })
  },
)
