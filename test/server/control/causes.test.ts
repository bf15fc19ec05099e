/** From a refused request to the first fault, and forward to everything that came of it and to the money. */
import { expect, test } from 'vitest'
import { running } from '../http/running-server.ts'

const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat', gpu: 'H100-80GB' as const, num_gpus: 2 }]
const json = { 'content-type': 'application/json' }
const chat = JSON.stringify({ model: 'acme/chat', messages: [{ role: 'user', content: 'Hi' }] })

interface Explained {
  readonly seq: number
  readonly at: string
  readonly kind: string
  readonly depth: number
}

/** A world whose only deployment lost its node half an hour after the begin, while it worked on three chats. */
async function broken() {
  const server = await running({ fixtures: 'two-nodes', with: { deployments }, inferencePace: 'clock' })
  const { sim, ask, command } = server
  await command('/_sim/clock/advance', { by: '30m' })
  const answers = [1, 2, 3].map(() => ask('/v1/chat/completions', { method: 'POST', headers: json, body: chat }))
  await expect.poll(() => sim.pendingRequests.length).toBe(3)
  await command('/_sim/commands', { verb: 'node.crash', target: sim.cluster.nodeOf(ID).name })
  for (const answer of answers) expect((await answer).status).toBeGreaterThanOrEqual(500)
  await command('/_sim/clock/advance', { by: '2h' })
  return server
}

test('a refused chat leads back to the crash and to who gave it', async () => {
  const server = await broken()
  const { seq } = server.sim.requests.at(-1)!
  const { causes, entry } = await server.read(`/_sim/causes/${seq}`)
  const kinds = causes.map(({ kind }: Explained) => kind)
  expect(entry).toMatchObject({ seq, kind: 'request' })
  expect(kinds.slice(0, 2)).toEqual(['request', 'node.crashed'])
  expect(causes[0].sentence).toContain('POST /_sim/commands')
  expect(kinds.at(-1)).toBe('inference.broken')
})

test('the crash leads forward to the refused chats and to the money since then', async () => {
  const server = await broken()
  const crash = server.sim.journal.entries().find(({ kind }) => kind === 'node.crashed')!
  const { effects, matched, money } = await server.read(`/_sim/causes/${crash.seq}`)
  const chats = server.sim.requests.map(({ seq }) => seq)
  expect(effects.map(({ seq }: Explained) => seq)).toEqual(expect.arrayContaining(chats))
  expect(matched).toBe(effects.length)
  // Each effect is below an entry of the step before it.
  effects.forEach(({ depth }: Explained, index: number) => {
    expect(depth).toBeLessThanOrEqual((effects[index - 1]?.depth ?? 0) + 1)
  })
  const from = encodeURIComponent(server.sim.world.clock.iso(crash.time))
  const costs = await server.read(`/_sim/money?step=2h&from=${from}`)
  expect(money).toMatchObject([{ id: ID, kind: 'deployment', name: 'acme/chat' }])
  expect(costs.series.owners).toEqual([ID])
  expect(money[0].since_microcents).toBe(costs.series.spent_microcents[0][0])
  expect(money[0].since_microcents).toBeGreaterThan(0)
  const [owner] = costs.owners
  const expected = [owner.spent_microcents, owner.burn_microcents_per_hour]
  expect([money[0].spent_microcents, money[0].burn_microcents_per_hour]).toEqual(expected)
})

test('limit lists the oldest effects, and says how many there are', async () => {
  const server = await broken()
  const crash = server.sim.journal.entries().find(({ kind }) => kind === 'node.crashed')!
  const all = await server.read(`/_sim/causes/${crash.seq}`)
  const some = await server.read(`/_sim/causes/${crash.seq}?limit=2`)
  const oldest = all.effects.map(({ seq }: Explained) => seq).sort((a: number, b: number) => a - b)
  expect(some.effects.map(({ seq }: Explained) => seq).sort()).toEqual(oldest.slice(0, 2))
  expect([some.matched, some.money]).toEqual([all.matched, all.money])
})

test.each(['abc', '1.5', '-1', '1e1'])('refuses the position %s', async text => {
  const { command } = await running()
  const { status, body } = await command(`/_sim/causes/${text}`, undefined, 'GET')
  expect(status).toBe(404)
  expect(JSON.stringify(body)).toContain(
    `Failed to read the entry '${text}': a position is a whole number. Give a seq of GET /_sim/journal.`,
  )
})

test('a fault rule leads to the requests that it refused', async () => {
  const server = await running({ fixtures: 'two-nodes' })
  await server.command('/_sim/faults', { on: 'listDeployments', times: 2, fault: { kind: 'status', status: 503 } })
  for (let n = 0; n < 3; n++) await server.ask('/deploy/list')
  const added = server.sim.journal.entries().find(({ kind }) => kind === 'fault.added')!
  const { effects } = await server.read(`/_sim/causes/${added.seq}`)
  expect(effects.map(({ kind, depth }: Explained) => [depth, kind])).toEqual([
    ...[
      [1, 'fault.hit'],
      [2, 'request'],
    ],
    ...[
      [1, 'fault.hit'],
      [2, 'request'],
    ],
  ])
})

test('a stock-out names the deployments that wait because of it, with their ids', async () => {
  const { sim, ask, command, read } = await running({ fixtures: 'two-nodes' })
  sim.cluster.stockOut('H100-80GB')
  const { seq } = sim.journal.entries().find(({ kind }) => kind === 'pool.stockedOut')!
  const causes = async () => await read(`/_sim/causes/${seq}`)
  expect((await causes()).waiting).toEqual([])
  const body = JSON.stringify({ model_name: 'acme/late', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  const made = await ask('/deploy/llm', { method: 'POST', headers: json, body })
  const { deploy_id: id } = (await made.json()) as { deploy_id: string }
  await command('/_sim/clock/advance', { by: '10m' })
  expect((await causes()).waiting).toEqual([{ id, name: 'acme/late' }])
  sim.cluster.restock('H100-80GB')
  await command('/_sim/clock/advance', { by: '10m' })
  expect((await causes()).waiting).toEqual([])
})
