import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a repository disappears from the hub while its model runs',
  {
    fixtures: 'two-nodes',
    seed: 64,
    tags: ['deployments', 'faults'],
    teaches:
      'Running instances continue without their repository. The next start fails, even on a node with the weights.',
    client:
      'Keeps weights that it depends on in a repository of its own, and stops nothing that it cannot start again.',
  },
  async ({ api, clock, cluster, check, expectRefusal }) => {
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const made = await api.createLlmDeployment(wanted)
    const status = async () => (await api.getDeployment(made)).status
    await clock.until(async () => (await status()) === 'running', { within: '30m' })
    await cluster.hub.remove('acme/chat-8b')
    await clock.advance('1d')
    check(await status(), 'running')

    await api.stopDeployment(made)
    await api.startDeployment(made)
    await clock.until(async () => (await status()) === 'failed', { within: '30m' })
    check(await api.getDeployment(made), { fail_reason: /acme\/chat-8b not found \(404\)/ })
    await expectRefusal(api.startDeployment(made), 400, 'failed, not stopped')
  },
)
