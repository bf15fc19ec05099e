import { scenario } from 'modelhost-sim/scenario'

const topup = { amount: 50_000, threshold: 3300, enabled: true }
const funded = { funds_cents: 5280, card: 'declined' as const, topup }

export default scenario(
  'the top-up is declined on Friday night, and by Saturday nothing runs',
  {
    fixtures: 'empty',
    seed: 41,
    epoch: '2026-01-02T12:00:00Z',
    with: { account: funded, deployments: [{ model_name: 'acme/chat' }] },
    tags: ['money', 'topup'],
    teaches: 'A declined top-up is tried every hour and shown only in the checklist; hours later everything stops.',
    client: 'Looks at topup_failed every hour and alarms at once, while there are still funds.',
  },
  async ({ api, clock, cluster, check, every, countOf }) => {
    const alarms: string[] = []
    const watch = async () => {
      const { topup_failed, suspended } = await api.getPaymentChecklist()
      if (topup_failed && !suspended) alarms.push(clock.iso)
    }
    every('1h', watch, { times: 60, what: 'the watch' })
    const [deployed] = await api.listDeployments()
    const deployment = () => api.getDeployment(deployed!)
    await clock.until(async () => (await api.getPaymentChecklist()).topup_failed, { within: '1d' })
    const failedAt = clock.elapsed

    await clock.until(async () => (await deployment()).status === 'stopped', { within: '2d' })
    check(clock.now < new Date('2026-01-04T00:00:00Z'), true, 'on Saturday')
    check((clock.elapsed - failedAt) / 3.6e9 > 15, true, 'half a day after the decline')
    await countOf('topup.declined', '10..', 'tried again and again')
    const [first] = alarms
    check(
      Date.parse(first!) - Date.parse('2026-01-02T12:00:00Z') - failedAt / 1000 <= 3_600_000,
      true,
      'noticed within the hour',
    )
    check(await api.getPaymentChecklist(), { suspended: true, suspend_reason: 'balance', topup_failed: true })

    await clock.advanceTo('2026-01-05T08:00:00Z')
    await cluster.card.accept()
    check(await api.getPaymentChecklist(), { suspended: false, topup_failed: false })
    check(await deployment(), { status: 'stopped' }, 'money alone starts nothing')
    await api.startDeployment(deployed!)
    await clock.until(async () => (await deployment()).status === 'running', { within: '30m' })
  },
)
