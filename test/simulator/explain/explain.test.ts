/** Explanations of things and requests, as a person reads them. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createSimulator, type ExplorableSimulator, type SimulatorOptions } from '../../../src/index.ts'
import { formatDuration, HOUR } from '../../../src/kernel/duration.ts'
import { describeEntry } from '../../../src/simulator/explain/kind-sentences.ts'
import { toFuture } from '../../../src/simulator/explain/sentence.ts'
import { batchLine, startBatch } from '../../setup/batches.ts'
import { askTo } from '../../setup/send-to.ts'

const ID = 'Chat000000000001'
const DEPLOYMENT = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const kindsOf = (entries: readonly { readonly kind: string }[]) => entries.map(({ kind }) => kind)

function simulate(options: SimulatorOptions = {}) {
  const deployments = [{ deploy_id: ID, model_name: 'acme/chat' }]
  const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, seed: 1, ...options })
  onTestFinished(() => sim[Symbol.asyncDispose]())
  return { sim, send: sender(sim) }
}

/** Returns a client that sends JSON and returns the status of the answer. */
const sender =
  (sim: ExplorableSimulator) =>
  async (method: string, path: string, body?: unknown, token = sim.token) =>
    (await askTo({ fetch: sim.fetch, token }, `${method} ${path}`, body)).status

const chat = (model: string) =>
  ['POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] }] as const
/** Lets requests in the process take their step. */
const settle = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}
const lastRequest = (sim: ExplorableSimulator) => sim.explain(sim.requests.at(-1)!.seq)

