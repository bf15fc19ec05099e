/** The scenarios of the data files beside this one, as scripts. */
import { scenario } from 'modelhost-sim/scenario'

const chat = { model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 4, hub: { repo: 'acme/chat-8b' } } as const

const crash = scenario(
  'a node is lost during a cold start',
  { fixtures: 'two-nodes', seed: 7, tags: ['deployments', 'faults'] },
  async ({ api, clock, cluster, check }) => {
    const made = await api.createLlmDeployment(chat)
    await clock.until(async () => (await api.getDeployment(made)).status === 'downloading', { within: '2m' })
    cluster.nodeOf(made.deploy_id).crash()
    check(await api.getDeployment(made), { status: 'initializing', instances: { running: 0, pending: 1 } })
    await clock.until(async () => (await api.getDeployment(made)).status === 'running', { within: '15m' })
    check(await cluster.nodeOf(made.deploy_id).view(), { name: 'h100-1', state: 'ready', free: 4 })
    check(await cluster.node('h100-0').view(), { state: 'down' }, 'the first node stays down')
  },
)

const refusals = scenario(
  'what cannot be is refused and changes nothing',
  { fixtures: 'empty', seed: 3, with: { deployments: [{ model_name: 'acme/chat' }] } },
  async ({ api, check, expectRefusal }) => {
    await expectRefusal(api.getDeployment({ deploy_id: 'none' }), 404, 'no deployment')
    await expectRefusal(
      api.createLlmDeployment({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }),
      409,
      /deployed already/i,
    )
    await expectRefusal(api.as('wrong').listDeployments(), 401)
    check(await api.listDeployments(), [{ model_name: 'acme/chat', status: 'running' }])
  },
)

const money = scenario(
  'a running deployment costs by the second, from its start',
  { fixtures: 'empty', with: { deployments: [{ model_name: 'acme/chat' }] }, tags: ['money'] },
  async ({ api, clock, ledger, check }) => {
    const funds = await ledger.balance()
    check(funds, 100_000_000_000)
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    await clock.advance('30m')
    check(await ledger.rentSeconds(deploy_id), 1800)
    check(await ledger.cost(deploy_id), 110_000_000, 'half an hour of one GPU')
    await api.stopDeployment({ deploy_id })
    await clock.advance('1h')
    check(await ledger.rentSeconds(deploy_id), 1810, 'ten seconds of draining')
    check(funds, 100_000_000_000)
  },
)

const timeline = scenario(
  'the hub is down for a while and a download waits for it',
  { fixtures: 'two-nodes', seed: 11 },
  async ({ api, clock, cluster, check, at, every }) => {
    at('30s', () => cluster.hub.down())
    at('2m', async () => {
      await cluster.hub.up()
      const deployments: { status: string }[] = await api.listDeployments()
      check(deployments, [{ status: /downloading|initializing/ }])
    })
    every('5m', async () => check(await cluster.nodes(), [{ state: 'ready' }, { state: 'ready' }]), { times: 2 })
    const made = await api.createLlmDeployment({ ...chat, num_gpus: 8, hub: { repo: 'acme/chat-70b' } })
    await clock.until(async () => (await api.getDeployment(made)).status === 'running', { within: '2h' })
    await clock.advance('10m')
  },
)

const limit = scenario(
  'a limit that is raised lets a second deployment in',
  { fixtures: 'two-nodes', seed: 5 },
  async ({ api, clock, cluster, check, expectRefusal }) => {
    cluster.limit.set('H100-80GB', 4)
    await api.createLlmDeployment({ ...chat, model_name: 'acme/a' })
    await expectRefusal(api.createLlmDeployment({ ...chat, model_name: 'acme/b' }), 403, 'over the GPU limit')
    cluster.limit.set('H100-80GB', null, { at: '5m' })
    await clock.advance('6m')
    const b = await api.createLlmDeployment({ ...chat, model_name: 'acme/b' })
    check(await api.getDeployment(b), { status: 'initializing' })
  },
)

const wire = scenario(
  'an answer is lost, and the service is slow for a while',
  {
    fixtures: 'two-nodes',
    seed: 7,
    faults: [{ name: 'slow', on: 'getDeployment', until: '5m', fault: { kind: 'latency', delay: '2s' } }],
  },
  async ({ api, clock, cluster, faults, check, expectRefusal, always, never, leadsTo, countOf }) => {
    await faults.add({
      name: 'lost',
      on: 'createLlmDeployment',
      times: 1,
      fault: { kind: 'status', status: 503, effect: 'done' },
    })
    const one = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    await expectRefusal(api.createLlmDeployment(one), 503)
    const { deploy_id } = (await api.listDeployments())[0]!
    always(
      async () =>
        check(await api.getDeployment({ deploy_id }), { status: /initializing|downloading|deploying|running/ }),
      'it goes on',
    )
    never(async () => (await cluster.node('h100-0').view()).state === 'down')
    leadsTo('deployment.initializing', 'deployment.running', { within: '30m', sameSubject: true })
    await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '1h' })
    await countOf({ kind: 'deployment.created', subject: deploy_id }, 1)
    check(await faults.get('lost'), { matches: 1, hits: 1 })
  },
)

const paced = scenario(
  'a chat takes its time and breaks off with its node',
  { fixtures: 'two-nodes', seed: 7, inferencePace: 'clock', with: { deployments: [{ model_name: 'acme/chat' }] } },
  async ({ api, at, cluster, check, countOf, expectRefusal }) => {
    const all = await api.listDeployments()
    check(all, [{ status: 'running' }])
    at('200ms', () => cluster.nodeOf(all[0]!.deploy_id).crash())
    const ask = { model: 'acme/chat', messages: [{ role: 'user' as const, content: 'Hello!' }] }
    await expectRefusal(api.createChatCompletion(ask), 503, /was lost/)
    await countOf('inference.broken', 1)
  },
)

export default [crash, refusals, money, timeline, limit, wire, paced]
