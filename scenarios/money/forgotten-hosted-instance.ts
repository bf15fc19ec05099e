import { scenario } from 'modelhost-sim/scenario'

const start = {
  account: { funds_cents: 5_000 },
  deployments: [{ model_name: 'acme/chat', gpu: 'L40S-48GB' as const }],
}

export default scenario(
  'a forgotten hosted instance uses up the budget, and takes the service down with it',
  {
    fixtures: 'empty',
    seed: 47,
    with: start,
    tags: ['money', 'hosted'],
    teaches: 'A hosted instance costs money while it runs, used or idle. A suspension stops all that runs.',
    client:
      'Lists running instances each day, stops unused ones, and deletes finished ones. A stopped instance costs nothing.',
  },
  async ({ api, clock, ledger, check, expectRefusal }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const { instance_id } = await api.createHosted({ name: 'friday-trial', plan_id: 'xlarge' })
    const state = async () => (await api.getHosted({ instance_id })).state
    await clock.until(async () => (await state()) === 'running', { within: '15m' })

    // $50 last the service alone for 66 hours. With the trial beside it they are gone after 41.
    await clock.until(async () => (await api.getPaymentChecklist()).suspended, { within: '2d' })
    check(await api.getPaymentChecklist(), { suspend_reason: 'balance' })
    await clock.advance('10m')
    check([await state(), (await api.getDeployment({ deploy_id })).status], ['stopping', 'stopped'])
    await clock.advance('1m')
    check(await api.getHosted({ instance_id }), {
      state: 'stopped',
      fail_reason: 'the account was suspended (balance)',
    })

    const { id_to_duration } = await api.getRentUsage({ from: 1_767_225_600 })
    check(id_to_duration[instance_id]! > 40 * 3600, true, 'the trial ran for 40 hours')
    const [trial, service] = [await ledger.cost(instance_id), await ledger.cost(deploy_id)]
    check(trial > 0.6 * service, true, 'three dollars in eight went there')
    await expectRefusal(api.startHosted({ instance_id }), 402, 'no funds')

    await api.deleteHosted({ instance_id })
    await api.addFunds({ amount: 5000 })
    await api.startDeployment({ deploy_id })
    await clock.advance('1d')
    check(await api.getDeployment({ deploy_id }), { status: 'running' })
    check(await api.listHosted(), [])
  },
)
