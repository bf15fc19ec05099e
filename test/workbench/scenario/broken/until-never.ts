import { scenario } from 'modelhost-sim/scenario'

export default scenario('an until that is never reached', { fixtures: 'two-nodes', seed: 7 }, async props => {
  const { api, clock, cluster } = props
  cluster.hub.down()
  const made = await api.createLlmDeployment({
    model_name: 'acme/chat',
    gpu: 'H100-80GB',
    hub: { repo: 'acme/chat-8b' },
  })
  await clock.until(async () => (await api.getDeployment(made)).status === 'running', { within: '10m' })
})
