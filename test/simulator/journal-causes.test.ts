/** What the journal names as the cause of commands and fault rules: a request, a timeline, the weather, or the program. */
import { expect, test } from 'vitest'
import { MINUTE } from '../../src/kernel/duration.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { running } from '../server/http/running-server.ts'

const find = (sim: Simulator, kind: string) => sim.journal.entries().find(entry => entry.kind === kind)!

test('a command of the control plane has its request as its cause, now and later', async () => {
  const { sim, command } = await running({ fixtures: 'two-nodes' })
  await command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
  await command('/_sim/commands', { verb: 'node.crash', target: 'h100-1', at: '5m' })
  await command('/_sim/clock/advance', { by: '10m' })
  const crashes = sim.journal.entries().filter(({ kind }) => kind === 'node.crashed')
  const causes = crashes.map(({ seq }) => sim.journal.why(seq)[1]!)
  expect(causes.map(({ fields }) => fields!.operation)).toEqual(['giveCommand', 'giveCommand'])
  expect(causes[0]!.seq).toBeLessThan(causes[1]!.seq)
  expect(crashes.map(({ seq }) => sim.world.journal.giverOf(seq))).toEqual([undefined, undefined])
})

test('a fault rule of the control plane has its request as its cause', async () => {
  const { sim, command } = await running({ fixtures: 'empty' })
  await command('/_sim/faults', { name: 'slow', on: '*', fault: { kind: 'latency', delay: '1s' } })
  await command('/_sim/faults/slow', undefined, 'DELETE')
  expect(sim.journal.why(find(sim, 'fault.added').seq)[1]!.fields!.operation).toBe('addFault')
  expect(sim.journal.why(find(sim, 'fault.removed').seq)[1]!.fields!.operation).toBe('removeFault')
})

test('a step of a timeline has the start of its scenario as its cause', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes' })
  const command = { verb: 'node.crash', target: 'h100-0' }
  const rule = { on: '*', times: 1, fault: { kind: 'status', status: 503 } } as const
  const acts = [
    { at: 0, rule },
    { at: 5 * MINUTE, command },
  ]
  sim.timelines.start({ name: 'outage', title: 'an outage', acts, problems: [] })
  await sim.clock.advance('10m')
  const started = find(sim, 'scenario.started').seq
  expect(find(sim, 'fault.added').cause).toBe(started)
  expect(find(sim, 'node.crashed').cause).toBe(started)
})

test('commands of a test and of the weather have no entry as their cause, and differ', async () => {
  const profile = { extends: 'realistic', weather: { pack: 'rough', acceleration: 50 } }
  const sim = createSimulator({ fixtures: 'two-nodes', profile, seed: 1 })
  sim.cluster.node('h100-0').cordon()
  await sim.clock.advance('1d')
  const giverOf = ({ seq }: { readonly seq: number }) => sim.world.journal.giverOf(seq)
  const roots = sim.journal.entries().filter(entry => entry.cause === 0)
  expect(giverOf(find(sim, 'node.cordoned'))).toBe('program')
  expect(roots.length).toBeGreaterThan(5)
  expect(roots.filter(entry => entry.kind !== 'node.cordoned' && giverOf(entry) === 'program')).toEqual([])
  expect(roots.filter(entry => giverOf(entry) === 'weather').length).toBeGreaterThan(5)
})

test('what a client does after a command is not caused by the command', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes' })
  sim.cluster.node('h100-0').crash()
  expect(sim.world.journal.cause).toBe(0)
})
