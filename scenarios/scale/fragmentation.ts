import { scenario } from 'modelhost-sim/scenario'

const part = (name: string) => ({ model_name: `acme/${name}`, num_gpus: 5 })

export default scenario(
  'six GPUs are free and four cannot be had',
  {
    fixtures: 'two-nodes',
    seed: 25,
    with: { deployments: [part('chat'), part('search')] },
    tags: ['deployments', 'scaling'],
    teaches: 'An instance needs all its GPUs on one node: free GPUs on two nodes do not add up.',
    client: 'Gives waiting a deadline, then asks for fewer GPUs an instance or makes room, instead of creating again.',
  },
  async ({ api, clock, cluster, check, countOf }) => {
    check(await cluster.nodes(), [{ free: 3 }, { free: 3 }])
    const wide = { model_name: 'acme/wide', gpu: 'H100-80GB', num_gpus: 4, hub: { repo: 'acme/chat-70b' } } as const
    const made = await api.createLlmDeployment(wide)
    const deployment = () => api.getDeployment(made)
    await clock.advance('2h')
    check(await deployment(), { status: 'initializing', fail_reason: '', instances: { running: 0, pending: 1 } })
    check(await cluster.nodes(), [{ free: 3 }, { free: 3 }], 'nothing moves to make room')
    await countOf('instance.placed', 0)

    const chat = (await api.listDeployments()).find(({ model_name }) => model_name === 'acme/chat')
    await api.stopDeployment(chat!)
    await clock.until(async () => (await deployment()).status === 'running', { within: '30m' })
    check(await cluster.nodeOf(made.deploy_id).view(), { free: 4 }, 'the node that chat has left')
  },
)
