import { scenario } from 'modelhost-sim/scenario'

const base_model = 'aurora-labs/aurora-70b-instruct'

export default scenario(
  'a client looks for GPUs first, and takes others when those it wants are sold out',
  {
    fixtures: 'empty',
    seed: 56,
    tags: ['deployments', 'capacity'],
    teaches: 'Availability is a snapshot and reserves nothing. A create without free GPUs only waits.',
    client: 'Asks right before each create, uses the recommended type, and still sets a deadline.',
  },
  async ({ api, clock, cluster, check }) => {
    const offers = async () => (await api.getGpuAvailability({ base_model })).gpus
    const recommended = async () => (await offers()).find(one => one.recommended)!.gpu_config
    check(await recommended(), '1xA100-80GB')

    await cluster.stockOut('A100-80GB')
    const soldOut = (await offers()).filter(one => one.gpu_config.endsWith('xA100-80GB'))
    check(
      soldOut.map(one => one.available),
      [false, false, false, false],
    )
    check(await recommended(), '2xL40S-48GB')

    const { model_name } = await api.suggestDeploymentName({ model_name: base_model })
    check(model_name, 'acme/aurora-70b-instruct')
    const waits = await api.createLlmDeployment({ model_name, base_model, gpu: 'A100-80GB' })
    const other = (await api.suggestDeploymentName({ model_name: base_model })).model_name
    check(other, 'acme/aurora-70b-instruct-2', 'a name is free until another deployment takes it')
    const comes = await api.createLlmDeployment({ model_name: other, base_model, gpu: 'L40S-48GB', num_gpus: 2 })
    await clock.until(async () => (await api.getDeployment(comes)).status === 'running', { within: '1h' })
    check(await api.getDeployment(waits), { status: 'initializing', instances: { pending: 1 } })
    await api.deleteDeployment(waits)
    const left = (await offers()).find(one => one.gpu_config === '4xL40S-48GB')!
    check(left, { available: false }, 'the limit of four L40S is used in part')
  },
)
