import { scenario } from 'modelhost-sim/scenario'

export default scenario.each([
  { minutes: 2, ends: 'running' },
  { minutes: 60, ends: 'failed' },
] as const)(
  'the hub is down for $minutes minutes, and the start ends $ends',
  {
    fixtures: 'empty',
    seed: 63,
    tags: ['deployments', 'faults'],
    teaches:
      'A download that stalls is given up after a minute and tried again four times in all: short outages pass unseen.',
    client: 'After a failure of the hub, deletes and creates the deployment again. The service does not retry it.',
  },
  async ({ api, clock, cluster, check, countOf }, { minutes, ends }) => {
    const wanted = {
      model_name: 'acme/chat',
      gpu: 'H100-80GB',
      hub: { repo: 'aurora-labs/aurora-8b-instruct' },
    } as const
    const made = await api.createLlmDeployment(wanted)
    const status = async () => (await api.getDeployment(made)).status
    await clock.until(async () => (await status()) === 'downloading', { within: '1m' })
    await cluster.hub.down()
    await cluster.hub.up({ at: `${minutes}m` })
    await clock.until(async () => /running|failed/.test(await status()), { within: '2h' })
    check(await status(), ends)
    await countOf('instance.lost', ends === 'failed' ? 4 : '1..3', 'downloads that were given up')
    if (ends === 'running') return

    check(await api.getDeployment(made), { fail_reason: /hub/ })
    await clock.advance('1h')
    check(await status(), 'failed', 'the hub is back, and this one stays as it is')
    await api.deleteDeployment(made)
    const again = await api.createLlmDeployment(wanted)
    await clock.until(async () => (await api.getDeployment(again)).status === 'running', { within: '1h' })
  },
)
