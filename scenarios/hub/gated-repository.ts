import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'the weights are gated, and the create lacks the token for them',
  {
    fixtures: 'two-nodes',
    seed: 62,
    tags: ['deployments'],
    teaches: 'The hub is asked only when a node downloads: a create without its token is 200 and fails minutes later.',
    client: 'Counts a create as good only after the download, and gives hub.token for gated repositories.',
  },
  async ({ api, clock, check, countOf }) => {
    const repo = 'acme/private-70b'
    const wanted = { model_name: 'acme/private', gpu: 'H100-80GB', num_gpus: 4 } as const
    const made = await api.createLlmDeployment({ ...wanted, hub: { repo } })
    await clock.until(async () => (await api.getDeployment(made)).status === 'failed', { within: '30m' })
    check(await api.getDeployment(made), { fail_reason: /acme\/private-70b.*token/, instances: { pending: 0 } })
    await clock.advance('1h')
    await countOf('instance.placed', 1, 'a refusal is not tried again')

    await api.deleteDeployment(made)
    const again = await api.createLlmDeployment({ ...wanted, hub: { repo, token: 'hub_acme_token' } })
    await clock.until(async () => (await api.getDeployment(again)).status === 'running', { within: '1h' })
  },
)
