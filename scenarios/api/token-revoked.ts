import { Refusal, scenario } from 'modelhost-sim/scenario'

export default scenario(
  'the API token is revoked between two polls',
  {
    fixtures: 'two-nodes',
    seed: 74,
    tags: ['access'],
    teaches: 'A token can end between two requests. Deployments created with it continue and are billed.',
    client: 'Stops at 401 instead of retrying, and reads a new token from its vault before it continues.',
  },
  async ({ api, clock, cluster, ledger, check, expectRefusal }) => {
    const job = await api.createApiToken({ name: 'deploy-job' })
    const vault = [job.token, (await api.createApiToken({ name: 'deploy-job-2' })).token]
    let mine = api.as(vault.shift())
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const made = await mine.createLlmDeployment(wanted)

    await cluster.token.revoke(job.token_id)
    await expectRefusal(mine.createLlmDeployment({ ...wanted, model_name: 'acme/search' }), 401)
    let renewals = 0
    const status = async () => {
      try {
        return (await mine.getDeployment(made)).status
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 401 || vault.length === 0) throw error
        renewals++
        mine = api.as(vault.shift())
        return (await mine.getDeployment(made)).status
      }
    }
    await clock.until(async () => (await status()) === 'running', { within: '30m' })
    check(renewals, 1)
    await clock.advance('1h')
    check(await ledger.rentSeconds(made.deploy_id), 3600, 'the revoked token still costs money')
  },
)
