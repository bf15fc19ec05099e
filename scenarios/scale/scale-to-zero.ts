import { scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const url = '/v1/chat/completions'
const settings = { min_instances: 0, max_instances: 1 }
const line = (n: number) => {
  const body = { model, messages: [{ role: 'user', content: `Question ${n}` }], max_tokens: 40 }
  return JSON.stringify({ custom_id: `q-${n}`, method: 'POST', url, body })
}

export default scenario(
  'a deployment sleeps at zero, and the first work wakes it',
  {
    fixtures: 'empty',
    seed: 24,
    with: { deployments: [{ model_name: model, settings }] },
    tags: ['deployments', 'scaling', 'batches'],
    teaches:
      'At zero instances the status is still running and nothing is billed; the first work pays with a cold start.',
    client: 'Allows minutes for the first answer after a pause, or keeps min_instances at 1.',
  },
  async ({ api, clock, ledger, check }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    const deployment = () => api.getDeployment({ deploy_id })
    await clock.until(async () => (await deployment()).instances?.running === 0, { within: '10m' })
    check(await deployment(), { status: 'running', instances: { running: 0, pending: 0 } })
    await clock.advance('1m')
    const asleep = await ledger.cost(deploy_id)
    await clock.advance('8h')
    check(await ledger.cost(deploy_id), asleep, 'a night at zero costs nothing')

    const upload = await api.uploadFile({ purpose: 'batch', file: [line(1), line(2)].join('\n') })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    await clock.until(async () => (await deployment()).instances?.pending === 1, { within: '1m' })
    await clock.until(async () => (await api.getBatch({ batch_id: id })).status === 'completed', { within: '30m' })
    check(await api.getBatch({ batch_id: id }), { request_counts: { total: 2, completed: 2, failed: 0 } })
    check((await ledger.cost(deploy_id)) > asleep, true, 'what was woken is billed again')
  },
)
