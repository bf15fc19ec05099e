/** Why a deployment is not ready: the cause that decides, whatever else is wrong in its world. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { createSimulator, type ExplorableSimulator, type SimulatorOptions } from '../../../src/index.ts'
import { sendTo } from '../../setup/send-to.ts'

const ID = 'Chat000000000001'
const GPU = 'H100-80GB'
const DEPLOYMENT = { model_name: 'acme/new', gpu: GPU, hub: { repo: 'acme/chat-8b' } }

function simulate(options: SimulatorOptions = {}): ExplorableSimulator {
  const deployments = [{ deploy_id: ID, model_name: 'acme/chat', gpu: GPU, num_gpus: 1 }] as const
  const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments: [...deployments] }, seed: 1, ...options })
  onTestFinished(() => sim[Symbol.asyncDispose]())
  return sim
}

/** Breaks each GPU of the second node. */
function failAllGpus(sim: ExplorableSimulator): void {
  for (let gpu = 0; gpu < 8; gpu++) sim.cluster.gpu('h100-1', gpu).fail(79)
}

/** Creates a deployment as a client does. Returns its id. */
async function create(sim: ExplorableSimulator, changed: object = {}): Promise<string> {
  const response = await sendTo(sim, 'POST /deploy/llm', { ...DEPLOYMENT, ...changed })
  return ((await response.json()) as { deploy_id: string }).deploy_id
}

/** Returns the sentence with the reason for which something is not ready, and the kinds of its causes. */
function whyNot(sim: ExplorableSimulator, id: string) {
  const { sentences, chain } = sim.explain(id)
  return {
    because: sentences.filter(text => text.includes('because')),
    kinds: chain.map(({ kind }) => kind),
    sentences,
  }
}

