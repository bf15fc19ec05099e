import { scenario } from 'modelhost-sim/scenario'

const chat = { model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 2, hub: { repo: 'acme/chat-8b' } } as const
const title = 'a deployment starts on a cold node and is paid for from then on'

export default scenario(
  title,
  {
    fixtures: 'two-nodes',
    seed: 1,
    tags: ['deployments', 'money'],
    teaches: 'A start takes minutes: image, weights, engine. Only ready instances are billed.',
    client: 'Waits minutes for running, and shows the status meanwhile.',
  },
  async props => {
    const { api, clock, ledger, check } = props
    const funds = await ledger.balance()
    const { deploy_id } = await api.createLlmDeployment(chat)
    const deployment = () => api.getDeployment({ deploy_id })
    check(await deployment(), { status: 'initializing', fail_reason: '', instances: { running: 0, pending: 1 } })

    await clock.until(async () => (await deployment()).status === 'downloading', { within: '1m' })
    await clock.until(async () => (await deployment()).status === 'deploying', { within: '2h' })
    check(await deployment(), { instances: { running: 0, pending: 1 } })

    await clock.until(async () => (await deployment()).status === 'running', { within: '1h' })
    check(await deployment(), { instances: { running: 1, pending: 0 }, updated_at: clock.iso })
    check(await ledger.balance(), funds, 'a start costs nothing')

    await clock.advance('90m')
    check(await ledger.rentSeconds(deploy_id), 5400, 'rented seconds')
    check(await ledger.cost(deploy_id), 1.5 * 2 * 220 * 1_000_000, '1.5 h of two GPUs at 220 cents')
    check(await ledger.balance(), funds - (await ledger.cost(deploy_id)))
  },
)
