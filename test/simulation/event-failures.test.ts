/** An event that throws, as a bug of the simulator would: its own subject fails, and time and all others go on. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { EventName } from '../../src/simulation/events.ts'
import { findViolations } from '../../src/simulation/invariants/check-world.ts'
import type { World } from '../../src/simulation/world.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'
import { batchOf, many } from './batch-world.ts'
import { spec, stage, story } from './small-world.ts'

type HandlerOf =
  | 'instances'
  | 'deployments'
  | 'batches'
  | 'rentals'
  | 'inferenceRequests'
  | 'loraAdapters'
  | 'placement'

/** Makes an event throw, each time or once, before its part handles it. */
function breakEvent(
  sim: Simulator,
  part: Exclude<HandlerOf, 'deployments'> | 'autoscaler',
  event: EventName,
  times = Infinity,
): void {
  const handler = sim.world[part] as { onEvent(...args: unknown[]): void }
  const original = handler.onEvent
  let count = 0
  handler.onEvent = function (...args) {
    if (args[0] === event && ++count <= times) throw new TypeError(`planted in ${event}`)
    original.apply(this, args)
  }
}

/** A world that reports bugs to a list, as `serve` prints them. */
function stageWithBugs(options: SimulatorOptions = {}): { sim: Simulator; bugs: string[] } {
  const bugs: string[] = []
  const onBug = (error: unknown, operation: string) => bugs.push(`${operation}: ${String(error)}`)
  const sim = stage(
    [{ count: 2 }],
    {},
    { check: false, ...options, onBug: (error, operation) => void onBug(error, operation) },
  )
  return { sim, bugs }
}

const rent = ({ rentals }: World, name = 'bench') => {
  const image = 'registry.example/dev:1'
  const ordinal = rentals.create({ kind: 'container', name, gpu: 'H100-80GB', numGpus: 1, image })
  return { id: rentals.read(ordinal).id, state: () => rentals.read(ordinal).state }
}
const list = (sim: Simulator) => sendTo(sim, 'GET /deploy/list')