describe('a refused request', () => {
  test('leads back over five links to the outage of a zone', async () => {
    const { sim, send } = simulate({ inferencePace: 'clock' })
    sim.timelines.start({
      name: 'outage',
      title: 'an outage',
      acts: [{ at: 1_000, command: { verb: 'zone.down', target: 'east-a' } }],
      problems: [],
    })
    const answer = send(...chat('acme/chat'))
    await settle()
    await sim.clock.advance('1s')
    expect(await answer).toBe(503)
    const { subject, sentences, chain } = lastRequest(sim)
    expect(subject).toMatch(/^request \d+$/)
    expect(kindsOf(chain)).toEqual(['request', 'inference.broken', 'instance.lost', 'zone.down', 'scenario.started'])
    expect(chain[1]!.sentence).toMatch(/^The answer chatcmpl-\w+ broke\. The reason is 'zone east-a is down'\.$/)
    expect(chain[2]!.sentence).toBe(
      `The instance ${ID}-0 was lost. The reason is 'zone east-a is down'. It was ready before.`,
    )
    expect(chain[3]!.sentence).toBe('The zone east-a went down, and all of its nodes are lost.')
    expect(chain[4]!.sentence).toBe('The timeline of the scenario outage started.')
    // The refused request is an effect of what came after it.
    for (const { seq } of chain.slice(1))
      expect(sim.explain(seq).effects.map(effect => effect.seq)).toContain(chain[0]!.seq)
    expect(sentences).toContain(
      "The state of the account or the fleet decided the answer: 'the instance that answered was lost: zone east-a is down'.",
    )
    expect(sentences).toContain('The chain begins with the program that controls the simulator.')
  })

  test('names the start of a deployment that is not running yet, and says when it will be', async () => {
    const { sim, send } = simulate()
    expect(await send('POST', '/deploy/llm', DEPLOYMENT)).toBe(200)
    const [created] = sim.journal.entries().filter(({ kind }) => kind === 'deployment.created')
    expect(await send(...chat(`deploy_id:${created!.subject}`))).toBe(503)
    const { chain, next, sentences } = lastRequest(sim)
    expect(kindsOf(chain)).toEqual(['request', 'deployment.created', 'request'])
    expect(sentences).toContain('The chain begins with the request of a client.')
    expect(sentences).toContain('The answer asked the client to wait for 10 seconds.')
    expect(next?.sentence).toMatch(/^The instance \S+ will get 1 GPU of the node h100-\d\.$/)
  })

  test('names the crash that moved a deployment back to initializing, by its instance', async () => {
    const { sim, send } = simulate()
    await send('POST', '/deploy/llm', DEPLOYMENT)
    const id = sim.journal.entries().find(({ kind }) => kind === 'deployment.created')!.subject
    await sim.clock.until(() =>
      sim.journal.entries().some(({ kind, subject }) => kind === 'instance.pulling' && subject.startsWith(id)),
    )
    sim.cluster.nodeOf(id).crash()
    expect(await send(...chat(`deploy_id:${id}`))).toBe(503)
    const expected = ['request', 'deployment.initializing', 'instance.lost', 'node.crashed']
    expect(kindsOf(lastRequest(sim).chain).slice(0, 4)).toEqual(expected)
    expect(lastRequest(sim).sentences).toContain(
      'The chain begins with a command of the program that controls the simulator.',
    )
  })

  test('that waited names the end of its wait', async () => {
    const { sim, send } = simulate()
    sim.cluster.zone('east-a').down()
    const answer = send(...chat('acme/chat'))
    await settle()
    const waiting = sim.journal.entries().findLast(({ kind }) => kind === 'request')!.seq
    expect(sim.explain(waiting).sentences).toContain('It waits for its answer.')
    sim.funds.set(0)
    await sim.clock.advance('1h')
    expect(await answer).toBe(503)
    expect(kindsOf(sim.explain(waiting).chain)).toEqual([
      'request',
      'inference.turnedAway',
      'deployment.stopped',
      'account.graceEnded',
      'account.suspended',
      'funds.set',
    ])
  })

  test('names a suspension, a declined card, a quota, a deleted deployment and a revoked token', async () => {
    const { sim, send } = simulate()
    const reason = async (...request: Parameters<typeof send>) => {
      const status = await send(...request)
      return [status, ...kindsOf(lastRequest(sim).chain).slice(1)]
    }
    sim.cluster.limit.set('H100-80GB', 0)
    expect(await reason('POST', '/deploy/llm', { ...DEPLOYMENT, num_gpus: 8 })).toEqual([403, 'limit.set'])
    sim.cluster.card.decline()
    expect(await reason('POST', '/payment/funds', { amount: 1000 })).toEqual([402, 'card.declined'])
    sim.cluster.account.suspend('admin')
    expect(await reason('POST', '/deploy/llm', DEPLOYMENT)).toEqual([402, 'account.suspended'])
    sim.cluster.account.resume()
    expect(await reason('DELETE', `/deploy/${ID}`)).toEqual([200])
    expect(await reason('DELETE', `/deploy/${ID}`)).toEqual([404, 'deployment.deleted', 'request'])
    expect(await reason(...chat('acme/chat'))).toEqual([404, 'deployment.deleted', 'request'])
    const { token_id, token } = sim.world.apiTokens.create('second')
    sim.cluster.token.revoke(token_id)
    expect(await reason('GET', '/deploy/list', undefined, token)).toEqual([401])
    expect(lastRequest(sim).sentences.join(' ')).toMatch(
      new RegExp(`Entry \\d+ took the token ${token_id} away, which the request may have had`),
    )
  })

  test('under a fault rule names the rule, its draw, and who added it', async () => {
    const { sim, send } = simulate()
    sim.faults.add({ name: 'flaky', on: 'listDeployments', chance: 1, fault: { kind: 'status', status: 503 } })
    expect(await send('GET', '/deploy/list')).toBe(503)
    const { chain, sentences } = lastRequest(sim)
    expect(kindsOf(chain)).toEqual(['request', 'fault.hit', 'fault.added'])
    expect(sentences).toContain("A fault rule decided the answer: 'flaky (status)'.")
    expect(sentences).toContain('It acts if the draw fault.trigger for a matching request is below its chance of 1.')
    expect(sentences).toContain('The chain begins with the program that controls the simulator.')
  })

  test('under a fault rule with a chance has the draw, which is below the chance', async () => {
    const { sim, send } = simulate()
    sim.faults.add({ name: 'flaky', on: 'listDeployments', chance: 0.4, fault: { kind: 'status', status: 503 } })
    const draws: number[] = []
    for (let request = 0; request < 20; request++) {
      const status = await send('GET', '/deploy/list')
      const sentence = lastRequest(sim).sentences.find(one => one.startsWith('The draw for this request was '))
      expect(sentence !== undefined).toBe(status === 503)
      if (sentence !== undefined) draws.push(Number(/was (0\.\d+)\.$/.exec(sentence)![1]))
    }
    expect(draws.length).toBeGreaterThan(2)
    expect(Math.max(...draws)).toBeLessThan(0.4)
    const hits = sim.journal.entries().filter(({ kind }) => kind === 'fault.hit')
    expect(hits.map(({ fields }) => fields?.draw)).toEqual(draws)
  })

  test('names no deployment that only shares a word with the route', async () => {
    const { sim, send } = simulate()
    await send('POST', `/deploy/${ID}/stop`)
    expect(await send(...chat('acme/other'))).toBe(404)
    expect(lastRequest(sim).chain).toHaveLength(1)
    expect(await send(...chat('chat'))).toBe(404)
    expect(kindsOf(lastRequest(sim).chain)).toEqual(['request', 'deployment.stopped', 'request'])
  })

  test('by its input alone, or about a thing that never was, has no further cause', async () => {
    const { sim, send } = simulate()
    expect(await send('POST', '/deploy/llm', {})).toBe(422)
    expect(lastRequest(sim).sentences.join(' ')).toContain('The request alone decided the answer: ')
    expect(await send('GET', '/deploy/missing')).toBe(404)
    const { chain, sentences } = lastRequest(sim)
    expect(chain).toHaveLength(1)
    expect(sentences).toContain('No entry of the journal made this state: the world or its journal began with it.')
    expect(await send('GET', '/deploy/list')).toBe(200)
    expect(lastRequest(sim).sentences).toContain('It was answered with the status 200.')
  })
})

