/** Sends provocations to worlds of their own. */
import { expect } from 'vitest'
import { applyChange } from '../../../src/cli/conform/probes.ts'
import { operations } from '../../../src/service/index.ts'
import { createExampleRequest } from '../../../src/service/openapi/examples.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { type Provocation, STOPPED } from './provocations.ts'

/** The limits are so low that the second of each thing is refused. */
const OPTIONS: SimulatorOptions = {
  inferencePace: 'clock',
  profile: {
    extends: 'realistic',
    limits: { batches_under_way: 2, hosted_at_once: 4, containers_at_once: 1 },
  } as never,
  with: {
    deployments: Object.entries(STOPPED)
      .filter(([task]) => task !== 'text-generation')
      .map(([task, deploy_id]) => ({ deploy_id, model_name: `acme/${task}`, task, status: 'stopped' })) as never,
  },
}

const worlds: Partial<Record<'usual' | 'full', Simulator>> = {}

/** Returns a new world. The full one is made when a test first needs it. */
function createWorld(kind: 'usual' | 'full' = 'usual'): Simulator {
  worlds[kind] ??= createSimulator(kind === 'usual' ? OPTIONS : { fill: { deployments: 100_000 } })
  return worlds[kind].fork()
}

/** Sends a provocation. Returns the status and the text of the answer. */
export async function provoke(operation: string, provocation: Provocation): Promise<[number, string]> {
  const { before, change = {}, meanwhile, method, world } = provocation
  const sim = createWorld(world)
  const example = await createExampleRequest(operations, operation, sim.fetch, {
    baseUrl: 'http://sim',
    token: sim.token,
  })
  const copy = example.clone()
  await before?.(sim, () => copy.clone())
  const changed = await applyChange(example, change)
  const request = method === undefined ? changed : new Request(changed, { method })
  const { digest } = sim
  const answer = sim.fetch(request)
  if (meanwhile !== undefined) {
    await sim.clock.advance('1ms')
    await meanwhile(sim)
    await sim.clock.advance('1m')
  }
  const { status, headers } = await answer
  if (status === 429) expect(headers.get('retry-after'), 'a 429 says when to retry').toMatch(/^\d+$/)
  if (meanwhile === undefined) expect(sim.digest, 'a refused request changes nothing').toBe(digest)
  return [status, await (await answer).text()]
}
