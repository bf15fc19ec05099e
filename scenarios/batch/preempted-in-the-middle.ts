import { scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'
const url = '/v1/completions'
const ids = Array.from({ length: 60 }, (_, n) => `story-${n}`)
const line = (custom_id: string) =>
  JSON.stringify({ custom_id, method: 'POST', url, body: { model, prompt: `Tell me ${custom_id}.` } })
const spot = { prefix: 'spot', gpu: 'H100-80GB', gpus_per_node: 8, count: 1, image_cached: true } as const
const pools = [
  { name: 'spot', zone: 'west-a', market: 'spot' as const, nodes: [spot] },
  { name: 'own', zone: 'east-a', nodes: [{ ...spot, prefix: 'own', image_cached: false }] },
]
const account = { uid: 'user_1', email: 'ops@acme.example', display_name: 'acme', funds_cents: 500_000 }
const api_tokens = [{ token: 'sim_spot_token', token_id: 'token_1', name: 'default', created_at: 1_767_180_435 }]

export default scenario(
  'a spot node is taken back in the middle of a batch',
  {
    fixtures: { account, api_tokens, nodes: { pools }, deployments: [{ model_name: model }] },
    seed: 33,
    tags: ['batches', 'faults'],
    teaches:
      'A short notice of a preemption lets lines finish, but starts no other instance in time. Until one is ready, the batch pauses.',
    client: 'Does not treat unchanged counts as a failure for minutes, and allows for a cold start in its deadlines.',
  },
  async ({ api, clock, cluster, check, countOf }) => {
    const upload = await api.uploadFile({ purpose: 'batch', file: ids.map(line).join('\n') })
    const { id } = await api.createBatch({ input_file_id: upload.id, endpoint: url, completion_window: '24h' })
    const batch = () => api.getBatch({ batch_id: id })
    const done = async () => (await batch()).request_counts?.completed ?? 0
    await clock.until(async () => (await done()) === 20, { within: '10m' })

    const { deploy_id } = (await api.listDeployments())[0]!
    check(await cluster.nodeOf(deploy_id).view(), { name: 'spot-0' })
    await cluster.pool('spot').preempt('10s')
    await clock.until(async () => (await api.getDeployment({ deploy_id })).instances?.running === 0, { within: '1m' })
    check(await batch(), { status: 'in_progress' })
    await clock.until(async () => (await batch()).status === 'completed', { within: '1h' })
    check(await batch(), { request_counts: { total: 60, completed: 60, failed: 0 } })
    await countOf('batch.linesRetried', 0, 'nothing was done twice')
    check(await cluster.nodeOf(deploy_id).view(), { name: 'own-0' })
  },
)
