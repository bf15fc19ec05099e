import { scenario } from 'modelhost-sim/scenario'

export default scenario('an always that is broken', { fixtures: 'two-nodes', seed: 7 }, async props => {
  const { api, always, clock, cluster } = props
  const made = await api.createLlmDeployment({
    model_name: 'acme/chat',
    gpu: 'H100-80GB',
    hub: { repo: 'acme/chat-8b' },
  })
  await clock.until(async () => (await api.getDeployment(made)).status === 'running', { within: '1h' })
  always(async () => (await api.getDeployment(made)).instances?.running !== 0, 'an instance serves')
  cluster.nodeOf(made.deploy_id).crash({ at: '5m' })
  await clock.advance('1h')
})
