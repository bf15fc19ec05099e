/** The kernel alone: time moves and nothing of a cloud happens. */
import { Agenda, PRIORITY } from '../../src/kernel/agenda.ts'
import { Clock } from '../../src/kernel/clock.ts'
import { DEFAULT_EVENT_LIMITS, Loop } from '../../src/kernel/loop.ts'
import { Chance, purpose } from '../../src/kernel/random.ts'
import { atLeast, type Bench, type Group } from './figure.ts'
import { piece, throughput } from './measure.ts'
import { ObjectHeap } from './object-heap.ts'

const TIMERS = 10_000
const MEAN_MICROS = 1_000_000
const INCREMENTS = 65_536

/** The hold model: of so many live timers the earliest fires and schedules itself again, an exponential time later. */
export const kernel: Group = {
  name: 'kernel',
  figures: [
    {
      name: 'kernel_events_per_s',
      unit: 'events per CPU second',
      goal: atLeast(3_000_000),
      run: bench => {
        const increments = exponentialIncrements()
        const ours = ownKernel(increments)
        const baseline = plainHeap(increments)
        return throughput(
          bench,
          'kernel_events_per_s',
          () => hold(bench, ours),
          () => hold(bench, baseline),
        )
      },
    },
  ],
}

/** Fires everything due in the next stretch of time; the number of events. */
type RunOn = (micros: number) => number

function hold(bench: Bench, run: RunOn) {
  const events = bench.quick ? 20_000 : 3_000_000
  let fired = 0
  const window = piece(events, () => {
    fired = run((events / TIMERS) * MEAN_MICROS)
  })
  return { ...window, operations: fired }
}

/** Drawn before, so that making chance is not measured. */
function exponentialIncrements(): Float64Array {
  const chance = new Chance(1)
  const key = chance.key('bench', 'hold')
  const what = purpose('bench.increment')
  return Float64Array.from({ length: INCREMENTS }, (_, i) =>
    Math.max(1, Math.round(chance.exponential(MEAN_MICROS, key, what, i))),
  )
}

function ownKernel(increments: Float64Array): RunOn {
  const clock = new Clock()
  const agenda = new Agenda()
  let next = 0
  const plan = (timer: number) => {
    agenda.schedule(clock.now + increments[next++ & (INCREMENTS - 1)]!, PRIORITY.completion, 1, timer)
  }
  const loop = new Loop(
    clock,
    agenda,
    () => plan(agenda.subject),
    () => 'timer',
    DEFAULT_EVENT_LIMITS,
  )
  for (let timer = 0; timer < TIMERS; timer++) plan(timer)
  return micros => loop.runTo(clock.now + micros)
}

function plainHeap(increments: Float64Array): RunOn {
  const heap = new ObjectHeap()
  let next = 0
  let now = 0
  let serial = 0
  const plan = (subject: number) => {
    heap.push({ time: now + increments[next++ & (INCREMENTS - 1)]!, serial: serial++, kind: 1, subject })
  }
  for (let timer = 0; timer < TIMERS; timer++) plan(timer)
  return micros => {
    const target = now + micros
    let fired = 0
    while (heap.nextTime <= target) {
      const { time, subject } = heap.pop()!
      now = time
      fired++
      plan(subject)
    }
    now = target
    return fired
  }
}
