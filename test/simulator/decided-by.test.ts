/** What decided the answer to a request: in `sim.requests`, in the journal and over the control plane. */
import { expect, expectTypeOf, test } from 'vitest'
import type { ReceivedRequest } from '../../src/index.ts'
import type { Fault } from '../../src/simulator/faults/rules.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

const CHAT = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hello.' }] }
const DEPLOYMENT = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

type Row = [
  name: string,
  request: readonly [method: string, path: string, body?: unknown],
  status: number,
  decidedBy: ReceivedRequest['decidedBy'],
  arrange?: (sim: Simulator) => unknown,
]
const CREATE: Row[1] = ['POST', '/deploy/llm', DEPLOYMENT]
const ASK: Row[1] = ['POST', '/v1/chat/completions', CHAT]
const OUT = { error: { status: 503, message: 'out' } }
const fault = (fault: Fault) => (sim: Simulator) => sim.faults.add({ on: '*', fault })

const ROWS: Row[] = [
  ['a success', ['GET', '/deploy/list'], 200, 'none'],
  ['an invalid body', ['POST', '/deploy/llm', {}], 422, 'none'],
  ['an unknown path', ['GET', '/deploys?page=2'], 404, 'none'],
  ['an unsupported method', ['PATCH', '/deploy/list'], 405, 'none'],
  ['an unknown deployment', ['GET', '/deploy/missing'], 404, 'state'],
  ['a suspended account', CREATE, 402, 'state', sim => sim.cluster.account.suspend()],
  ['a GPU limit', ['POST', '/deploy/llm', { ...DEPLOYMENT, num_gpus: 8 }], 403, 'limit'],
  ['a fault', ['GET', '/deploy/list'], 503, 'fault', fault({ kind: 'status', status: 503 })],
  ['a passing fault', ['GET', '/deploy/list'], 200, 'fault', fault({ kind: 'drift', change: 'keyOrder' })],
  ['a scripted answer', ASK, 200, 'rule', sim => sim.inference.add({ answer: { text: 'Sunny.' } })],
  ['a scripted error', ASK, 503, 'rule', sim => sim.inference.add({ answer: OUT })],
]

test.each(ROWS)('what decides %s is in the list and in the journal', async (_, request, status, decidedBy, arrange) => {
  const [method, path, body] = request
  const sim = createSimulator({ seed: 1 })
  arrange?.(sim)
  expect((await sendTo(sim, `${method} ${path}`, body)).status).toBe(status)
  expect(sim.requests).toMatchObject([{ method, path, status, decidedBy }])
  const entry = sim.journal.entries().find(({ kind }) => kind === 'request')
  expect(entry?.fields).toMatchObject({ status, decidedBy })
})

test('a request to an unknown path is received without an operation', async () => {
  const sim = createSimulator({ seed: 1 })
  await sim.fetch('http://sim/v2/deployments?limit=1', { method: 'POST', body: '{}' })
  expect(sim.requests).toMatchObject([{ operation: '', method: 'POST', path: '/v2/deployments?limit=1', status: 404 }])
})

test('decidedBy is a union of words', () => {
  expectTypeOf<ReceivedRequest['decidedBy']>().toEqualTypeOf<'fault' | 'limit' | 'state' | 'rule' | 'none'>()
})
