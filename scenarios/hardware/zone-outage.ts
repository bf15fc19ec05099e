import { scenario } from 'modelhost-sim/scenario'

const node = { gpu: 'H100-80GB', gpus_per_node: 8, count: 1 } as const
const pools = [
  { name: 'east', zone: 'east-a', nodes: [{ ...node, prefix: 'east', image_cached: true }] },
  { name: 'west', zone: 'west-a', nodes: [{ ...node, prefix: 'west' }] },
]
const account = { uid: 'user_1', email: 'ops@acme.example', display_name: 'acme', funds_cents: 500_000 }
const api_tokens = [{ token: 'sim_zone_token', token_id: 'token_1', name: 'default', created_at: 1_767_180_435 }]
const weights = { repo: 'acme/chat-70b' }
const size = { bytes: 70_580_000_000, parameters_b: 70.6, quantization: 'fp8', context: 8192 } as const
const hub = { repositories: [{ ...weights, ...size }] }
const names = ['chat', 'search', 'rank', 'embed']
const deployments = names.map(name => ({ model_name: `acme/${name}`, num_gpus: 2, weights }))

export default scenario(
  'a zone goes down, and everything starts cold at once in the other',
  {
    fixtures: {
      account: { ...account, gpu_limits: { 'H100-80GB': 16 } },
      api_tokens,
      hub,
      nodes: { pools },
      deployments,
    },
    seed: 52,
    tags: ['deployments', 'faults'],
    teaches: 'All that was lost is requested again at once and starts cold. The outage ends with the slowest start.',
    client: 'Sends no creates of its own, because the service replaces what was lost. Waits, and polls less often.',
  },
  async ({ api, clock, cluster, check, countOf, leadsTo }) => {
    check((await cluster.nodeOf((await api.listDeployments())[0]!.deploy_id).view()).zone, 'east-a')
    leadsTo('instance.lost', 'instance.ready', { within: '1h' })
    await cluster.zone('east-a').down()
    await countOf('instance.lost', 4)
    const ready = async () => (await api.listDeployments()).filter(({ instances }) => instances?.running === 1).length
    check(await ready(), 0)

    let wait = 10
    while ((await ready()) < 4) {
      await clock.advance(`${wait}s`)
      wait = Math.min(wait * 2, 300)
    }
    await countOf('instance.placed', 4, 'one replacement each')
    await countOf({ kind: 'request', subject: 'createLlmDeployment' }, 0)
    check(clock.elapsed < 3_600_000_000, true, 'within the hour')
    await cluster.zone('east-a').up()
    await clock.advance('1h')
    await countOf('instance.placed', 4, 'no instance moves back')
  },
)
