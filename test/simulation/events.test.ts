/** The table of events: its order, which snapshots depend on, and that the simulator schedules each event. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EVENT_NAMES } from '../../src/simulation/events.ts'

const SIMULATION = join(import.meta.dirname, '../../src/simulation')

/** The events in the order of their numbers. A new event comes last, here too. */
const ORDER = [
  'instance.placementDue',
  'instance.containerStarted',
  'instance.imagePulled',
  'instance.weightsRefused',
  'instance.weightsPulled',
  'instance.outOfMemory',
  'instance.engineExited',
  'instance.loaded',
  'instance.warmed',
  'instance.overdue',
  'instance.drained',
  'instance.imageTimedOut',
  'instance.downloadTimedOut',
  'node.provisioned',
  'node.keptEmpty',
  'node.preempted',
  'node.drainDeadline',
  'pool.spotReturned',
  'command.due',
  'weather.strikes',
  'weather.passes',
  'placement.round',
  'deployment.idle',
  'deployment.scaleDue',
  'adapter.downloaded',
  'adapter.loaded',
  'adapter.downloading',
  'adapter.loadedOnInstance',
  'batch.validated',
  'batch.resumed',
  'batch.capacityCame',
  'batch.chunkDone',
  'batch.finalized',
  'batch.cancelSettled',
  'batch.expired',
  'inference.ended',
  'file.expired',
  'rental.gaveUp',
  'rental.imageRefused',
  'rental.pullTimedOut',
  'rental.imagePulled',
  'rental.booted',
  'rental.shutDown',
  'rental.expanded',
  'limit.decided',
  'limit.freed',
  'account.crossing',
  'account.topupDue',
  'account.graceEnded',
  'rental.placementDue',
  'batch.hourChanged',
  'weather.customersMove',
  'instance.noticeEnded',
  'limit.rateDecided',
  'account.periodEnded',
  'webhook.due',
  'ownRecord.changeDue',
]

test('an event keeps its number when a new one is added', () => {
  expect(EVENT_NAMES.slice(0, ORDER.length)).toEqual(ORDER)
  expect(EVENT_NAMES.slice(ORDER.length), 'Add the new event at the end of ORDER').toEqual([])
})

test('each event is scheduled', () => {
  const sources = readdirSync(SIMULATION, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => readFileSync(join(SIMULATION, path), 'utf8'))
  const calls = sources.flatMap(argumentsOfSchedule).join('\n')
  expect(EVENT_NAMES.filter(name => !calls.includes(`'${name}'`))).toEqual([])
})

/** Returns the arguments of each call of a method whose name begins with `schedule`. */
function argumentsOfSchedule(source: string): string[] {
  return [...source.matchAll(/\.schedule\w*\(/g)].map(({ 0: call, index }) => {
    const start = index + call.length
    let end = start
    for (let depth = 1; depth > 0 && end < source.length; end++) {
      if (source[end] === '(') depth++
      else if (source[end] === ')') depth--
    }
    return source.slice(start, end)
  })
}
