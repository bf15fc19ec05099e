/** Where the money goes: the same figures as the ledger and the report. */
import { expect, test } from 'vitest'
import * as z from 'zod'
import { endpoints } from '../../../examples/own-endpoints/pods.ts'
import { recordTable } from '../../../src/index.ts'
import { type Running, running } from '../http/running-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
type Answer = any

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

/** Lets deployments, a container, chats and a price change cost something. */
async function spend({ ask, command, sim }: Running): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const post = (path: string, body: object) => ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
  await command('/_sim/clock/advance', { by: '37m' })
  const chat = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hello.' }] }
  expect((await post('/v1/chat/completions', chat)).status).toBe(200)
  await post('/payment/funds', { amount: 12_345 })
  await command('/_sim/commands', { verb: 'price.set', target: 'H100-80GB', args: { cents: 333 } })
  await command('/_sim/clock/advance', { by: '11h' })
  expect((await post('/v1/chat/completions', chat)).status).toBe(200)
  await command('/_sim/clock/advance', { by: '7m' })
  expect(sim.world.ledger.suspensionReason).toBeUndefined()
}

test('what each owner cost adds up to the ledger exactly, by subject and together', async () => {
  const server = await running()
  await spend(server)
  const money = await server.read('/_sim/money')
  const { balance_microcents: balance, entries } = await server.read('/_sim/ledger')
  const costs = new Map<string, number>()
  for (const { kind, subject, microcents } of entries) {
    if (/rent|tokens|units/.test(kind)) costs.set(subject, (costs.get(subject) ?? 0) - microcents)
  }
  const shown = money.owners.filter((owner: Answer) => owner.spent_microcents > 0)
  expect(new Map(shown.map((owner: Answer) => [owner.id, owner.spent_microcents]))).toEqual(costs)
  expect(money.balance_microcents).toBe(balance)
  expect(money.opening_microcents + money.added_microcents - money.spent_microcents).toBe(balance)
  expect(new Set(shown.map(({ kind }: Answer) => kind))).toEqual(
    new Set(
      ['deployment', 'hosted', 'container', 'batch', 'model'].filter(kind =>
        shown.some((o: Answer) => o.kind === kind),
      ),
    ),
  )
  expect(shown.some(({ kind }: Answer) => kind === 'model')).toBe(true)
})

test('a record of an own endpoint is one owner, with its kind and name, after its price changed', async () => {
  const server = await running({ endpoints, fixtures: 'empty' })
  const send = (method: string, path: string, body: object) =>
    server.ask(`/rest/v1/pods${path}`, { method, body: JSON.stringify(body) }).then(answer => answer.json())
  const { id } = await send('POST', '', { name: 'chat', gpuTypeId: 'H100' })
  await server.command('/_sim/clock/advance', { by: '1h' })
  const pods = server.sim.world.ownRecords
  const table = pods.declared.get('pod')!
  const records = pods.of(table)
  records.put({ ...records.get(id)!, costPerHr: 5 })
  await server.command('/_sim/clock/advance', { by: '1h' })
  const { owners } = await server.read('/_sim/money')
  expect(owners).toEqual([expect.objectContaining({ id, kind: 'pod', name: 'chat', gpus: 0 })])
  const [{ spent_microcents: spent }] = owners
  const { money } = await server.read('/_sim/causes/1')
  expect(money).toEqual([expect.objectContaining({ id, kind: 'pod', name: 'chat', since_microcents: spent })])
  expect((await server.read(`/_sim/things/${id}`)).cost.spent_microcents).toBe(spent)
})

test('a model has its own name beside a record with its id, and a name that is not a text is not one', async () => {
  const server = await running({ endpoints })
  const model = 'aurora-labs/aurora-8b-instruct'
  const { world } = server.sim
  const record = z.object({ id: z.string(), name: z.any(), status: z.enum(['on', 'off']), usd: z.number() })
  const table = recordTable({ kind: 'box', record, key: 'id', status: 'status', ended: ['off'], usdPerHour: 'usd' })
  const records = world.ownRecords.of(table)
  records.put({ id: model, name: 'a box', status: 'on', usd: 1 })
  records.put({ id: 'b', name: 5, status: 'on', usd: 1 })
  await spend(server)
  const { owners } = await server.read('/_sim/money')
  const names = owners.map(({ id, kind, name }: Answer) => `${kind} ${id}: ${name}`)
  expect(names).toEqual(expect.arrayContaining([`model ${model}: ${model}`, 'box b: b']))
})

test('the price of an instance times those that are billed is the burn of a deployment', async () => {
  const server = await running()
  const before = await server.read('/_sim/money')
  await server.command('/_sim/commands', { verb: 'price.set', target: 'H100-80GB', args: { cents: 333 } })
  const { owners } = await server.read('/_sim/money')
  const billed = owners.filter(({ kind, gpus }: Answer) => kind === 'deployment' && gpus > 0)
  expect(billed.length).toBeGreaterThan(0)
  for (const { gpus, burn_microcents_per_hour: burn, instance } of billed)
    expect((gpus / instance.gpus) * instance.microcents_per_hour).toBe(burn)
  expect(owners.some(({ id, instance }: Answer) => isChanged(before, id, instance))).toBe(true)
  const { owners: listed } = await server.read('/_sim/money')
  const stopped = listed.find(({ id }: Answer) => id === 'ZULBVvLkUPftB8Mo')
  expect(stopped.instance).toBeNull()
  expect(listed.filter(({ kind, instance }: Answer) => kind !== 'deployment' && instance !== null)).toEqual([])
})

