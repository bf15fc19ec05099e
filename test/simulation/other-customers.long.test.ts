import { expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

const TYPES = ['H100-80GB', 'A100-80GB', 'L4-24GB', 'L40S-48GB'] as const

/** Returns the free GPUs of each type at every sixth hour of 30 days. */
async function month(weather: string) {
  const sim = createSimulator({ fixtures: 'empty', weather, seed: 5, check: true })
  const days: string[][] = []
  for (let day = 0; day < 30; day++) {
    const free: string[] = []
    for (let quarter = 0; quarter < 4; quarter++) {
      await sim.clock.advance('6h')
      free.push(await freeGpus(sim))
    }
    days.push(free)
  }
  return days
}

async function freeGpus(sim: Simulator): Promise<string> {
  const response = await sendTo(sim, 'GET /deploy/llm/gpu_availability')
  expect(response.status).toBe(200)
  return TYPES.map(gpu => sim.world.nodes.free(gpu)).join()
}

test('free capacity of a type changes on most days of a month when the weather is realistic', async () => {
  const days = await month('realistic')
  for (const [position] of TYPES.entries()) {
    const changing = days.filter(free => new Set(free.map(all => all.split(',')[position])).size > 1)
    expect(changing.length).toBeGreaterThan(15)
  }
  expect(await month('realistic')).toEqual(days)
})

test('free capacity stays still for a month when there is no weather', async () => {
  expect(new Set((await month('none')).flat()).size).toBe(1)
})

test('the journal has an entry when other customers take the last free GPU of a type or leave the first one', async () => {
  const weather = { tenant_day_swing: 1, tenant_weekend_swing: 1, tenant_spread: 1 }
  const sim = createSimulator({
    fixtures: 'two-nodes',
    profile: { weather },
    weather: 'realistic',
    seed: 5,
    check: true,
  })
  const expected: string[] = []
  let hadFree = sim.world.nodes.free('H100-80GB') > 0
  for (let hour = 0; hour < 24 * 14; hour++) {
    await sim.clock.advance('1h')
    const hasFree = sim.world.nodes.free('H100-80GB') > 0
    if (hasFree !== hadFree) expected.push(hasFree ? 'pool.freed' : 'pool.soldOut')
    hadFree = hasFree
  }
  const entries = sim.journal.entries().filter(({ kind }) => kind === 'pool.soldOut' || kind === 'pool.freed')
  expect(expected).toContain('pool.soldOut')
  expect(entries.map(({ kind }) => kind)).toEqual(expected)
  for (const { fields } of entries) expect(fields).toEqual({ gpu: 'H100-80GB' })
})
