import { scenario } from 'modelhost-sim/scenario'

const options = {
  fixtures: 'empty',
  seed: 5,
  with: { deployments: [{ model_name: 'acme/chat' }] },
  tags: ['adapters'],
  teaches: 'An adapter depends on its base. It cannot start before its base, and fails if its base is deleted.',
  client: 'Starts the base, and waits for the adapter by itself.',
}
const source = { type: 'modelhub', modelhub_url: 'https://hub.example/acme/support-8b' } as const
const support = { base_model: 'acme/chat', lora_name: 'support', source, private: true }

export default scenario('an adapter on a stopped base waits for it and comes back with it', options, async props => {
  const { api, clock, ledger, check, expectRefusal } = props
  const [deployed] = await api.listDeployments()
  const base = deployed!
  await api.stopDeployment(base)

  const adapter = await api.createLora(support)
  check(adapter, { type: 'lora', model_name: 'acme/support', status: 'stopped' })
  await expectRefusal(api.startDeployment(adapter), 400, 'its base acme/chat is stopped')
  await clock.advance('1h')
  check(await api.getDeployment(adapter), { status: 'stopped', instances: { running: 0, pending: 0 } })

  await api.startDeployment(base)
  await clock.until(async () => (await api.getDeployment(base)).status === 'running', { within: '15m' })
  check(await api.getDeployment(adapter), { status: 'initializing', instances: { running: 0, pending: 1 } })
  await clock.until(async () => (await api.getDeployment(adapter)).status === 'running', { within: '5m' })
  check(await api.getDeployment(adapter), { instances: { running: 1, pending: 0 } })

  await clock.advance('1h')
  check(await ledger.cost(adapter.deploy_id), 0, "an adapter runs on its base's GPUs")
  await api.stopDeployment(base)
  check(await api.getDeployment(adapter), { status: 'stopped' })

  await api.deleteDeployment(base)
  check(await api.getDeployment(adapter), { status: 'failed', fail_reason: 'base acme/chat was deleted' })
})
