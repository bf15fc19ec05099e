import { scenario } from 'modelhost-sim/scenario'

export default scenario('a wrong value', { fixtures: 'two-nodes', seed: 7 }, async ({ api, clock, check }) => {
  const made = await api.createLlmDeployment({
    model_name: 'acme/chat',
    gpu: 'H100-80GB',
    hub: { repo: 'acme/chat-8b' },
  })
  await clock.advance('1m')
  check(await api.getDeployment(made), { status: 'running', instances: { running: 1 } }, 'it runs after a minute')
})
