import { scenario } from 'modelhost-sim/scenario'

const topup = { amount: 20_000, threshold: 100, enabled: true }

export default scenario(
  'the top-up comes later than the money lasts, and the grace saves the night',
  {
    fixtures: 'empty',
    seed: 42,
    with: { account: { funds_cents: 1000, topup }, deployments: [{ model_name: 'acme/chat' }] },
    tags: ['money', 'topup'],
    teaches: 'A threshold must cover the spending until the money arrives. Below zero the grace period is ten minutes.',
    client: 'Sets the threshold to what some hours cost. After a 402 on a create, waits and tries again.',
  },
  async ({ api, clock, cluster, ledger, check, countOf, expectRefusal, always }) => {
    await cluster.topup.delay('32m')
    const [deployed] = await api.listDeployments()
    always(async () => (await api.getDeployment(deployed!)).status === 'running', 'it is never stopped')
    await clock.until(async () => (await api.getPaymentChecklist()).suspended, { within: '6h' })
    const other = { model_name: 'acme/search', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    await expectRefusal(api.createLlmDeployment(other), 402, 'no funds')

    await clock.until(async () => !(await api.getPaymentChecklist()).suspended, { within: '10m' })
    await countOf('topup.charged', 1)
    await api.createLlmDeployment(other)
    await clock.advance('1d')
    check((await ledger.balance()) > 0, true)
  },
)