describe('the weather of an account', () => {
  const TOPUP = { amount: 500, threshold: 800, enabled: true }

  /** A running deployment that spends the funds of the account, in a pack of weather that changes its top-ups. */
  function spend(pack: { readonly topup_declined: number; readonly topup_delayed?: number }) {
    const profile = { weather: { packs: { calm: pack } } }
    const { sim } = simulate({ weather: 'calm', profile, seed: 3 })
    sim.world.ledger.setTopupRule(TOPUP)
    sim.cluster.funds.set(9)
    return sim
  }
  const entriesOf = (sim: ExplorableSimulator, kind: string) => sim.journal.entries().filter(one => one.kind === kind)

  test('that declines a top-up has the draw and its chance', { tags: 'slow' }, async () => {
    const sim = spend({ topup_declined: 0.5 })
    await sim.clock.advance('2d')
    const declined = entriesOf(sim, 'topup.declined')
    expect(declined.length).toBeGreaterThan(2)
    for (const { seq, fields } of declined) {
      const draw = Number(fields?.draw)
      expect(draw).toBeLessThan(0.5)
      expect(sim.explain(seq).sentences).toContain(
        `The card is good. The draw weather.topupDeclined was ${draw}, below its chance of 0.5.`,
      )
    }
  })

  test('that does not decide names no draw', async () => {
    const sim = spend({ topup_declined: 0.5 })
    sim.cluster.card.decline()
    await sim.clock.advance('1d')
    const [declined] = entriesOf(sim, 'topup.declined')
    expect(declined!.fields).toEqual({ cents: 500 })
    expect(sim.explain(declined!.seq).sentences.join(' ')).not.toContain('draw')
  })

  test('that delays a top-up has both draws', async () => {
    const sim = spend({ topup_declined: 0, topup_delayed: 0.9 })
    await sim.clock.advance('2d')
    const delayed = entriesOf(sim, 'topup.begun').filter(({ fields }) => fields?.draw !== undefined)
    expect(delayed.length).toBeGreaterThan(0)
    for (const { seq, fields } of delayed) {
      const { draw, delay_us } = fields as { readonly draw: number; readonly delay_us: number }
      expect(sim.explain(seq).sentences).toContain(
        `The draw weather.topupDelayed was ${draw}, below its chance of 0.9. ` +
          `The draw weather.topupDelay gave a delay of ${formatDuration(delay_us)}.`,
      )
    }
  })
})

