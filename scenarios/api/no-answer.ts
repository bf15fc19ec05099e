import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a stop is never answered, and the client cannot know whether it was done',
  {
    fixtures: 'two-nodes',
    seed: 80,
    with: { deployments: [{ model_name: 'acme/chat' }] },
    tags: ['deployments', 'faults', 'wire'],
    teaches: 'A request without an answer may have succeeded or not. Only reading the resource shows it.',
    client: 'Gives up after a timeout, reads the resource, and repeats only if needed: a second stop is 400.',
  },
  async ({ api, clock, ledger, faults, check, expectRefusal }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    await faults.add({ on: 'stopDeployment', nth: 1, fault: { kind: 'hang', effect: 'none' } })
    await faults.add({ on: 'stopDeployment', nth: 2, fault: { kind: 'hang', effect: 'done' } })

    let tries = 0
    while ((await api.getDeployment({ deploy_id })).status !== 'stopped' && tries < 5) {
      tries++
      await api.stopDeployment({ deploy_id }).catch(error => check(error.broken, true))
    }
    check(tries, 2, 'one that was not done, one that was')
    check(await api.getDeployment({ deploy_id }), { status: 'stopped' })
    await expectRefusal(api.stopDeployment({ deploy_id }), 400, 'stopped already')
    const stopped = await ledger.cost(deploy_id)
    await clock.advance('1d')
    check(await ledger.cost(deploy_id), stopped, 'and nothing runs on unseen')
  },
)
