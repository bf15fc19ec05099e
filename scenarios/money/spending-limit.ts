import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a spending limit suspends the account, and a higher one or the next month ends that',
  {
    fixtures: 'empty',
    seed: 52,
    epoch: '2026-01-29T00:00:00Z',
    with: {
      account: { funds_cents: 500_000, spending_limit_cents: 2200 },
      deployments: [{ model_name: 'acme/chat', gpu: 'H100-80GB' }],
    },
    tags: ['money'],
    teaches: 'Funds are left, and all the same nothing new starts: recent has reached the limit of the billing period.',
    client: 'Reads suspend_reason before it pays, and raises the limit within the grace period.',
  },
  async ({ api, clock, ledger, check, expectRefusal }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    check(await api.getPaymentConfig(), { limit: 22 })
    await clock.advance('9h 59m 59s')
    check(await api.getPaymentChecklist(), { suspended: false, limit: 22 })

    await clock.advance('1s')
    check(await ledger.cost(deploy_id), 2200 * 1_000_000, 'ten hours at 220 cents')
    check(await api.getPaymentChecklist(), { suspended: true, suspend_reason: 'limit-reached', recent: 22 })
    const search = { model_name: 'acme/search', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    await expectRefusal(api.createLlmDeployment(search), 402, 'POST /payment/config')
    await api.addFunds({ amount: 10_000 })
    check(await api.getPaymentChecklist(), { suspended: true }, 'funds do not end it')

    await clock.advance('5m')
    check(await api.setPaymentConfig({ limit: 44 }), { limit: 44 })
    check(await api.getPaymentChecklist(), { suspended: false, limit: 44 })
    check(await api.getDeployment({ deploy_id }), { status: 'running' }, 'within the grace period')

    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'stopped', { within: '12h' })
    check(clock.iso, '2026-01-29T20:10:00.000000+00:00', 'ten minutes after the second time')
    await clock.advanceTo('2026-02-01T00:00:00Z')
    check(await api.getPaymentChecklist(), { suspended: false, suspend_reason: null, recent: 0, limit: 44 })
    await api.startDeployment({ deploy_id })
    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '30m' })
  },
)
