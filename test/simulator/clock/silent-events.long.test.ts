/** Moves to a change that never comes. */
import { expect, test } from 'vitest'
import { createSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { running } from '../../server/http/running-server.ts'

/** Nodes without instances fail and are repaired all the time, which no client can see. */
const UNSEEN_FAILURES: SimulatorOptions = {
  fixtures: 'empty',
  journalLimit: 100,
  profile: {
    weather: { pack: 'unseen', packs: { unseen: { node_faults_per_hour: 1e6 } } },
    timings: { node_repair_manual: '1ms', node_repair_automatic: '1ms', node_repair_reset: '1ms' },
  },
}
const WORDS = 'Failed to move to the next change: 200000 events were fired without a change that a client could see.'

test('a move to the next visible change ends if events alone go on for ever, in the process and at a server', async () => {
  const sim = createSimulator(UNSEEN_FAILURES)
  await expect(sim.clock.next({ visible: true })).rejects.toThrow(WORDS)
  // The events stay, and time can be moved on.
  expect(sim.clock.elapsed).toBeGreaterThan(0)
  await sim.clock.advance('1s')

  const { command } = await running(UNSEEN_FAILURES)
  const { status, body } = await command('/_sim/clock/next', { visible: true })
  expect([status, body.error]).toEqual([400, expect.stringContaining(WORDS)])
})
