import { scenario } from 'modelhost-sim/scenario'

export default scenario('a refusal that does not come', { fixtures: 'two-nodes', seed: 7 }, async props => {
  const { api, expectRefusal } = props
  const chat = { gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
  await api.createLlmDeployment({ ...chat, model_name: 'acme/one' })
  await expectRefusal(api.createLlmDeployment({ ...chat, model_name: 'acme/two' }), 403, 'over the GPU limit')
})
