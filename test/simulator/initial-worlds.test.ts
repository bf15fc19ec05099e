/** Simulators with equal options share the world with which they begin, and nothing else. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { MICROCENTS_PER_CENT } from '../../src/simulation/account/money.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'

/** Lets a day pass and breaks a node, which writes rows of most tables. */
async function live(sim: Simulator) {
  sim.cluster.node('h100-0').crash()
  await sim.clock.advance('1d')
  return { digest: sim.digest, report: sim.report(), entries: sim.journal.entries().length }
}

/** Lists the models and deployments as a client sees them. */
async function look(sim: Simulator): Promise<string> {
  const paths = ['/deploy/list', '/v1/models', '/account/balance']
  const answers = await Promise.all(paths.map(path => sendTo(sim, `GET ${path}`)))
  return (await Promise.all(answers.map(answer => answer.text()))).join('\n')
}

test('a simulator finds the world as if no other simulator of these options had lived', async () => {
  const first = createSimulator()
  const before = await look(first)
  const lived = await live(first)
  const second = createSimulator()
  expect(await look(second)).toBe(before)
  expect(await live(second)).toEqual(lived)
  first.reset()
  expect(await look(first)).toBe(before)
})

test.each<[name: string, options: SimulatorOptions]>([
  ['seed', { seed: 2 }],
  ['epoch', { epoch: '2027-01-01T00:00:00Z' }],
  ['profile', { profile: 'quick' }],
  ['weather', { weather: 'launch-day' }],
  ['fixture', { fixtures: 'full' }],
  ['records that are added', { with: { deployments: [{ model_name: 'acme/added', status: 'running' }] } }],
])('a simulator with another %s begins in another world', { tags: 'slow' }, async (_, options) => {
  const lived = await live(createSimulator())
  expect((await live(createSimulator(options))).digest).not.toBe(lived.digest)
  expect(await live(createSimulator())).toEqual(lived)
})

describe('simulators with other seeds find the world as if they had lived alone', () => {
  const seeds = ['a', 'b', 1]
  const BURSTS = 'deploymentBursts'

  async function deployAndLive(sim: Simulator) {
    const answer = await sendTo(sim, 'POST /deploy/llm', {
      model_name: 'acme/new',
      gpu: 'H100-80GB',
      hub: { repo: 'acme/chat-8b' },
    })
    await sendTo(sim, `POST /deploy/${BURSTS}/start`)
    for (const { name } of sim.world.nodes.list().slice(0, 1)) sim.cluster.node(name).crash()
    await sim.clock.advance('1d')
    const { seed, digest } = sim
    return { seed, digest, created: await answer.text(), looks: await look(sim), report: sim.report() }
  }

  /** Lets three worlds live that share nothing, then six that may share their start, and compares them. */
  async function compare(fixtures: string) {
    // A patch makes a fixture of its own.
    expect(loadFixture(fixtures, { patch: {} })).not.toBe(loadFixture(fixtures))
    const alone = await Promise.all(seeds.map(seed => deployAndLive(createSimulator({ fixtures, seed, with: {} }))))
    expect(new Set(alone.map(({ digest }) => digest)).size).toBe(seeds.length)
    const sims = [...seeds, ...seeds].map(seed => createSimulator({ fixtures, seed }))
    for (const repeat of ['first', 'after a reset']) {
      expect(await Promise.all(sims.map(deployAndLive)), repeat).toEqual([...alone, ...alone])
      for (const sim of sims) sim.reset()
    }
  }

  test.each(['empty', 'default', 'two-nodes', 'full'])('in the world %s', { tags: 'slow' }, compare)

  test('in a world whose load comes in random bursts', { tags: 'slow' }, async () => {
    const folder = temporaryFolder()
    cpSync('fixtures/worlds/two-nodes', folder, { recursive: true })
    const load = { kind: 'burst', base: 1, peak: 40, every: '2h', lasts: '10m' }
    const model = { model_name: 'acme/bursts', gpu: 'H100-80GB', weights: { repo: 'acme/chat-8b' } }
    // A version that is missing would be drawn.
    const deployment = { deploy_id: BURSTS, ...model, version: '0'.repeat(64), status: 'stopped', load }
    writeFileSync(join(folder, 'deployments.json'), JSON.stringify([deployment]))
    await compare(folder)
  })
})

test('a journal limit and a storage limit are those of one simulator', async () => {
  createSimulator()
  const limited = createSimulator({ journalLimit: 10, maxStorageBytes: 1 })
  await live(limited)
  expect(limited.journal.entries().length).toBeLessThanOrEqual(10)
  const open = createSimulator()
  expect((await live(open)).entries).toBeGreaterThan(10)
})

test('only a simulator with check is checked', { tags: 'slow' }, async () => {
  createSimulator()
  const checked = createSimulator({ check: true })
  const unchecked = createSimulator()
  for (const { world } of [checked, unchecked]) world.nodes.writable(world.nodes.ordinalOf('h100-0')!).state = 'down'
  await expect(checked.clock.advance('1h')).rejects.toThrow('I1')
  await expect(unchecked.clock.advance('1h')).resolves.toBeDefined()
})

test('a fixture that is edited is read again', async () => {
  const folder = temporaryFolder()
  cpSync('fixtures/worlds/empty', folder, { recursive: true })
  const fundsOf = () => createSimulator({ fixtures: folder }).ledger.balance / MICROCENTS_PER_CENT
  const before = fundsOf()
  const path = join(folder, 'account.json')
  const account = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...account, funds_cents: 123 }))
  expect([before, fundsOf()]).toEqual([account.funds_cents, 123])
})
