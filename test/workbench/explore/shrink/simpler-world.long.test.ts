/** Findings of real clients in simpler worlds than those of their flows. */
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { explore } from '../../../../src/workbench/explore/explore-flow.ts'
import type { FlowContext, FlowFunction, FlowOptions, NamedFlow } from '../../../../src/workbench/explore/flow.ts'
import { toYamlScenario } from '../../../../src/workbench/explore/report/finding-files.ts'
import { runScenario, survives } from '../../../../src/workbench/scenario/index.ts'
import { DeployClient } from '../naive/deploy-client.ts'

const MODEL = { model_name: 'acme/chat-new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const SIGNATURE = 'noLeak@createLlmDeployment/error'

const deploy: FlowFunction = ({ url, token, sleep }: FlowContext) =>
  new DeployClient({ baseUrl: url, token, sleep }).deploy(MODEL)

/** Deploys beside the deployment of its world that has a name. */
const deployBeside =
  (name: string): FlowFunction =>
  async context => {
    const { fetch, url, token } = context
    const response = await fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${token}` } })
    if (!(await response.text()).includes(name)) throw new Error(`${name} is missing`)
    return deploy(context)
  }

/** Reads a deployment of the fixture `default`, and goes on whatever the answer is. */
const lenient: FlowFunction = async context => {
  const { fetch, url, token } = context
  await fetch(`${url}/deploy/2cZeTxVFN7tKxCCh`, { headers: { authorization: `Bearer ${token}` } })
  return deploy(context)
}

async function findLeak(run: FlowFunction, options: FlowOptions) {
  const flow: NamedFlow = { name: 'deploy', options, run }
  const { findings } = await explore(flow, { faults: 'singles', classes: ['resetDone'] })
  return { flow, leak: findings.find(({ signature }) => signature === SIGNATURE)! }
}

test('what the client does not need is left out, the finding says so, and its scenario has that world', async () => {
  const file = { id: 'file_other0', filename: 'a.jsonl', purpose: 'batch' as const, created_at: 1_767_139_200 }
  const added = { files: [{ ...file, content: '{}' }] }
  const options = { fixtures: 'default', profile: 'rough', seed: 3, with: added } as const
  const { flow, leak } = await findLeak(deploy, options)
  expect(leak.plan).toHaveLength(1)
  expect(leak.shrunk!.world).toEqual({ profile: 'realistic', with: {}, fixtures: 'two-nodes', seed: 1 })
  expect(leak.why).toContain(
    'Left out of the world: It also happens without the profile rough (realistic is enough), all added records, ' +
      'the fixture default (two-nodes is enough) and the seed 3 (1 is enough).',
  )
  const { plan, shrunk } = leak
  const document = parse(toYamlScenario({ flow: './client.ts', plan, world: shrunk!.world, invariants: ['noLeak'] }))
  expect(document.given).toEqual(shrunk!.world)
  const again = survives(document.title, flow, { ...document.given, plan: document.plan, invariants: ['noLeak'] })
  expect((await runScenario(again)).failure!.message).toBe(`noLeak does not hold: ${leak.words}`)
})

test('a client keeps what its run without faults needs', async () => {
  const deployment = (model_name: string) => ({ model_name, status: 'running' as const })
  const account = { gpu_limits: { 'H100-80GB': 16 } }
  const added = { account, deployments: ['acme/one', 'acme/two', 'acme/three'].map(deployment) }
  const { leak } = await findLeak(deployBeside('acme/two'), { fixtures: 'default', with: added })
  expect(leak.shrunk!.world).toEqual({
    fixtures: 'two-nodes',
    with: { deployments: [{ model_name: 'acme/two' }] },
  })
  expect(leak.why).toContain('the fixture default (two-nodes is enough) and 4 parts of the added records.')
})

test('nothing is said of a world that cannot be simpler', async () => {
  const { leak: ofSmall } = await findLeak(deploy, { fixtures: 'two-nodes' })
  const { leak: ofOwn } = await findLeak(deployBeside('acme/chat'), { fixtures: 'default' })
  // A request that fails only in the other world, although the client does not mind.
  const { leak: ofLenient } = await findLeak(lenient, { fixtures: 'default' })
  for (const { why, shrunk } of [ofSmall, ofOwn, ofLenient]) {
    expect(shrunk).toMatchObject({ world: {}, leftOut: [], isMinimal: true })
    expect(why).not.toContain('Left out')
  }
})
