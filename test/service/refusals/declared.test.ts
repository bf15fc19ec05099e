/** Every refusal that the OpenAPI document lists is answered, and every declaration has a way to get each of its own. */
import { expect, test } from 'vitest'
import { applyChange } from '../../../src/conform/probes.ts'
import type { AnyEndpoint } from '../../../src/service/endpoint.ts'
import { operations } from '../../../src/service/index.ts'
import { createExampleRequest } from '../../../src/service/openapi/examples.ts'
import { createOpenapiDocument } from '../../../src/service/openapi/openapi.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { commonProvocation, PROVOCATIONS, type Provocation, STOPPED } from './provocations.ts'

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

/** Returns the declared statuses of an operation, and those that the document adds. */
const documented = new Map<string, readonly string[]>(
  Object.values(createOpenapiDocument(operations).paths as unknown as Record<string, Record<string, Documented>>)
    .flatMap(path => Object.values(path))
    .filter(one => one['x-mirror-of'] === undefined)
    .map(({ operationId, responses }) => [operationId, Object.keys(responses).filter(status => status >= '400')]),
)

interface Documented {
  readonly operationId: string
  readonly responses: object
  readonly 'x-mirror-of'?: string
}

/** Sends a provocation. Returns the status and the text of the answer. */
async function provoke(operation: string, provocation: Provocation): Promise<[number, string]> {
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

test.each(Object.entries<AnyEndpoint>(operations))('each refusal of %s is answered', async (operation, endpoint) => {
  const declared = Object.keys(endpoint.refusals)
  const own: Readonly<Record<string, Provocation>> = PROVOCATIONS[operation as keyof typeof operations] ?? {}
  expect(Object.keys(own), 'the table has the declared statuses: give each a provocation').toEqual(declared)
  const answers: Record<string, unknown> = {}
  const expected: Record<string, unknown> = {}
  for (const status of documented.get(operation)!) {
    const provocations = declared.includes(status) ? [own[status]!] : []
    const common = commonProvocation(endpoint, status)
    if (common !== undefined) provocations.push(common)
    expect(
      provocations,
      `the document of ${operation} lists ${status}: remove it, or give it a provocation`,
    ).not.toEqual([])
    for (const provocation of provocations) {
      const key = `${status} ${provocation.says}`
      expected[key] = [Number(status), expect.stringContaining(provocation.says)]
      answers[key] = await provoke(operation, provocation)
    }
  }
  expect(answers).toEqual(expected)
})