describe('an event that throws', () => {
  test('fails its batch alone and lets time go on', async () => {
    const { sim, bugs } = stageWithBugs()
    breakEvent(sim, 'batches', 'batch.finalized', 1)
    const [first, second] = [batchOf(sim, many(3)), batchOf(sim, many(4))]
    const { failedEvents, to } = await sim.clock.advance('2h')
    expect(to).toBe(sim.clock.iso)
    expect(sim.clock.elapsed).toBe(7_200e6)
    const statuses = [first, second].map(({ id }) => sim.world.batches.get(id)!.status)
    expect(statuses.sort()).toEqual(['completed', 'failed'])
    expect(bugs).toEqual(['batch.finalized: TypeError: planted in batch.finalized'])
    const failed = [first, second].find(({ id }) => sim.world.batches.get(id)!.status === 'failed')!
    expect(failedEvents).toEqual([
      {
        at: expect.any(String),
        subject: failed.id,
        event: 'batch.finalized',
        error: 'TypeError: planted in batch.finalized',
      },
    ])
    expect(story(sim, failed.id).slice(-2)).toEqual(['event.failed', 'batch.failed'])
    const answer = await sendTo(sim, `GET /v1/batches/${failed.id}`)
    expect(await answer.json()).toMatchObject({
      status: 'failed',
      errors: { data: [{ code: 'internal_error', message: 'internal error' }] },
    })
    expect(findViolations(sim.world)).toEqual([])
  })

  test('crashes its instance, and the deployment runs on another', async () => {
    const { sim, bugs } = stageWithBugs()
    breakEvent(sim, 'instances', 'instance.loaded', 1)
    const one = sim.world.deployments.createLlm(spec())
    await sim.clock.advance('3h')
    expect(bugs).toHaveLength(1)
    expect(one.status).toBe('running')
    expect(story(sim, `${one.deploy_id}-0`).at(-1)).toBe('instance.crashed')
    expect(findViolations(sim.world)).toEqual([])
  })

  test('fails the deployment in the end when it throws for each instance', async () => {
    const { sim } = stageWithBugs()
    breakEvent(sim, 'instances', 'instance.loaded')
    const [one, bench] = [sim.world.deployments.createLlm(spec()), rent(sim.world)]
    await sim.clock.advance('12h')
    expect(one.status).toBe('failed')
    expect(one.row.failReason).toContain('internal error')
    expect(bench.state()).toBe('running')
    expect(sim.world.nodes.free('H100-80GB')).toBe(15)
    expect(findViolations(sim.world)).toEqual([])
  })

  test('fails its rental', async () => {
    const { sim } = stageWithBugs()
    breakEvent(sim, 'rentals', 'rental.booted', 1)
    const bench = rent(sim.world)
    await sim.clock.advance('1h')
    expect(story(sim, bench.id)).toContain('event.failed')
    expect(findViolations(sim.world)).toEqual([])
  })

  test('fails only the tenant whose placement threw', async () => {
    const { sim, bugs } = stageWithBugs()
    const { rentals } = sim.world
    const original = rentals.place
    const broken = rent(sim.world, 'broken')
    const others = ['before', 'after', 'last'].map(name => rent(sim.world, name))
    rentals.place = function (ordinal) {
      if (this.read(ordinal).id === broken.id) throw new TypeError('planted')
      return original.call(this, ordinal)
    }
    await sim.clock.advance('1h')
    expect(others.map(({ state }) => state())).toEqual(['running', 'running', 'running'])
    expect(broken.state()).not.toBe('running')
    expect(bugs[0]).toBe('placement.round: TypeError: planted')
    expect(sim.world.nodes.free('H100-80GB')).toBe(13)
    expect(findViolations(sim.world)).toEqual([])
  })

  test('breaks its request to a model, whose client gets an answer', async () => {
    const { sim, bugs } = stageWithBugs({ inferencePace: 'clock' })
    breakEvent(sim, 'inferenceRequests', 'inference.ended')
    const pending = sendTo(sim, 'POST /v1/chat/completions', {
      model: 'aurora-labs/aurora-8b-instruct',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    await sim.clock.advance('10m')
    expect((await pending).status).toBe(503)
    expect(bugs).toEqual(['inference.ended: TypeError: planted in inference.ended'])
    expect(sim.world.inferenceRequests.inFlightCount).toBe(0)
    expect(findViolations(sim.world)).toEqual([])
  })

  test('lets requests that move the clock be answered', async () => {
    const { sim, bugs } = stageWithBugs()
    let now = 0
    sim.clock.set({ mode: 'follow', now: () => now })
    breakEvent(sim, 'instances', 'instance.placementDue')
    sim.world.deployments.createLlm(spec())
    for (; now < 3_600_000; now += 600_000) expect((await list(sim)).status).toBe(200)
    expect(bugs.length).toBeGreaterThan(0)
  })

  test('does not end a forecast in another request', async () => {
    const { sim, bugs } = stageWithBugs()
    const fork = () => {
      const future = sim.world.fork()
      breakEvent({ world: future } as Simulator, 'batches', 'batch.validated')
      return future
    }
    batchOf(sim, many(2))
    expect(() => fork().runTo(3_600e6)).not.toThrow()
    expect(bugs).toEqual([])
  })

  test('is in the answer of the move over HTTP', async () => {
    const { sim } = stageWithBugs()
    breakEvent(sim, 'autoscaler', 'deployment.scaleDue')
    breakEvent(sim, 'batches', 'batch.validated')
    batchOf(sim, many(2))
    const { failedEvents } = await sim.clock.advanceInSlices('1h')
    expect(failedEvents).toMatchObject([{ event: 'batch.validated' }])
    expect((await sim.clock.advanceInSlices('1h')).failedEvents).toBeUndefined()
  })

  test('rejects the complete move when the world is checked', async () => {
    const { sim } = stageWithBugs({ check: true })
    breakEvent(sim, 'batches', 'batch.validated')
    batchOf(sim, many(2))
    await expect(sim.clock.advance('1h')).rejects.toThrow('planted in batch.validated')
    expect(sim.clock.elapsed).toBe(3_600e6)
    expect((await sim.clock.advance('1h')).events).toBe(0)
  })

  test('rejects the complete move with what onBug throws', async () => {
    const sim = stage(
      [{}],
      {},
      {
        check: false,
        onBug: (_, operation) => {
          throw new Error(`bug in ${operation}`)
        },
      },
    )
    breakEvent(sim, 'batches', 'batch.validated')
    batchOf(sim, many(2))
    await expect(sim.clock.advance('1h')).rejects.toThrow('bug in batch.validated')
    expect(sim.clock.elapsed).toBe(3_600e6)
  })

  test('is a single warning of the process when onBug is missing', async () => {
    const sim = createSimulator({ fixtures: 'empty' })
    const warnings: string[] = []
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(text => void warnings.push(String(text)))
    onTestFinished(() => emitWarning.mockRestore())
    breakEvent(sim, 'batches', 'batch.validated')
    batchOf(sim, many(2))
    batchOf(sim, many(3))
    expect((await sim.clock.advance('1h')).failedEvents).toHaveLength(2)
    expect(warnings).toEqual([
      'A bug of modelhost-sim in the event batch.validated: TypeError: planted in batch.validated. Please report it.',
    ])
  })
})