describe('a deployment that is not ready', () => {
  test('names the stock-out, although its own GPUs use up the quota', async () => {
    const sim = simulate()
    sim.cluster.limit.set(GPU, 2)
    sim.cluster.stockOut(GPU)
    const id = await create(sim)
    await sim.clock.advance('5m')
    const { because, kinds, sentences } = whyNot(sim, id)
    expect(because).toEqual([`It is not ready, because GPUs of the type ${GPU} are out of stock.`])
    expect(sentences.join(' ')).not.toContain('quota')
    expect(kinds).toEqual(['deployment.created', 'request', 'pool.stockedOut'])
    expect(whyNot(sim, `${id}-0`).because).toEqual(because)
    sim.cluster.restock(GPU)
    await sim.clock.advance('1s')
    expect(whyNot(sim, id).because.join()).not.toContain('out of stock')
    expect(whyNot(sim, id).kinds).not.toContain('pool.stockedOut')
  })

  test('names the quota if it keeps the replacement of a lost instance from being requested', () => {
    const sim = simulate()
    sim.cluster.limit.set(GPU, 0)
    sim.cluster.nodeOf(ID).crash()
    const { because, kinds } = whyNot(sim, ID)
    expect(because).toEqual([
      `It is not ready, because the quota of the account is 0 GPUs of the type ${GPU}. It holds 0 of them, and an instance needs 1.`,
    ])
    expect(kinds).toContain('deployment.limited')
    expect(kinds).toContain('limit.set')
    expect(kinds).toContain('node.crashed')
  })

  test('names the crashed node if no other node has room, and not if one has', async () => {
    const sim = simulate()
    sim.cluster.node('h100-1').cordon()
    sim.cluster.node('h100-0').crash()
    expect(whyNot(sim, ID)).toMatchObject({
      because: ['It is not ready, because the node h100-0 is down, and no other node has room.'],
      kinds: ['instance.lost', 'node.crashed'],
    })
    sim.cluster.node('h100-1').uncordon()
    expect(whyNot(sim, ID).because).toEqual([
      'It is not ready, because a node has room, and its new instance is not placed on it yet.',
    ])
    await sim.clock.advance('20s')
    const { because, kinds } = whyNot(sim, ID)
    expect(because.join()).toMatch(/because its instance Chat000000000001-1 still starts: it \w+/)
    expect(kinds).toEqual(['instance.lost', 'node.crashed'])
  })

  test('names the hub that is down while its weights are on their way, and the throttle', async () => {
    const sim = simulate()
    const id = await create(sim, { hub: { repo: 'aurora-labs/aurora-8b-instruct' } })
    await sim.clock.advance('169s')
    sim.cluster.hub.down()
    const { because, kinds } = whyNot(sim, id)
    expect(because).toEqual(['It is not ready, because the model hub does not answer, so its weights do not arrive.'])
    expect(kinds[0]).toBe('hub.down')
    sim.cluster.hub.up()
    sim.cluster.hub.throttle(0.1)
    expect(whyNot(sim, id).because).toEqual([
      'It is not ready, because downloads from the model hub have 10 percent of their speed.',
    ])
  })

  test('names the registry that is down, if its node lacks the image', async () => {
    const sim = simulate()
    sim.cluster.registry.down()
    const id = await create(sim)
    await sim.clock.advance('20s')
    expect(whyNot(sim, id)).toMatchObject({
      because: ['It is not ready, because the image registry does not answer, so its image does not arrive.'],
      kinds: ['deployment.downloading', 'instance.pulling', 'instance.placed', 'request', 'registry.down'],
    })
  })

  test('names the frozen autoscaler, a suspension, a zone, a cordon, broken GPUs and other customers', () => {
    const cases: readonly (readonly [break_: (sim: ExplorableSimulator) => void, words: RegExp, kind: string])[] = [
      [sim => sim.cluster.autoscaler.freeze(), /the autoscaler is frozen, so no instance/, 'autoscaler.frozen'],
      [sim => sim.cluster.account.suspend('admin'), /the account is suspended \(admin\)/, 'account.suspended'],
      [sim => sim.cluster.zone('east-a').down(), /the zone east-a is down, and no node that is left/, 'zone.down'],
      [sim => sim.cluster.node('h100-1').crash(), /the nodes h100-0, h100-1 are down, and no other/, 'node.crashed'],
      [failAllGpus, /the node h100-0 is down, and no other node has room/, 'node.crashed'],
    ]
    for (const [break_, words, kind] of cases) {
      const sim = simulate()
      break_(sim)
      if (kind !== 'zone.down') sim.cluster.node('h100-0').crash()
      const { because, kinds } = whyNot(sim, ID)
      expect(because.join()).toMatch(words)
      expect(kinds).toContain(kind)
    }
  })

  test('names broken GPUs, a cordon, GPUs of the account and of other customers on the nodes that are up', async () => {
    const whole = { num_gpus: 8 }
    const broken = simulate()
    failAllGpus(broken)
    expect(whyNot(broken, await create(broken, whole)).because).toEqual([
      'It is not ready, because the node h100-1 is short of GPUs that work, and no other node has room.',
    ])
    const closed = simulate()
    closed.cluster.node('h100-1').cordon()
    expect(whyNot(closed, await create(closed, whole))).toMatchObject({
      because: ['It is not ready, because the node h100-1 is cordoned, and no other node has room.'],
      kinds: ['deployment.created', 'request', 'node.cordoned'],
    })
    const full = simulate()
    full.cluster.limit.set(GPU, 100)
    const first = await create(full, { ...whole, model_name: 'acme/first' })
    await full.clock.advance('1m')
    const second = await create(full, whole)
    expect(whyNot(full, second).because).toEqual([
      `It is not ready, because no node has 8 free GPUs of the type ${GPU}, and the account holds the others.`,
    ])
    expect(whyNot(full, first).because.join()).toMatch(/still starts: it/)
    const nodes = [{ prefix: 'a100', gpu: 'A100-80GB', gpus_per_node: 8, count: 1, occupied: 4 } as const]
    const pools = [{ name: 'only', zone: 'east-a', nodes }]
    const shared = simulate({ with: { nodes: { pools } } } as SimulatorOptions)
    shared.cluster.limit.set('A100-80GB', 100)
    expect(whyNot(shared, await create(shared, { ...whole, gpu: 'A100-80GB' })).because).toEqual([
      `It is not ready, because other customers hold the GPUs of the type A100-80GB that it needs.`,
    ])
  })

  test('has no such sentence if it is ready, stopped or scaled to zero', async () => {
    const sim = simulate()
    expect(whyNot(sim, ID).because).toEqual([])
    const id = await create(sim, { settings: { min_instances: 0 } })
    await sim.clock.advance('1d')
    expect(whyNot(sim, id).because).toEqual([
      'It is scaled to zero, because it had no work. The next request to it asks for an instance.',
    ])
  })
})

describe('the entry that began a wait', () => {
  test('names the deployments that wait because of it, until it is over', async () => {
    const sim = simulate()
    sim.cluster.stockOut(GPU)
    await create(sim)
    const { seq } = sim.journal.entries().findLast(({ kind }) => kind === 'pool.stockedOut')!
    expect(sim.explain(seq).sentences).toContain('1 deployment waits because of it: acme/new.')
    for (const name of ['acme/a', 'acme/b', 'acme/c']) await create(sim, { model_name: name })
    expect(sim.explain(seq).sentences).toContain(
      '4 deployments wait because of it: acme/new, acme/a, acme/b and 1 other.',
    )
    sim.cluster.restock(GPU)
    await sim.clock.advance('1s')
    expect(sim.explain(seq).sentences.join()).not.toContain('because of it')
  })

  test('is the newest of its kind, and no entry of another kind', async () => {
    const sim = simulate()
    sim.cluster.stockOut(GPU)
    sim.cluster.restock(GPU)
    sim.cluster.stockOut(GPU)
    await create(sim)
    const naming = sim.journal
      .entries()
      .filter(({ seq }) => sim.explain(seq).sentences.join().includes('because of it'))
    expect(naming.map(({ kind }) => kind)).toEqual(['pool.stockedOut'])
    expect(naming[0]!.seq).toBe(sim.journal.entries().findLast(({ kind }) => kind === 'pool.stockedOut')!.seq)
  })
})
