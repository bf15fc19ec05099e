/** A finding of a real client, from its shrunk plan to the scenario that repeats it. */

import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { RULES } from '../../../src/evidence/rules/index.ts'
import type { NamedFlow } from '../../../src/explore/flow.ts'
import { completeFinding } from '../../../src/explore/report/complete-finding.ts'
import { createFlowRunner } from '../../../src/explore/run/flow-runner.ts'
import { shrink } from '../../../src/explore/shrink/shrink.ts'
import { runScenario, survives } from '../../../src/scenario/index.ts'
import { DeployClient } from '../naive/deploy-client.ts'

const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const flow: NamedFlow = {
  name: 'deploy',
  options: { fixtures: 'empty' },
  run: ({ url, token, sleep }) => new DeployClient({ baseUrl: url, token, sleep }).deploy(MODEL),
}

test('the leak of a naive client has words, and its scenario repeats it', async () => {
  const runner = createFlowRunner(flow)
  await runner.run([])
  const plan = [
    { fault: { on: 'getDeployment', nth: 2, fault: { kind: 'rateLimit', retryAfter: '1s' } } },
    { fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'hang', effect: 'done' } } },
  ] as const
  const signature = 'noLeak@createLlmDeployment/error'
  const shrunk = (await shrink({ runner, plan, signature }))!
  const violation = shrunk.result.broken.find(one => one.signature === signature)!
  const { why, yaml, inevitability } = await completeFinding({ runner, violation, shrunk, flow: './client.ts' })
  expect(inevitability).toEqual({ afterRequest: 1, method: 'each', exceptions: [] })
  expect(why).toBe(
    `The invariant noLeak does not hold. ${violation.words} ` +
      'The cause: the connection was reset after createLlmDeployment had been carried out (request 1). ' +
      'The client sent 1 request: createLlmDeployment at 0s: no connection. ' +
      'After request 1 (createLlmDeployment, at 0s) nothing could save the client, even if the service recovered. ' +
      `Without this fault, the client passes. What to do: ${RULES.noLeak.advice}`,
  )
  const document = parse(yaml)
  expect(document).toMatchObject({ flow: './client.ts', explore: 1, plan: shrunk.plan, invariants: ['noLeak'] })
  const { failure } = await runScenario(survives(document.title, flow, { plan: document.plan, invariants: ['noLeak'] }))
  expect(failure!.message).toBe(`noLeak does not hold: ${violation.words}`)
  await runner.dispose()
})
