import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Agenda, PRIORITY, type Priority } from '../../src/kernel/agenda.ts'
import { forAll } from '../setup/for-all.ts'

type Step =
  | { do: 'schedule'; time: number; priority: Priority }
  | { do: 'cancel'; which: number }
  | { do: 'take' }
  | { do: 'fork' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('schedule' as const),
      time: fc.integer({ min: 0, max: 20 }),
      priority: fc.constantFrom(...Object.values(PRIORITY)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat(200) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fork' as const) }) },
)

describe('the agenda', () => {
  test('is sorted by time, class and serial number, after every sequence of changes and forks', () => {
    forAll([fc.array(step, { maxLength: 200 })], steps => {
      let agenda = new Agenda(2)
      let model: { time: number; priority: number; serial: number; handle: number; subject: number }[] = []
      const handles: number[] = []
      let serial = 0
      const earliest = () =>
        [...model].sort((a, b) => a.time - b.time || a.priority - b.priority || a.serial - b.serial)[0]
      for (const one of steps) {
        if (one.do === 'schedule') {
          const subject = serial++
          const handle = agenda.schedule(one.time, one.priority, 3, subject, subject * 2)
          handles.push(handle)
          model.push({ time: one.time, priority: one.priority, serial: subject, handle, subject })
        } else if (one.do === 'cancel') {
          const handle = handles[one.which % Math.max(1, handles.length)] ?? 0
          const known = model.some(entry => entry.handle === handle)
          expect(agenda.timeOf(handle)).toBe(model.find(entry => entry.handle === handle)?.time ?? Infinity)
          expect(agenda.cancel(handle)).toBe(known)
          model = model.filter(entry => entry.handle !== handle)
        } else if (one.do === 'take') {
          const first = earliest()
          expect(agenda.nextTime).toBe(first?.time ?? Infinity)
          expect(agenda.take()).toBe(first !== undefined)
          if (first) {
            expect([agenda.time, agenda.subject, agenda.arg]).toEqual([first.time, first.subject, first.subject * 2])
            model = model.filter(entry => entry !== first)
          }
        } else {
          const origin = agenda
          agenda = agenda.fork()
          // What the origin does from here on is not the copy's affair.
          origin.schedule(0, PRIORITY.completion, 1, 999)
          origin.take()
        }
        expect(agenda.size).toBe(model.length)
      }
    })
  })

  test('the identifier of a fired entry is invalid, also when its slot is used again', () => {
    const agenda = new Agenda()
    const first = agenda.schedule(1, PRIORITY.completion, 0, 0)
    agenda.take()
    const second = agenda.schedule(2, PRIORITY.completion, 0, 1)
    expect(agenda.cancel(first)).toBe(false)
    expect(agenda.cancel(second)).toBe(true)
    expect(agenda.cancel(0)).toBe(false)
  })
})
