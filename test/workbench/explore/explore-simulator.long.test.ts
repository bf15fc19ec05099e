/** `sim.explore`: explorations in the world of a simulator. */

import { createSimulator } from 'modelhost-sim'
import { expect, test } from 'vitest'
import type { FlowFunction } from '../../../src/workbench/explore/flow.ts'
import { askTo, sendTo } from '../../setup/send-to.ts'

const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

/** Deletes the first deployment, and ignores what comes of it. */
const forgetful: FlowFunction = async context => {
  const { body: list } = await askTo(context, 'GET /deploy/list')
  await sendTo(context, `DELETE /deploy/${list[0].deploy_id}`)
}

test('a simulator explores a flow from its present state, which stays as it is', async () => {
  const sim = createSimulator({ fixtures: 'empty', clock: 'on-poll' })
  const { deploy_id } = (await askTo(sim, 'POST /deploy/llm', model)).body
  await sim.clock.advance('10m')
  const { digest } = sim
  const report = await sim.explore(forgetful, {
    faults: 'singles',
    classes: ['status503', 'latency'],
    invariants: {
      deletes: ({ sim: { world } }) =>
        world.deployments.get(deploy_id)?.status === 'running' ? `${deploy_id} still runs` : undefined,
    },
  })
  expect(report.flow).toBe('forgetful')
  expect(report.findings.map(({ signature }) => signature)).toEqual([
    'deletes@listDeployments/error',
    'deletes@deleteDeployment/ok',
    'doneAsSaid@deleteDeployment/ok',
    'recovers@listDeployments/crash',
  ])
  expect(report.findings[2]).toMatchObject({
    plan: [{ fault: { on: 'deleteDeployment', fault: { kind: 'status', status: 503 } } }],
    shrunk: { isMinimal: true, isRepeatable: true },
  })
  expect(sim.digest).toBe(digest)
  await sim.fork().explore(async ({ fetch, url }) => void (await fetch(`${url}/health`)), { budget: 3 })
})

test('a simulator refuses an invalid flow, option or invariant', async () => {
  const sim = createSimulator()
  await expect(sim.explore('deploy' as unknown as FlowFunction)).rejects.toThrow(
    'Failed to explore: the flow is "deploy". Give a function, as in sim.explore(async ({ fetch }) => …).',
  )
  await expect(sim.explore(forgetful, { fault: 'singles' } as object)).rejects.toThrow(
    "Failed to explore: unknown option 'fault'. Did you mean 'faults'?",
  )
  await expect(sim.explore(forgetful, { invariants: { noLeek: false } })).rejects.toThrow(
    "Failed to explore forgetful: unknown invariant 'noLeek'. Did you mean 'noLeak'?",
  )
})
