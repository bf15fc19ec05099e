/** Shrinking with runs of a real client. */
import { expect, test } from 'vitest'
import type { Fault } from '../../../../src/simulator/faults/rules.ts'
import type { FlowFunction } from '../../../../src/workbench/explore/flow.ts'
import type { Plan } from '../../../../src/workbench/explore/plan/plan.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'
import { findInevitability, shrink } from '../../../../src/workbench/explore/shrink/shrink.ts'
import { DeployClient } from '../naive/deploy-client.ts'

const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const deploy: FlowFunction = ({ url, token, sleep }) => new DeployClient({ baseUrl: url, token, sleep }).deploy(MODEL)

const HARMLESS: readonly Fault[] = [
  { kind: 'status', status: 503 },
  { kind: 'rateLimit', retryAfter: '20s' },
  { kind: 'latency', delay: '30s' },
]
/** 20 items, of which the first is the cause. */
const PLAN: Plan = [
  { fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } } },
  { fault: { on: 'getDeployment', nth: 3, for: '60s', fault: { kind: 'status', status: 503 } } },
  { command: { verb: 'hub.down' }, after: { kind: 'start', offset: '5s' }, for: '60s', undo: { verb: 'hub.up' } },
  ...Array.from({ length: 17 }, (_, i) => ({
    fault: { on: i % 2 === 0 ? 'getDeployment' : 'listDeployments', nth: i + 1, fault: HARMLESS[i % 3]! },
  })),
]

test('a plan of 20 items shrinks to the lost answer of the create, in a simpler world', { tags: 'slow' }, async () => {
  const options = { fixtures: 'default', seed: 7 }
  const runner = createFlowRunner({ name: 'deploy', options, run: deploy })
  await runner.run([])
  const signature = 'noLeak@createLlmDeployment/error'
  const shrunk = (await shrink({ runner, plan: PLAN, signature, world: options }))!
  expect(shrunk).toMatchObject({ isMinimal: true, isRepeatable: true, world: { seed: 1, fixtures: 'two-nodes' } })
  expect(shrunk.plan).toEqual([PLAN[0]])
  expect(shrunk.runs).toBeLessThanOrEqual(25)
  // A user cannot leave out a fixture that they did not choose.
  const unchosen = (await shrink({ runner, plan: [PLAN[0]!], signature, world: { seed: 7 } }))!
  expect(unchosen).toMatchObject({ world: { fixtures: 'two-nodes' }, leftOut: ['the seed 7 (1 is enough)'] })
  const { plan, world, result } = shrunk
  expect(shrunk.leftOut).toEqual(['the fixture default (two-nodes is enough)', 'the seed 7 (1 is enough)'])
  expect(
    await findInevitability({ runner, plan, setting: { world }, signature, requests: result.requests.length }),
  ).toEqual({
    afterRequest: 1,
    method: 'each',
    exceptions: [],
  })
  await runner.dispose()
})

test('after an abort, the plan is as simple as it was by then', { tags: 'slow' }, async () => {
  const runner = createFlowRunner({ name: 'deploy', options: { fixtures: 'empty' }, run: deploy })
  await runner.run([])
  const signature = 'noLeak@createLlmDeployment/error'
  const shrunk = (await shrink({ runner, plan: PLAN, signature, signal: AbortSignal.abort() }))!
  // The run that it begins with, and none that confirms it.
  expect(shrunk).toMatchObject({ isMinimal: false, isRepeatable: false, runs: 1 })
  expect(shrunk.plan).toHaveLength(PLAN.length)
  await runner.dispose()
})
