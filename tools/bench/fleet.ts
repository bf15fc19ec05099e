/** A whole fleet: days and months of deployments that follow their load, without HTTP. */
import { spawn } from 'node:child_process'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { DAY } from '../../src/kernel/duration.ts'
import { World } from '../../src/simulation/world.ts'
import { atMost, type Bench, type Figure, type Group, type Measured } from './figure.ts'
import { emptyFleet, loadedFleet } from './loaded-fleet.ts'
import { meanMs } from './measure.ts'
import { NaiveFleet } from './naive-fleet.ts'
import { scriptOf } from './worker.ts'

/** What `processes/fleet.ts` tells of a life of so many days. */
export interface FleetRun {
  readonly cpuSeconds: number
  readonly wallSeconds: number
  readonly peakMegabytes: number
  readonly events: number
}

interface Size {
  readonly gpus: number
  readonly deployments: number
  readonly days: number
}

const MONTH: Size = { gpus: 10_000, deployments: 2000, days: 30 }
/** Half the sweep by size, half by length. */
const SWEEP: readonly Size[] = [
  { gpus: 250, deployments: 25, days: 1 },
  { gpus: 500, deployments: 50, days: 1 },
  { gpus: 1000, deployments: 100, days: 1 },
  { gpus: 2000, deployments: 200, days: 1 },
  { gpus: 4000, deployments: 400, days: 1 },
  { gpus: 4000, deployments: 400, days: 2 },
  { gpus: 4000, deployments: 400, days: 4 },
  { gpus: 4000, deployments: 400, days: 8 },
]

let month: Promise<FleetRun> | undefined

const ofMonth = (figure: Omit<Figure, 'run'>, of: (run: FleetRun) => Measured): Figure => ({
  ...figure,
  run: async bench => {
    // Both figures are of the same run.
    month ??= lived(bench, 'ours', bench.quick ? { gpus: 100, deployments: 20, days: 1 } : MONTH)
    return of(await month)
  },
})

export const fleet: Group = {
  name: 'fleet',
  heavy: true,
  figures: [
    { name: 'create_100k_gpus_ms', unit: 'ms of CPU', goal: atMost(50), run: async bench => create(bench) },
    { name: 'day_1000_gpus_ms', unit: 'ms of CPU', goal: atMost(15), run: async bench => day(bench) },
    {
      name: 'month_10000_gpus_s',
      unit: 's of CPU',
      goal: atMost(6),
      run: async bench => {
        const size = bench.quick ? { gpus: 100, deployments: 20, days: 1 } : MONTH
        bench.progress('month_10000_gpus_s: ours')
        month ??= lived(bench, 'ours', size)
        const run = await month
        bench.progress('month_10000_gpus_s: baseline')
        const naive = await lived(bench, 'naive', { ...size, days: 1 })
        const baseline = naive.cpuSeconds * size.days
        const wall = `${run.wallSeconds.toFixed(1)} s by the wall, ${run.events.toLocaleString('en')} events`
        const beside = `${wall}; the baseline lived 1 day, times ${size.days}`
        return { value: run.cpuSeconds, baseline, ratio: run.cpuSeconds / baseline, beside }
      },
    },
    ofMonth({ name: 'month_10000_gpus_mb', unit: 'MB at the peak', goal: atMost(400) }, run => ({
      value: run.peakMegabytes,
    })),
    { name: 'fleet_growth', unit: 'power of the events', goal: atMost(1.15), run: async bench => grow(bench) },
  ],
}

/** Measures the way from a fixture object, with its checks, to a complete world. */
function create(bench: Bench): Measured {
  const input = emptyFleet(bench.quick ? 1000 : 100_000)
  let value = Number.POSITIVE_INFINITY
  for (let run = 0; run < (bench.quick ? 2 : 40); run++) {
    bench.progress(`create_100k_gpus_ms: ${run + 1}`)
    value = Math.min(
      value,
      meanMs(
        1,
        () => {},
        () => new World({ fixture: loadFixture(input) }),
      ),
    )
  }
  return { value }
}

/** A day, again and again from the start, until the compiler has nothing left to do; the least counts. */
function day(bench: Bench): Measured {
  const fixture = loadFixture(bench.quick ? loadedFleet(80, 5) : loadedFleet(1000, 50))
  const rounds = bench.quick ? 1 : 60
  let first = 0
  let value = Number.POSITIVE_INFINITY
  let baseline = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    bench.progress(`day_1000_gpus_ms: ${round + 1} of ${rounds}`)
    let world: World
    const ms = meanMs(
      1,
      () => (world = new World({ fixture, seed: 1 })),
      () => world.runTo(DAY),
    )
    if (round === 0) first = ms
    value = Math.min(value, ms)
    // A tenth as often: it takes many times as long.
    if (round % 10 > 0) continue
    let naive: NaiveFleet
    baseline = Math.min(
      baseline,
      meanMs(
        1,
        () => (naive = new NaiveFleet(fixture)),
        () => naive.runTo(DAY),
      ),
    )
  }
  return { value, baseline, ratio: value / baseline, beside: `${first.toFixed(0)} ms the first time` }
}

/** Measures how CPU time follows the number of events. Each life has a process of its own. */
async function grow(bench: Bench): Promise<Measured> {
  const ours: Point[] = []
  const naive: Point[] = []
  for (const [i, size] of (bench.quick ? SWEEP.slice(0, 2) : SWEEP).entries()) {
    bench.progress(`fleet_growth: ${i + 1} of ${SWEEP.length}`)
    const { events, cpuSeconds } = await lived(bench, 'ours', size)
    ours.push({ events, ms: cpuSeconds * 1000 })
    naive.push({ events, ms: (await lived(bench, 'naive', size)).cpuSeconds * 1000 })
  }
  const micros = ({ events, ms }: Point) => `${((ms * 1000) / events).toFixed(2)} µs`
  const last = ours.length - 1
  const beside = `${micros(ours[0]!)} an event at ${ours[0]!.events}, ${micros(ours[last]!)} at ${ours[last]!.events}; baseline ${micros(naive[last]!)}`
  return { value: power(ours), baseline: power(naive), ratio: power(ours) / power(naive), beside }
}

interface Point {
  readonly events: number
  readonly ms: number
}

/** Returns the slope of the straight line through the points on logarithmic axes: 0 is constant, and 1 is linear. */
function power(points: readonly Point[]): number {
  const x = points.map(({ events }) => Math.log(events))
  const y = points.map(({ ms }) => Math.log(ms))
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [middleX, middleY] = [mean(x), mean(y)]
  return mean(x.map((at, i) => (at - middleX) * (y[i]! - middleY))) / mean(x.map(at => (at - middleX) ** 2))
}

function lived(bench: Bench, which: 'ours' | 'naive', { gpus, deployments, days }: Size): Promise<FleetRun> {
  const args = [scriptOf(bench, 'fleet'), which, gpus, deployments, days].map(String)
  const child = spawn(process.execPath, args, { cwd: bench.outdir, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return new Promise((resolve, reject) => {
    child.once('message', message => resolve(message as FleetRun))
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the fleet's process ended with ${code} and reported nothing`)))
  })
}