function isChanged({ owners }: Answer, id: string, instance: Answer): boolean {
  const before = owners.find((owner: Answer) => owner.id === id)?.instance
  return before != null && before.microcents_per_hour !== instance.microcents_per_hour
}

test('steps of a window add up to the report of that window', async () => {
  const server = await running()
  await spend(server)
  const [from, to] = ['2026-01-01T00:20:00Z', '2026-01-01T11:03:00Z']
  const { series } = await server.read(`/_sim/money?step=7m&from=${from}&to=${to}`)
  const { money } = await server.read(`/_sim/report?from=${from}&to=${to}`)
  expect(sum(series.spent_microcents.flat())).toBe(
    money.rent_microcents + money.tokens_microcents + money.units_microcents,
  )
  expect(series.times).toHaveLength(Math.ceil((10 * 60 + 43) / 7))
  const whole = await server.read('/_sim/money?step=1h')
  const byOwner = whole.series.owners.map((id: string, column: number) => [
    id,
    sum(whole.series.spent_microcents.map((row: number[]) => row[column]!)),
  ])
  const spent = whole.owners.filter((owner: Answer) => owner.spent_microcents > 0)
  expect(new Map(byOwner)).toEqual(new Map(spent.map((owner: Answer) => [owner.id, owner.spent_microcents])))
})

test('the balance is zero when it runs out, and the burn is what an hour costs', async () => {
  const server = await running({ weather: 'none' })
  await server.command('/_sim/clock/advance', { by: '2h' })
  const before = await server.read('/_sim/money')
  expect(before.tops_up).toBe(server.sim.world.ledger.topups.rule.enabled)
  await server.command('/_sim/clock/advance', { by: '1h' })
  const after = await server.read('/_sim/money')
  expect(before.burn_microcents_per_hour).toBeGreaterThan(0)
  expect(Math.abs(after.spent_microcents - before.spent_microcents - before.burn_microcents_per_hour)).toBeLessThan(10)
  const { sim } = server
  sim.cluster.card.decline()
  sim.funds.set(before.burn_microcents_per_hour / 1e8)
  const { runs_out_at, runs_out_in } = await server.read('/_sim/money')
  expect(runs_out_in).toBe('1h')
  await server.command('/_sim/clock/advance', { to: runs_out_at })
  // Each owner pays whole micro-cents.
  expect(sim.ledger.balance).toBeLessThanOrEqual(after.owners.length)
  expect(sim.ledger.balance).toBeGreaterThanOrEqual(-after.owners.length)
})

test('the next top-up comes when the balance is below its threshold at this burn, and not with a declined card', async () => {
  const server = await running({ weather: 'none' })
  const { sim } = server
  await server.command('/_sim/clock/advance', { by: '1h' })
  const { top_up: next } = await server.read('/_sim/money')
  const { amount, threshold } = sim.world.ledger.topups.rule
  expect(next).toEqual({ at: expect.any(String), in: expect.any(String), microcents: amount * 1e6 })
  const topUps = () => sim.ledger.entries().filter(({ kind }) => kind === 'topup')
  const until = Date.parse(next.at) - 60_000
  await server.command('/_sim/clock/advance', { to: new Date(until).toISOString() })
  expect([topUps().length, sim.ledger.balance >= threshold * 1e6]).toEqual([0, true])
  // The charge itself takes some minutes.
  await server.command('/_sim/clock/advance', { by: '1h' })
  expect(topUps()).toHaveLength(1)

  sim.cluster.card.decline()
  expect((await server.read('/_sim/money')).top_up).toBeNull()
})

test('GPU-hours are those of the report, and an invalid step is refused', async () => {
  const server = await running()
  await server.command('/_sim/clock/advance', { by: '2h' })
  const { usage } = await server.read('/_sim/money?usage=true')
  const { totals, deployments } = await server.read('/_sim/report')
  expect(usage).toMatchObject({ held_gpu_hours: totals.held_gpu_hours, wasted_gpu_hours: totals.wasted_gpu_hours })
  expect(usage.deployments.map(({ wasted_gpu_hours }: Answer) => wasted_gpu_hours)).toEqual(
    deployments.map(({ wasted_gpu_hours }: Answer) => wasted_gpu_hours),
  )
  expect((await server.read('/_sim/money')).usage).toBeUndefined()
  for (const query of ['step=0s', 'step=soon', 'step=1h&from=2027-01-01T00:00:00Z', 'step=1h&from=never'])
    expect((await server.command(`/_sim/money?${query}`, undefined, 'GET')).status).toBe(400)
})
