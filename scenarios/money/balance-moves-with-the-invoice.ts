import { scenario } from 'modelhost-sim/scenario'

const usd = 100_000_000

export default scenario(
  'the balance stays while money is used, and moves when the month is invoiced',
  {
    fixtures: 'empty',
    seed: 46,
    epoch: '2026-01-30T00:00:00Z',
    with: { account: { funds_cents: 50_000 }, deployments: [{ model_name: 'acme/chat' }] },
    tags: ['money'],
    teaches:
      'Prepaid money does not shrink with each second: recent has the use since the last invoice, and both tell what is left.',
    client: 'Computes -(account_balance + recent), and warns before it is gone.',
  },
  async ({ api, clock, cluster, ledger, check }) => {
    const left = async () => {
      const { account_balance, recent } = await api.getPaymentChecklist()
      return Math.round(-(account_balance + recent) * usd)
    }
    check(await api.getPaymentChecklist(), { account_balance: -500, recent: 0 })
    await clock.advance('10h')
    check(await api.getPaymentChecklist(), { account_balance: -500, recent: 22 })
    check(await left(), await ledger.balance())
    await api.addFunds({ amount: 10_000 })
    check(await api.getPaymentChecklist(), { account_balance: -600, recent: 22 })

    await clock.advanceTo('2026-02-01T00:00:00Z')
    check(await api.getPaymentChecklist(), { account_balance: -(600 - 48 * 2.2), recent: 0 }, 'January is invoiced')
    check(await left(), await ledger.balance())
    await cluster.funds.set(1)
    await clock.advance('20m')
    check(await api.getPaymentChecklist(), { account_balance: -1 })
    check(await left(), await ledger.balance())
    await clock.advance('10m')
    check(await api.getPaymentChecklist(), { suspended: true, suspend_reason: 'balance' }, 'a dollar was 27 minutes')
  },
)
