import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'the list of deployments lags behind a create',
  {
    fixtures: 'two-nodes',
    seed: 76,
    tags: ['deployments', 'faults', 'wire'],
    teaches: 'A list may be seconds old: a new deployment is missing in it, and a second create is 409.',
    client: 'Keeps the id of the answer and reads the deployment by id. Ignores that it is missing in a list.',
  },
  async ({ api, clock, faults, check, expectRefusal, countOf }) => {
    await faults.add({ on: 'listDeployments', fault: { kind: 'stale', lag: '30s' } })
    await clock.advance('1m')
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const made = await api.createLlmDeployment(wanted)
    await clock.advance('5s')
    check(await api.listDeployments(), [], 'not there yet')
    check(await api.getDeployment(made), { model_name: 'acme/chat' })
    await expectRefusal(api.createLlmDeployment(wanted), 409, 'deployed already')

    await clock.advance('30s')
    check(await api.listDeployments(), [{ deploy_id: made.deploy_id }])
    await api.deleteDeployment(made)
    check(await api.listDeployments(), [{ deploy_id: made.deploy_id }], 'and gone it lingers')
    check(await api.getDeployment(made), { status: 'deleted' })
    await countOf('deployment.created', 1)
  },
)
