import { scenario } from 'modelhost-sim/scenario'

export default scenario(
  'a model does not fit into the memory of one GPU, whatever the batch size',
  {
    fixtures: 'empty',
    seed: 21,
    tags: ['deployments'],
    teaches:
      'Only the weights decide whether a model fits. A smaller max_batch_size saves no memory, so a retry with it fails too.',
    client:
      'Reads fail_reason, deletes the failed deployment, and uses more GPUs or smaller weights instead of a retry.',
  },
  async ({ api, clock, check, never }) => {
    const wanted = { model_name: 'acme/chat', gpu: 'L4-24GB', hub: { repo: 'harbor-ai/harbor-12b-instruct' } } as const
    const start = (max_batch_size: number, num_gpus: number) =>
      api.createLlmDeployment({ ...wanted, max_batch_size, num_gpus })
    const settled = async ({ deploy_id }: { deploy_id: string }) => {
      const over = async () => /running|failed/.test((await api.getDeployment({ deploy_id })).status)
      await clock.until(over, { within: '30m' })
      return api.getDeployment({ deploy_id })
    }

    const small = await settled(await start(8, 1))
    check(small, { status: 'failed', fail_reason: /memory/ })
    await api.deleteDeployment(small)

    const big = await settled(await start(256, 1))
    check(big, { status: 'failed', fail_reason: /memory/, instances: { running: 0, pending: 0 } })
    const revived = async () => (await api.getDeployment(big)).status !== 'failed'
    const watch = never(revived, 'what does not fit is not tried again')
    await clock.advance('1h')
    watch.stop()

    await api.deleteDeployment(big)
    check(await settled(await start(256, 2)), { status: 'running' })
  },
)
