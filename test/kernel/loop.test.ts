import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Agenda, PRIORITY } from '../../src/kernel/agenda.ts'
import { Clock } from '../../src/kernel/clock.ts'
import { DEFAULT_EVENT_LIMITS, Loop } from '../../src/kernel/loop.ts'
import { forAll } from '../setup/for-all.ts'

/** A world of chains: each event schedules the next of its chain after the chain's step. */
function chains(steps: readonly number[], bounds = DEFAULT_EVENT_LIMITS) {
  const clock = new Clock()
  const agenda = new Agenda()
  const log: string[] = []
  const fire = () => {
    log.push(`${clock.now}:${agenda.subject}`)
    agenda.schedule(clock.now + steps[agenda.subject]!, PRIORITY.completion, agenda.subject % 2, agenda.subject)
  }
  const loop = new Loop(clock, agenda, fire, kind => ['even', 'odd'][kind] ?? '', bounds)
  for (const [chain, step] of steps.entries()) agenda.schedule(step, PRIORITY.completion, chain % 2, chain)
  return { clock, loop, log }
}

describe('advancing', () => {
  test('is additive: every division into advances gives the same events at the same times', () => {
    forAll(
      [
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(20), { minLength: 1, maxLength: 12 }),
      ],
      (steps, slices) => {
        const whole = chains(steps)
        const sliced = chains(steps)
        const total = slices.reduce((sum, slice) => sum + slice, 0)
        whole.loop.runTo(total)
        let at = 0
        for (const slice of slices) {
          at += slice
          sliced.loop.runTo(at)
        }
        expect(sliced.log).toEqual(whole.log)
        expect([sliced.clock.now, whole.clock.now]).toEqual([total, total])
      },
    )
  })

  test('ends at its target, and an event has its own time', () => {
    const { clock, loop, log } = chains([3])
    loop.runTo(8)
    expect(log).toEqual(['3:0', '6:0'])
    expect(clock.now).toBe(8)
  })

  test('rejects too many events with the most frequent kind, and the world stays consistent', () => {
    const { clock, loop, log } = chains([7, 1], { events: 50, sameInstant: 1000 })
    expect(() => loop.runTo(1_000_000)).toThrow(/50 events were fired .* most of kind 'odd' \(44\)/)
    expect(log).toHaveLength(50)
    loop.runTo(clock.now + 5)
    expect(clock.now).toBe(49)
  })

  test('rejects too many events at one time', () => {
    const { loop } = chains([0], { events: 10_000, sameInstant: 100 })
    expect(() => loop.runTo(1)).toThrow('events at one instant')
  })

  test('has no next event when the agenda is empty, also without a limit', () => {
    const { clock, loop } = chains([])
    expect(loop.fireNext(Number.POSITIVE_INFINITY)).toBe(false)
    expect(clock.now).toBe(0)
  })
})

describe('the clock', () => {
  test('formats times as on the wire', () => {
    const clock = new Clock()
    expect(clock.iso(30_000_000)).toBe('2026-01-01T00:00:30.000000+00:00')
    expect(clock.iso(1)).toBe('2026-01-01T00:00:00.000001+00:00')
    expect(clock.iso(-1)).toBe('2025-12-31T23:59:59.999999+00:00')
    expect(clock.unix(1_999_999)).toBe(1_767_225_601)
    expect(clock.unix(-1)).toBe(1_767_225_599)
    expect(clock.fromUnix(1_767_225_601)).toBe(1_000_000)
    expect(clock.elapsedAt('2026-01-01T01:00:00+01:00')).toBe(0)
  })

  test('never goes back', () => {
    const clock = new Clock()
    clock.moveTo(5)
    expect(() => clock.moveTo(4)).toThrow('Time never goes back')
  })
})
