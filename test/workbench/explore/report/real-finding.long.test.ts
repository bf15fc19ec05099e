/** A finding of a real client, from its shrunk plan to the scenario that repeats it. */

import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { RULES } from '../../../../src/simulator/judge/rules/index.ts'
import { explore } from '../../../../src/workbench/explore/explore-flow.ts'
import type { NamedFlow } from '../../../../src/workbench/explore/flow.ts'
import { toYamlScenario } from '../../../../src/workbench/explore/report/finding-files.ts'
import { runScenario, survives } from '../../../../src/workbench/scenario/index.ts'
import { DeployClient } from '../naive/deploy-client.ts'

const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const flow: NamedFlow = {
  name: 'deploy',
  options: { fixtures: 'empty' },
  run: ({ url, token, sleep }) => new DeployClient({ baseUrl: url, token, sleep }).deploy(MODEL),
}

test('the leak of a naive client has words, and its scenario repeats it', async () => {
  const { findings } = await explore(flow, { faults: 'singles', classes: ['resetDone'] })
  const finding = findings.find(({ signature }) => signature === 'noLeak@createLlmDeployment/error')!
  expect(finding.why).toBe(
    `The invariant noLeak does not hold. ${finding.words} ` +
      `Expected: ${RULES.noLeak.summary} ` +
      'Cause: The connection was reset after createLlmDeployment had been carried out (request 1). ' +
      'Requests: 1 in all: createLlmDeployment at 0s (no connection). ' +
      'Too late after: request 1 (createLlmDeployment, at 0s), even if the service recovers after it. ' +
      `Without this fault, this finding does not occur. What to do: ${RULES.noLeak.advice}`,
  )
  const { plan, why } = finding
  const document = parse(toYamlScenario({ flow: './client.ts', plan, invariants: ['noLeak'], comment: why }))
  expect(document).toMatchObject({ flow: './client.ts', explore: 1, plan, invariants: ['noLeak'] })
  const { failure } = await runScenario(survives(document.title, flow, { plan: document.plan, invariants: ['noLeak'] }))
  expect(failure!.message).toBe(`noLeak does not hold: ${finding.words}`)
})
