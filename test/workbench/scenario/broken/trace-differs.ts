import { scenario } from 'modelhost-sim/scenario'

export default scenario('another trace than before', { fixtures: 'two-nodes', seed: 7 }, async ({ api, check }) => {
  await api.createLlmDeployment({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  check(await api.listDeployments(), [{ status: 'initializing' }])
})