describe('the wait of a batch for shared capacity', () => {
  async function waitingBatch(shares: Readonly<Record<string, number>>) {
    const profile = { weather: { packs: { calm: { batch_wait_shares: shares } } } }
    const { sim } = simulate({ weather: 'calm', profile })
    const { id } = await startBatch(sim, [batchLine('a', chat('aurora-labs/aurora-8b-instruct')[2])])
    await sim.clock.advance('1m')
    return { sim, id }
  }

  test('has the draw, its share, and the drawn wait', async () => {
    const { sim, id } = await waitingBatch({ none: 0, short: 0.25, long: 0.75, day: 0, forever: 0 })
    const waiting = sim.journal.entries().find(({ kind }) => kind === 'batch.waiting')!
    const { wait } = waiting.fields as { readonly wait: 'short' | 'long' }
    const chance = { short: 0.25, long: 0.75 }[wait]
    const pattern = new RegExp(
      `^The draw weather\\.batchWait of ${id} was (0\\.\\d+)\\. It gave the class ${wait}, whose chance is ${chance}\\. ` +
        'The draw weather\\.batchWaits gave a wait of (.+)\\.$',
    )
    const sentence = sim.explain(id).sentences.find(one => one.startsWith('The draw weather.batchWait'))!
    const [, draw, length] = pattern.exec(sentence)!
    expect(Number(draw) < 0.25 ? 'short' : 'long').toBe(wait)
    expect(sim.explain(waiting.seq).sentences).toContain(sentence)
    await sim.clock.advance('1d')
    const came = sim.journal.entries().find(({ kind }) => kind === 'batch.capacityCame')!
    expect(length).toBe(formatDuration(came.time - waiting.time))
    expect(sim.explain(came.seq).sentences).toContain(sentence)
  })

  test('without an end says that no capacity comes', async () => {
    const { sim, id } = await waitingBatch({ none: 0, short: 0, long: 0, day: 0, forever: 1 })
    expect(sim.explain(id).sentences.join(' ')).toMatch(
      /The draw weather\.batchWait of batch_\w+ was 0\.\d+\. It gave the class forever, whose chance is 1\. The batch waits until it expires\./,
    )
  })
})

describe('a batch of a deployment that does not serve', () => {
  async function startedBatch() {
    const { sim, send } = simulate()
    const { id } = await startBatch(sim, [batchLine('a', chat('acme/chat')[2])])
    return { sim, send, batch: id, said: () => sim.explain(id).sentences.join(' ') }
  }

  test('says that the deployment is stopped, and then why no instance is ready', async () => {
    const { sim, send, batch, said } = await startedBatch()
    await send('POST', `/deploy/${ID}/stop`)
    await sim.clock.advance('1m')
    expect(said()).toContain(`No line runs now, because the deployment ${ID} of its model is stopped.`)
    sim.cluster.stockOut('H100-80GB')
    await send('POST', `/deploy/${ID}/start`)
    await sim.clock.advance('1m')
    expect(said()).toContain(
      `No line runs now, because the deployment ${ID} of its model is initializing. The deployment waits, because GPUs of the type H100-80GB are out of stock.`,
    )
    await send('POST', `/v1/batches/${batch}/cancel`)
    expect(said()).not.toContain('No line runs now')
  })

  test('says that its instance was lost, and what the next one waits for', async () => {
    const { sim, said } = await startedBatch()
    sim.cluster.stockOut('H100-80GB')
    for (const [, { id }] of sim.world.nodes.entries()) sim.cluster.node(id).crash()
    await sim.clock.advance('1m')
    expect(said()).toMatch(
      new RegExp(
        `No line runs now, because no instance of the deployment ${ID} is ready\\. The deployment waits, because .+\\.`,
      ),
    )
  })

  test('says that nothing serves its model, and that the account is suspended', async () => {
    const { sim, send, said } = await startedBatch()
    await send('POST', `/deploy/${ID}/stop`)
    await sim.clock.advance('1m')
    await send('DELETE', `/deploy/${ID}`)
    expect(said()).toContain('No line runs now, because nothing serves its model acme/chat.')
    sim.cluster.account.suspend('admin')
    await sim.clock.advance('12h')
    expect(said()).toContain('No line runs now, because the account is suspended (admin).')
  })
})

