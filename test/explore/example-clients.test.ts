/** The clients of `examples/` under every single fault, beside naive clients that break. */
import { describe, expect, test } from 'vitest'
import { DeployClient } from '../../examples/vitest/client.ts'
import type { Fault } from '../../src/faults/rules.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator-interface.ts'

/** The JavaScript clients have no types. */
const importClients = (path: string) => import(new URL(path, import.meta.url).href)
const { BatchClient } = await importClients('../../examples/node-test/client.js')
const { deployClient } = await importClients('../../examples/jest/client.js')
const { BatchClient: NaiveBatchClient } = await importClients('./naive/batch-client.js')
const { deployClient: naiveDeployClient } = await importClients('./naive/polling-client.js')

const FAULTS: readonly Fault[] = [
  { kind: 'refused' },
  { kind: 'reset' },
  { kind: 'reset', effect: 'done' },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 503, effect: 'done' },
  { kind: 'rateLimit', retryAfter: '20s' },
  { kind: 'html', status: 502 },
  { kind: 'html', status: 200, effect: 'done' },
  { kind: 'empty' },
  { kind: 'garbled' },
  { kind: 'truncated' },
  { kind: 'duplicate', answer: 'first' },
  { kind: 'duplicate', answer: 'second' },
  { kind: 'hang' },
  { kind: 'hang', effect: 'done' },
]

const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const CHAT_MODEL = 'aurora-labs/aurora-8b-instruct'
const QUESTIONS = ['How is tea made?', 'Why does it rain?', 'Who sings?']

/** Aborts after some turns of the event loop, in which `sim.fetch` answers every request that it answers at all. */
function timeout(): AbortSignal {
  const controller = new AbortController()
  const turn = (left: number) => (left === 0 ? controller.abort() : setImmediate(turn, left - 1))
  turn(20)
  return controller.signal
}

function optionsOf(sim: Simulator) {
  const sleep = async (ms: number) => void (await sim.clock.advance(`${ms}ms`))
  return { url: 'http://sim', baseUrl: 'http://sim', token: sim.token, fetch: sim.fetch, sleep, timeout }
}

async function get(sim: Simulator, path: string) {
  sim.faults.clear()
  const headers = { authorization: `Bearer ${sim.token}` }
  return (await sim.fetch(`http://sim${path}`, { headers })).json()
}

/** The deployments that cost money or will. */
async function heldDeployments(sim: Simulator) {
  const deployments = (await get(sim, '/deploy/list')) as { status: string }[]
  return deployments.filter(({ status }) => status !== 'deleted').map(({ status }) => status)
}

interface Flow {
  readonly fixtures: string
  run(sim: Simulator): Promise<unknown>
  /** Checks what the flow returned and what it left in the world. */
  verify(sim: Simulator, result: unknown): Promise<void>
}

const deployed = async (sim: Simulator) => expect(await heldDeployments(sim)).toEqual(['running'])
const answered = async (sim: Simulator, result: unknown) => {
  expect(result).toMatchObject({ status: 'completed' })
  expect((result as { answers: unknown[] }).answers).toEqual(QUESTIONS.map(() => expect.any(String)))
  const { data } = (await get(sim, '/v1/batches')) as { data: unknown[] }
  expect(data).toHaveLength(1)
}

const FLOWS: Readonly<Record<string, Flow>> = {
  'examples/vitest': {
    fixtures: 'empty',
    run: sim => new DeployClient(optionsOf(sim)).deploy(MODEL),
    verify: deployed,
  },
  'examples/jest': {
    fixtures: 'empty',
    run: sim => deployClient(optionsOf(sim)).deploy(MODEL),
    verify: deployed,
  },
  'examples/node-test': {
    fixtures: 'empty',
    run: sim => new BatchClient(optionsOf(sim)).ask(CHAT_MODEL, QUESTIONS),
    verify: answered,
  },
}

const newWorld = ({ fixtures }: Flow) => createSimulator({ fixtures, seed: 1 })

describe.each(Object.entries(FLOWS))('the client of %s', (_, flow) => {
  test('does its work without a fault', async () => {
    const sim = newWorld(flow)
    await flow.verify(sim, await flow.run(sim))
  })

  test.each(FAULTS)('survives %o of any one request', async fault => {
    for (let nth = 1; ; nth++) {
      const sim = newWorld(flow)
      const rule = sim.faults.add({ on: '*', nth, fault })
      const result = await flow.run(sim).catch(error => {
        throw new Error(`request ${nth}: ${String(error)}`)
      })
      const { hits } = rule
      // No service can undo a batch that it carried out twice, so a client can only see both.
      const isDoubleCreate = fault.kind === 'duplicate' && flow.verify === answered
      if (!isDoubleCreate) await flow.verify(sim, result)
      if (hits === 0) {
        expect(nth).toBeGreaterThan(3)
        return
      }
    }
  })
})

describe('a naive client', () => {
  test('leaves a deployment that costs money when the answer to its create is lost', async () => {
    const sim = createSimulator({ fixtures: 'empty', seed: 1 })
    sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })
    const client = naiveDeployClient({ url: 'http://sim', token: sim.token, fetch: sim.fetch })
    await expect(client.deploy(MODEL)).rejects.toThrow()
    expect(await heldDeployments(sim)).toEqual(['initializing'])
  })

  test('throws at one poll whose connection is reset, and leaves its deployment', async () => {
    const sim = createSimulator({ fixtures: 'empty', seed: 1 })
    sim.faults.add({ on: 'getDeployment', times: 1, fault: { kind: 'reset' } })
    const client = naiveDeployClient({ url: 'http://sim', token: sim.token, fetch: sim.fetch })
    await expect(client.deploy(MODEL)).rejects.toThrow()
    expect(await heldDeployments(sim)).toEqual(['initializing'])
  })

  test('takes an empty download for a complete one', async () => {
    const sim = createSimulator({ fixtures: 'empty', seed: 1 })
    sim.faults.add({ on: 'getFileContent', times: 1, fault: { kind: 'empty' } })
    const { status, answers } = await new NaiveBatchClient(optionsOf(sim)).ask(CHAT_MODEL, QUESTIONS)
    expect(status).toBe('completed')
    expect(answers).toEqual(QUESTIONS.map(() => undefined))
  })
})
