/** The fleet as a page draws it: all of it once, and then what changed. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { FleetTracker, type FleetView } from '../../src/evidence/views/fleet-tracker.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { running } from '../transports/http/running-server.ts'

const ID = 'Chat000000000001'
const deployments = [{ deploy_id: ID, model_name: 'acme/chat' }]

test('a look shows who holds each GPU, and a second one only what changed', async () => {
  const { command, sim } = await running({ fixtures: 'two-nodes', with: { deployments } })
  const look = async (query = '') => (await command(`/_sim/fleet${query}`, undefined, 'GET')).body
  const all = await look()
  expect(all).toMatchObject({ full: true, totals: { nodes: 2 }, removed: [] })
  const held = all.nodes.flatMap(([name, , , gpus, holders]: [string, number, string, number[], number[][]]) =>
    gpus.flatMap((holder, gpu) => (holder < 0 ? [] : [[name, gpu, all.owners[holders[holder]![0]!].id]])),
  )
  const { id, instances } = sim.world.deployments.read(sim.world.deployments.ordinalOf(ID)!)
  const { gpus, node } = sim.world.instances.read(instances[0]!)
  expect(gpus).toBe(1)
  expect(held).toEqual([[sim.world.nodes.read(node).id, 0, id]])
  expect(all.owners).toEqual([
    { id, kind: 'deployment', name: 'acme/chat', status: 'running', utilisation: expect.any(Number) },
  ])
  expect(await look(`?since=${all.revision}`)).toMatchObject({ revision: all.revision, full: false, nodes: [] })

  sim.cluster.node('h100-1').cordon()
  const changed = await look(`?since=${all.revision}`)
  expect(changed).toMatchObject({
    full: false,
    owners: [],
    nodes: [['h100-1', 0, 'cordoned', expect.anything(), [], 1, false]],
  })
  await command('/_sim/reset')
  expect(await look(`?since=${changed.revision}`)).toMatchObject({ full: true })
  expect((await command('/_sim/fleet?since=-1', undefined, 'GET')).status).toBe(422)
})

/** What a page has after some answers. */
class Page {
  nodes = new Map<string, string>()
  owners = new Map<string, string>()
  revision: number | undefined

  take({ isFull, nodes, owners, removed, revision }: FleetView): void {
    if (isFull) {
      this.nodes.clear()
      this.owners.clear()
    }
    for (const name of removed) this.nodes.delete(name)
    for (const node of nodes) this.nodes.set(node.name, JSON.stringify(node))
    for (const owner of owners) this.owners.set(owner.id, JSON.stringify(owner))
    this.revision = revision
  }

  /** What it draws: owners without GPUs are nowhere on it. */
  get drawn(): unknown {
    const text = [...this.nodes.values()].join()
    return [[...this.nodes].sort(), [...this.owners].filter(([id]) => text.includes(id)).sort()]
  }
}

const ACTIONS = [
  (sim: Simulator) => sim.cluster.node('h100-0').crash(),
  (sim: Simulator) => sim.cluster.node('h100-0').repair(),
  (sim: Simulator) => sim.cluster.node('h100-1').drain(),
  (sim: Simulator) => sim.cluster.node('h100-1').uncordon(),
  (sim: Simulator) => sim.cluster.node('h100-0').degrade(2),
  (sim: Simulator) => sim.cluster.zone('east-a').down(),
  (sim: Simulator) => sim.cluster.zone('east-a').up(),
  (sim: Simulator) => sim.reset(),
  (sim: Simulator) => sim.clock.advance('3m'),
]

test('differences add up to the whole fleet for pages that look often and seldom', async () => {
  const step = fc.record({ action: fc.nat(ACTIONS.length - 1), looks: fc.nat(2) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, weather: 'rough' })
      const tracker = new FleetTracker(sim)
      const [often, seldom] = [new Page(), new Page()]
      often.take(tracker.look())
      seldom.take(tracker.look())
      for (const { action, looks } of steps) {
        try {
          await ACTIONS[action]!(sim)
        } catch (error) {
          // A command can be impossible in this state.
          expect(error).toBeInstanceOf(RangeError)
        }
        for (let look = 0; look < looks; look++) often.take(tracker.look(often.revision))
      }
      const whole = new Page()
      whole.take(new FleetTracker(sim).look())
      for (const page of [often, seldom]) {
        page.take(tracker.look(page.revision))
        expect(page.drawn).toEqual(whole.drawn)
      }
    }),
    { numRuns: 10 },
  )
})
