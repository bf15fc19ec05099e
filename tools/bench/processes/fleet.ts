/** Runs a loaded fleet, ours or the naive one, and reports it by message. Arguments: which, GPUs, deployments, days. */

import { loadFixture } from '../../../src/data/fixtures/load.ts'
import { DAY } from '../../../src/kernel/duration.ts'
import { World } from '../../../src/simulation/world.ts'
import type { FleetRun } from '../fleet.ts'
import { loadedFleet } from '../loaded-fleet.ts'
import { NaiveFleet } from '../naive-fleet.ts'

const [which, ...numbers] = process.argv.slice(2)
const [gpus, deployments, days] = numbers.map(Number)

// Compiled before it counts, by the days of a small fleet: else small lives would be the cost of compiling.
for (let round = 0; round < 4; round++) start(250, 25).runTo(DAY)
const fleet = start(gpus!, deployments!)

const cpu = process.cpuUsage()
const began = performance.now()
let events = 0
// A day at a time, as an observer does: one advance may fire ten million events.
for (let day = 1; day <= days!; day++) events += fleet.runTo(day * DAY) ?? 0
const { user, system } = process.cpuUsage(cpu)

const run: FleetRun = {
  cpuSeconds: (user + system) / 1e6,
  wallSeconds: (performance.now() - began) / 1000,
  peakMegabytes: process.resourceUsage().maxRSS / 1024,
  events,
}
process.send?.(run, () => process.disconnect())

function start(gpus: number, deployments: number): World | NaiveFleet {
  const fixture = loadFixture(loadedFleet(gpus, deployments))
  return which === 'ours' ? new World({ fixture, seed: 1 }) : new NaiveFleet(fixture)
}
