import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'an allow-list shuts out the machine that deploys',
  {
    fixtures: 'two-nodes',
    seed: 75,
    tags: ['access'],
    teaches: 'A caller outside allowed_ips gets 403, not 401: the token is good, the address is not.',
    client: 'Reads in the text of a 403 whether the address or a limit is the reason, and keeps a good token.',
  },
  async ({ api, cluster, check, expectRefusal, unchanged }) => {
    const { token, token_id } = await api.createApiToken({ name: 'deploy-job' })
    const mine = api.as(token)
    check(await mine.listDeployments(), [])
    await cluster.token.allowIps(token_id, ['203.0.113.0/24'])
    check(await api.getApiToken({ token: token_id }), { allowed_ips: ['203.0.113.0/24'] })

    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    await unchanged(() => expectRefusal(mine.createLlmDeployment(wanted), 403))
    await expectRefusal(mine.listDeployments(), 403)
    await expectRefusal(api.as('no-such-token').listDeployments(), 401)

    await cluster.token.allowIps(token_id, ['203.0.113.0/24', '127.0.0.0/8', '::1'])
    check(await mine.createLlmDeployment(wanted), { status: 'initializing' })
  },
)
