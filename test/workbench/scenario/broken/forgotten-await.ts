import { scenario } from 'modelhost-sim/scenario'

export default scenario('a forgotten await', { fixtures: 'two-nodes', seed: 7 }, async ({ api, clock, check }) => {
  const made = await api.createLlmDeployment({
    model_name: 'acme/chat',
    gpu: 'H100-80GB',
    hub: { repo: 'acme/chat-8b' },
  })
  clock.advance('30m')
  check(await api.getDeployment(made), { status: 'running' })
})
