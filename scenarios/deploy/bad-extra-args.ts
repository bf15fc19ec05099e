import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a mistyped engine argument ends in a crash loop',
  {
    fixtures: 'two-nodes',
    seed: 22,
    tags: ['deployments'],
    teaches:
      'The arguments in extra_args are not checked at create: the engine exits, again and again, and only then the deployment fails.',
    client:
      'Gives a start a deadline, deletes what is not ready by then, and corrects the argument that fail_reason names.',
  },
  async ({ api, clock, cluster, check, countOf }) => {
    const wanted = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    const wrong = await api.createLlmDeployment({ ...wanted, extra_args: ['--max-model-length', '4096'] })
    check(wrong, { status: 'initializing', fail_reason: '' }, 'the create says nothing of it')

    const failed = async () => (await api.getDeployment(wrong)).status === 'failed'
    await clock.until(failed, { within: '1h' })
    check(await api.getDeployment(wrong), { fail_reason: /crash loop: 7 exits in a row.*max-model-length/ })
    await countOf('instance.crashed', 7)
    check(await cluster.node('h100-0').view(), { free: 8 }, 'its GPU is given back')

    await api.deleteDeployment(wrong)
    const right = await api.createLlmDeployment({ ...wanted, extra_args: ['--max-model-len', '4096'] })
    await clock.until(async () => (await api.getDeployment(right)).status === 'running', { within: '30m' })
  },
)
