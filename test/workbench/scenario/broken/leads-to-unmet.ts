import { scenario } from 'modelhost-sim/scenario'

export default scenario('a leadsTo that is not met', { fixtures: 'two-nodes', seed: 7 }, async props => {
  const { api, clock, leadsTo } = props
  leadsTo('deployment.created', 'deployment.running', { within: '2m', sameSubject: true })
  await api.createLlmDeployment({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await clock.advance('1h')
})
