import { scenario } from 'modelhost-sim/scenario'

const image = 'registry.example/training:2.4'
const chat = { model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 4, hub: { repo: 'acme/chat-8b' } } as const

export default scenario(
  'a container holds the last GPUs, and a deployment and another container wait for them',
  {
    fixtures: 'two-nodes',
    seed: 48,
    with: { account: { gpu_limits: { 'H100-80GB': null } } },
    tags: ['containers', 'deployments', 'capacity'],
    teaches:
      'Containers and deployments share one fleet: a deployment waits for GPUs for ever, a container for ten minutes.',
    client: 'Deletes a container when its work is over. If one fails for lack of GPUs, tries again later.',
  },
  async ({ api, clock, check, countOf }) => {
    const rent = (name: string, gpu_config: string) =>
      api.createContainer({ name, gpu_config, container_image: image, cloud_init_user_data: '#cloud-config' })
    const shown = (container_id: string) => api.getContainer({ container_id })
    const training = await rent('training', '8xH100-80GB')
    const sweep = await rent('sweep', '8xH100-80GB')
    await clock.until(async () => (await shown(training.container_id)).state === 'running', { within: '1h' })
    await clock.until(async () => (await shown(sweep.container_id)).state === 'running', { within: '1h' })

    const { deploy_id } = await api.createLlmDeployment(chat)
    await clock.advance('1m')
    const late = await rent('late', '2xH100-80GB')
    await clock.until(async () => (await shown(late.container_id)).state === 'failed', { within: '11m' })
    check(await shown(late.container_id), { fail_reason: 'no node had 2 free H100-80GB for 10m' })
    check(await api.getDeployment({ deploy_id }), { status: 'initializing', instances: { running: 0, pending: 1 } })
    check(await api.listContainers({ state: 'inactive' }), [{ id: late.container_id }])

    await api.deleteContainer(sweep)
    check(await shown(sweep.container_id), { state: 'shutting_down' })
    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '1h' })
    const again = await rent('again', '2xH100-80GB')
    await clock.until(async () => (await shown(again.container_id)).state === 'running', { within: '1h' })
    await countOf('container.failed', 1)
  },
)
