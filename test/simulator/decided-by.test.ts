/** What decided the answer to a request: in `sim.requests`, in the journal and over the control plane. */
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { ReceivedRequest } from '../../src/index.ts'
import { serve } from '../../src/server/http/server.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

const CHAT = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hello.' }] }
const DEPLOYMENT = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

interface Row {
  readonly name: string
  readonly arrange?: (sim: Simulator) => unknown
  readonly request: readonly [method: string, path: string, body?: unknown]
  readonly status: number
  readonly decidedBy: ReceivedRequest['decidedBy']
}

const ROWS: Row[] = [
  { name: 'a success', request: ['GET', '/deploy/list'], status: 200, decidedBy: 'none' },
  { name: 'an invalid body', request: ['POST', '/deploy/llm', {}], status: 422, decidedBy: 'none' },
  { name: 'an unknown path', request: ['GET', '/deploys?page=2'], status: 404, decidedBy: 'none' },
  { name: 'an unsupported method', request: ['PATCH', '/deploy/list'], status: 405, decidedBy: 'none' },
  { name: 'an unknown deployment', request: ['GET', '/deploy/missing'], status: 404, decidedBy: 'state' },
  {
    name: 'a suspended account',
    arrange: sim => sim.cluster.account.suspend(),
    request: ['POST', '/deploy/llm', DEPLOYMENT],
    status: 402,
    decidedBy: 'state',
  },
  {
    name: 'a GPU limit',
    request: ['POST', '/deploy/llm', { ...DEPLOYMENT, num_gpus: 8 }],
    status: 403,
    decidedBy: 'limit',
  },
  {
    name: 'a fault',
    arrange: sim => sim.faults.add({ on: '*', fault: { kind: 'status', status: 503 } }),
    request: ['GET', '/deploy/list'],
    status: 503,
    decidedBy: 'fault',
  },
  {
    name: 'a fault that lets the request through',
    arrange: sim => sim.faults.add({ on: '*', fault: { kind: 'drift', change: 'keyOrder' } }),
    request: ['GET', '/deploy/list'],
    status: 200,
    decidedBy: 'fault',
  },
  {
    name: 'a scripted answer',
    arrange: sim => sim.inference.add({ answer: { text: 'Sunny.' } }),
    request: ['POST', '/v1/chat/completions', CHAT],
    status: 200,
    decidedBy: 'rule',
  },
  {
    name: 'a scripted error',
    arrange: sim => sim.inference.add({ answer: { error: { status: 503, message: 'out' } } }),
    request: ['POST', '/v1/chat/completions', CHAT],
    status: 503,
    decidedBy: 'rule',
  },
]

describe.each(ROWS)('a request that $name decides', ({ arrange, request: [method, path, body], status, decidedBy }) => {
  test(`says ${decidedBy}`, async () => {
    const sim = createSimulator({ seed: 1 })
    arrange?.(sim)
    const { status: seen } = await sendTo(sim, `${method} ${path}`, body)
    expect(seen).toBe(status)
    expect(sim.requests).toMatchObject([{ method, path, status, decidedBy }])
    const entry = sim.journal.entries().find(({ kind }) => kind === 'request')
    expect(entry?.fields).toMatchObject({ status, decidedBy })
  })
})

test('a request to an unknown path is received without an operation', async () => {
  const sim = createSimulator({ seed: 1 })
  await sim.fetch('http://sim/v2/deployments?limit=1', { method: 'POST', body: '{}' })
  expect(sim.requests).toMatchObject([{ operation: '', method: 'POST', path: '/v2/deployments?limit=1', status: 404 }])
})

test('the control plane lists what decided a request', async () => {
  const sim = createSimulator({ seed: 1 })
  const server = await serve(sim, { port: 0 })
  try {
    await fetch(`${server.url}/deploy/missing`, { headers: { authorization: `Bearer ${sim.token}` } })
    const answer = await fetch(`${server.url}/_sim/journal?kind=request`)
    const { entries } = (await answer.json()) as { entries: { fields: unknown }[] }
    expect(entries[0]!.fields).toEqual({ operation: 'getDeployment', status: 404, decidedBy: 'state' })
  } finally {
    await server.close()
  }
})

test('decidedBy is a union of words', () => {
  expectTypeOf<ReceivedRequest['decidedBy']>().toEqualTypeOf<'fault' | 'limit' | 'state' | 'rule' | 'none'>()
})