test('a deployment that runs again tells when and why an instance was lost, and when the next one was ready', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments: [{ model_name: 'acme/chat' }] } })
  const [deployment] = [...sim.world.deployments.entries()].map(([, row]) => row.id)
  sim.cluster.node(sim.cluster.nodeOf(deployment!).name).crash()
  await sim.clock.advance('2h')
  const text = sim.explain(deployment!).sentences.join('\n')
  expect(text).toMatch(/^At \S+: The instance \S+-0 was lost\. The reason is 'node h100-0 crashed'/m)
  expect(text).toMatch(/^After \d+m \d+s, at \S+: The instance \S+-1 became ready/m)
})

describe('a thing', () => {
  test('has its state, what decided that, its effects and its next event', async () => {
    const { sim, send } = simulate()
    sim.cluster.node('h100-1').cordon()
    sim.cluster.node('h100-0').crash()
    const { sentences, chain, next } = sim.explain(ID)
    expect(sentences).toEqual([
      `${ID} is a deployment of the model acme/chat.`,
      'Its status is running.',
      'It is not ready, because the node h100-0 is down, and no other node has room.',
      'It has 1 instance and wants 1. Ready to serve: 0.',
      'Each can make up to 6,006 tokens/s ± 20 %, default, validated on 12 rows, 96 places by max_batch_size, figures of the model assumed from its size.',
      'It keeps the status running while no instance is ready, and requests wait.',
      `Its instance ${ID}-1 waits for GPUs.`,
      'It needs 1 GPU of the type H100-80GB on one node. Free in the fleet: 0.',
      'Nodes of this type are down: h100-0.',
      'The chain begins with a command of the program that controls the simulator.',
      'Nothing is planned that changes it.',
    ])
    expect(kindsOf(chain)).toEqual(['instance.lost', 'node.crashed'])
    expect(next).toBeUndefined()
    sim.cluster.node('h100-1').uncordon()
    await send('POST', '/deploy/llm', {})
    const node = sim.explain('h100-0')
    expect(node.effects.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
      `instance.lost ${ID}-0`,
      `instance.pending ${ID}-1`,
    ])
    expect(sim.explain(ID).next?.sentence).toMatch(
      new RegExp(`^The instance ${ID}-1 will get 1 GPU of the node h100-1\\.$`),
    )
  })

  test('that nothing changes soon is looked at for 1,500 events, and one that is over for none', {
    tags: 'slow',
  }, async () => {
    const { sim, send } = simulate({ fixtures: 'fleet', with: {} })
    await sim.clock.advance('1h')
    const fork = vi.spyOn(sim.world, 'fork')
    const token = sim.world.store.tokens.all()[0]!.token_id
    const { sentences, next } = sim.explain(token)
    expect(next).toBeUndefined()
    expect(sentences.at(-1)).toMatch(
      /^The next 1,500 events of the world, up to 2026-\d\d-\d\dT[\d:.]+\+00:00, do not change it\.$/,
    )
    expect(fork).toHaveBeenCalledTimes(1)
    const future = fork.mock.results[0]!.value as typeof sim.world
    expect(future.agenda.taken).toBe(1500)
    expect(sentences.at(-1)).toContain(future.clock.iso(future.clock.now))

    const instance = [...sim.world.instances.entries()].find(([, { state }]) => state === 'ready')![1]
    const deployment = sim.world.deployments.read(instance.deployment).id
    const { id } = instance
    expect(await send('DELETE', `/deploy/${deployment}`)).toBe(200)
    await sim.clock.advance('10m')
    const rule = sim.faults.add({ on: '*', times: 1, fault: { kind: 'status', status: 503 } })
    expect(await send('GET', '/deploy/list')).toBe(503)
    rule.remove()
    fork.mockClear()
    for (const over of [id, deployment, rule.id])
      expect(sim.explain(over).sentences.at(-1)).toBe('Nothing is planned that changes it.')
    expect(fork).not.toHaveBeenCalled()
  })

  test('of each kind is found by its id or name', { tags: 'slow' }, async () => {
    const { sim, send } = simulate({ fixtures: 'default' })
    const container_image = 'registry.example/cuda-dev:12.8'
    const container = { name: 'trial', gpu_config: '1xL4-24GB', container_image, cloud_init_user_data: '#cloud-config' }
    expect(await send('POST', '/v1/containers', container)).toBe(200)
    const { world } = sim
    const first = <Row>(rows: Iterable<readonly [number, Row]>) => [...rows][0]![1]
    const { row, line } = [...world.batches.entries()].flatMap(([, row]) =>
      row.work ? [{ row, line: row.work.lines.at(0).customId }] : [],
    )[0]!
    const rule = sim.faults.add({ on: '*', times: 2, fault: { kind: 'latency', delay: '1s' } })
    const instance = first(world.instances.entries()).id
    const expected: readonly (readonly [id: string, words: RegExp])[] = [
      [ID, /is a deployment of the model acme\/chat/],
      [instance, /is an instance of the deployment/],
      [world.rentals.read(world.rentals.list('hosted', () => true)[0]!).id, /is a hosted instance named/],
      [world.rentals.read(world.rentals.list('container', () => true)[0]!).id, /is a container named/],
      [row.id, /is a batch with the input file/],
      [line, /is a line of the batch/],
      [world.files.list()[0]!.id, /is the file \S+ with \d+ bytes/],
      [first(world.nodes.entries()).id, /is a node with \d+ GPUs/],
      [`${first(world.nodes.entries()).id}/0`, /Its GPU 0 works/],
      [world.store.tokens.all()[0]!.token_id, /is an API token named/],
      ['account', /is the account acme/],
      [rule.id, /It acts on 2 more/],
      ['acme/chat', /is the model of the deployment/],
      ['H100-80GB', /is a GPU type\. It has \d+ nodes with \d+ GPUs, of which \d+ are free\. It is in stock/],
      ['east-a', /is a zone\. It has \d+ nodes/],
      ['west-spot', /is a pool of spot nodes in the zone west-a/],
      [world.store.models.all()[0]!.model_name, /is a model of the catalog/],
    ]
    for (const [id, words] of expected) expect(sim.explain(id).sentences.join(' '), id).toMatch(words)
  })

  test('struck by the weather names the source, its rate and its draw', { tags: 'slow' }, async () => {
    const profile = { extends: 'realistic', weather: { pack: 'rough', acceleration: 50 } }
    const { sim } = simulate({ profile })
    await sim.clock.advance('1d')
    const strike = sim.journal.entries().find(({ kind }) => kind === 'zone.down')!
    const { sentences } = sim.explain(strike.seq)
    expect(sentences).toContain('The chain begins with the weather of the profile.')
    expect(sentences.join(' ')).toMatch(
      /The draw weather\.when gave the time after a wait of \S+( \S+)*\. The mean wait is \S+( \S+)*\. The source weather\/zoneOutage\/east-a strikes [\d.]+ times an hour/,
    )
    const end = sim.journal.entries().find(({ kind, seq }) => kind === 'zone.up' && seq > strike.seq)!
    expect(sim.explain(end.seq).sentences.join(' ')).toContain(
      `The draw weather.howLong gave the end, ${formatDuration(end.time - strike.time)} after the strike.`,
    )
  })

  test('struck by the weather has the wait that was drawn, also for later strikes', { tags: 'slow' }, async () => {
    const profile = { extends: 'realistic', weather: { pack: 'rough', acceleration: 200 } }
    const { sim } = simulate({ profile })
    await sim.clock.advance('1d')
    const strikes = sim.journal
      .entries()
      .filter(({ kind, seq }) => kind === 'pool.stockedOut' && sim.world.journal.giverOf(seq) === 'weather')
    expect(strikes.length).toBeGreaterThan(3)
    for (const { seq } of strikes) expect(sim.explain(seq).sentences.join(' ')).toContain('after a wait of')
  })

  test('has the next event that happens, to the microsecond', async () => {
    const { sim, send } = simulate()
    await send('POST', '/deploy/llm', DEPLOYMENT)
    const id = sim.journal.entries().find(({ kind }) => kind === 'deployment.created')!.subject
    for (let step = 0; step < 6; step++) {
      const { next } = sim.explain(id)
      const { last } = sim.world.journal
      await sim.clock.advance(next!.in === '0us' ? 0 : Date.parse(next!.at) - Date.parse(sim.clock.iso) + 1)
      const entry = sim.journal.entries({ after: last }).find(({ subject }) => subject.startsWith(id))!
      expect(sim.world.clock.iso(entry.time)).toBe(next!.at)
      expect(next!.sentence).toContain(toFuture(describeEntry(entry)))
    }
  })
})

