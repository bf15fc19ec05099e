/** The clients of `examples/` survive every single fault. Naive clients beside them break. */
import { describe, expect, test } from 'vitest'
import { DeployClient } from '../../../examples/vitest/client.ts'
import { exploreRuns } from '../../../src/workbench/explore/explore.ts'
import type { FlowFunction } from '../../../src/workbench/explore/flow.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'
import { DeployClient as NaiveTypedClient } from './naive/deploy-client.ts'

/** The JavaScript clients have no types. */
const importClients = (path: string) => import(new URL(path, import.meta.url).href)
const { BatchClient } = await importClients('../../../examples/node-test/client.js')
const { deployClient } = await importClients('../../../examples/jest/client.js')
const { BatchClient: NaiveBatchClient } = await importClients('./naive/batch-client.js')
const { deployClient: naiveDeployClient } = await importClients('./naive/polling-client.js')

const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const CHAT_MODEL = 'aurora-labs/aurora-8b-instruct'
const QUESTIONS = ['How is tea made?', 'Why does it rain?', 'Who sings?']

async function explore(name: string, run: FlowFunction) {
  const runner = createFlowRunner({ name, options: { fixtures: 'empty' }, run })
  const report = await exploreRuns(runner, { name, faults: 'singles' })
  await runner.dispose()
  return report
}

describe('an example client survives every single fault', () => {
  const clients: Readonly<Record<string, FlowFunction>> = {
    vitest: ({ fetch, url, token, sleep }) => new DeployClient({ baseUrl: url, fetch, token, sleep }).deploy(MODEL),
    jest: context => deployClient(context).deploy(MODEL),
    'node-test': context => new BatchClient(context).ask(CHAT_MODEL, QUESTIONS),
  }
  test.each(Object.entries(clients))('%s', async (name, run) => {
    const { findings, unreached, points } = await explore(name, run)
    expect(points).toBeGreaterThan(100)
    expect(findings.map(({ signature, words }) => `${signature}: ${words}`)).toEqual([])
    // The list is empty there, so a drift changes nothing.
    expect(unreached.filter(one => one.operation !== 'listDeployments' || one.class !== 'drift')).toEqual([])
  })
})

describe('a naive client', () => {
  const signaturesOf = async (run: FlowFunction) =>
    (await explore('naive', run)).findings.map(({ signature }) => signature)

  test('leaves a deployment when the answer to its create is lost, and throws at one broken poll', async () => {
    const found = await signaturesOf(context => naiveDeployClient(context).deploy(MODEL))
    expect(found).toEqual(
      expect.arrayContaining(['noLeak@createLlmDeployment/error', 'cleansUpOnThrow@getDeployment/error']),
    )
  })

  test('with retries ignores Retry-After, and takes the refusal of its second create for the end', async () => {
    const found = await signaturesOf(({ url, token }) => new NaiveTypedClient({ baseUrl: url, token }).deploy(MODEL))
    expect(found).toEqual(
      expect.arrayContaining(['honoursRetryAfter@createLlmDeployment', 'noLeak@createLlmDeployment/error']),
    )
  })

  test('takes an empty download for a complete one', async () => {
    const found = await signaturesOf(context => new NaiveBatchClient(context).ask(CHAT_MODEL, QUESTIONS))
    expect(found).toEqual(expect.arrayContaining(['noSilentLoss@getFileContent/ok']))
  })
})