test('an explanation changes nothing', { tags: 'slow' }, async () => {
  const { sim, send } = simulate({ fixtures: 'two-nodes' })
  await send('POST', '/deploy/llm', DEPLOYMENT)
  const state = () => [sim.digest, sim.world.journal.last, sim.clock.iso, sim.snapshot().toBytes()]
  const before = state()
  sim.explain(ID)
  sim.explain(1)
  expect(() => sim.explain('missing')).toThrow(RangeError)
  expect(state()).toEqual(before)
})

test('an unknown id is refused with the nearest one, and a position with those that exist', () => {
  const { sim } = simulate({ journalLimit: 2 })
  expect(() => sim.explain('h10-0')).toThrow("Failed to explain 'h10-0': unknown id. Did you mean 'h100-0'?")
  expect(() => sim.explain(1)).toThrow('Failed to explain entry 1 of the journal: the journal is empty.')
  for (let i = 0; i < 4; i++) sim.cluster.node('h100-1')[i % 2 === 0 ? 'cordon' : 'uncordon']()
  expect(() => sim.explain(9)).toThrow('entries have the numbers 3 to 4')
  expect(() => sim.explain('1')).toThrow('the oldest 2 entries are dropped')
  expect(() => sim.explain('request 1')).toThrow('have no such number. Send a request first.')
  expect(() => sim.explain(null as never)).toThrow('Failed to explain null')
  expect(() => sim.explain(10n as never)).toThrow('Failed to explain 10: it is not an id.')
  expect(() => sim.explain(3.5)).toThrow('Failed to explain entry 3.5 of the journal: a position is a whole number.')
  for (const gpu of ['', '8', '0x1', '1.5', '3/9', '-1', ' 1'])
    expect(() => sim.explain(`h100-0/${gpu}`)).toThrow(': unknown id. ')
  expect(sim.explain('h100-1').sentences).toContain(
    'The journal has dropped its oldest 2 entries, so causes may be missing.',
  )
})

test('an explanation reads the deployments once, however many requests were refused', async () => {
  const { sim, send } = simulate()
  for (let i = 0; i < 50; i++) await send('GET', `/deploy/missing${i}`)
  const reads = vi.spyOn(sim.world.deployments, 'entries')
  sim.explain(50)
  expect(reads.mock.calls.length).toBeLessThan(10)
})

test('a cause that the journal has dropped is named', async () => {
  const { sim } = simulate({ journalLimit: 3 })
  sim.cluster.node('h100-0').crash()
  await sim.clock.advance(HOUR / 1000)
  const oldest = sim.journal.entries()[0]!
  expect(oldest.cause).toBeGreaterThan(0)
  expect(sim.explain(oldest.seq).sentences.join(' ')).toMatch(/Its cause was entry \d+, which the journal has dropped/)
})

test('a fork explains as well', () => {
  const { sim } = simulate()
  expect(sim.fork().explain(ID).subject).toBe(ID)
})

test('instances that are placed at one time have causes of their own, and a deployment with fewer of them a chain', async () => {
  const settings = { min_instances: 10, max_instances: 10 }
  const more = { prefix: 'more', gpu: 'H100-80GB', gpus_per_node: 8, count: 1 }
  const pools = [{ name: 'more', zone: 'east-a', market: 'on-demand', nodes: [more] }]
  const deployments = [{ deploy_id: ID, model_name: 'acme/chat', settings }]
  const account = { gpu_limits: { 'H100-80GB': 24 } }
  const { sim } = simulate({ with: { account, deployments, nodes: { pools } } } as SimulatorOptions)
  sim.cluster.node('h100-1').crash()
  const { chain, sentences } = sim.explain(ID)
  expect(chain.map(({ kind }) => kind)).toEqual(['instance.lost', 'node.crashed'])
  expect(sentences.join(' ')).toMatch(/In all, \d instances were lost then\./)
  await sim.clock.advance('30m')
  expect(sim.explain(ID).sentences.join(' ')).toContain(', as many were ready again.')
  const ready = sim.journal.entries().filter(({ kind }) => kind === 'instance.ready')
  expect(ready.length).toBeGreaterThan(1)
  for (const { seq, subject } of ready) {
    const subjects = sim.explain(seq).chain.map(entry => entry.subject)
    expect(new Set(subjects)).toEqual(new Set([subject, 'h100-1']))
  }
})
