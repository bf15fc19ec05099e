/** Fault rules that act on lines of batches. */
import { expect, test } from 'vitest'
import { describeEntry } from '../../../src/simulator/explain/kind-sentences.ts'
import { FAULT_KINDS } from '../../../src/simulator/faults/kinds/index.ts'
import type { FaultRule } from '../../../src/simulator/faults/rules.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { HELLO } from '../../service/openai/openai-world.ts'
import { rowsOf } from '../../setup/batches.ts'
import { sendTo } from '../../setup/send-to.ts'
import { awaitBatch, createBatch, upload } from '../clients.ts'

const DOWN = { kind: 'status', status: 503, message: 'try later' } as const
const LINE_KINDS = ['rateLimit', 'status']

function world(rule: FaultRule) {
  const sim = createSimulator({ fixtures: 'empty', seed: 1, check: true })
  return { sim, rule: sim.faults.add(rule) }
}

interface Batch {
  readonly id: string
  readonly status: string
}

const contextOf = (sim: Simulator) => ({
  ...{ fetch: sim.fetch, url: 'http://sim', token: sim.token },
  sleep: (ms: number) => sim.clock.advance(ms) as Promise<never>,
})

/** Runs a batch of chats. Returns its counts, and the failed lines with their codes and messages. */
async function run(sim: Simulator, lines = 4) {
  const context = contextOf(sim) as never
  const questions = Array.from({ length: lines }, (_, n) => `question ${n + 1}`)
  const { status, request_counts, error_file_id } = await awaitBatch(
    context,
    await createBatch(context, await upload(context, questions)),
  )
  const errors = await (await sendTo(sim, `GET /v1/files/${error_file_id}/content`)).text()
  const failed = rowsOf(errors)
    .map(({ custom_id, error }) => `${custom_id} ${error.code} ${error.message}`)
    .sort()
  return { status, completed: request_counts.completed, failed }
}

test.each<[string, Omit<FaultRule, 'on'>, readonly string[]]>([
  ['nth', { nth: 3, fault: DOWN }, ['q3 503 try later']],
  ['times', { times: 2, fault: { kind: 'rateLimit' } }, ['q1 429 Too Many Requests', 'q2 429 Too Many Requests']],
  ['every', { every: 2, model: 'aurora-labs/*', fault: DOWN }, ['q2 503 try later', 'q4 503 try later']],
  ['another model', { model: 'acme/chat', fault: DOWN }, []],
])('a rule in a batch fails the lines that %s selects', async (_, rest, failed) => {
  const { sim, rule } = world({ on: 'createChatCompletion', in: 'batch', ...rest })
  expect(await run(sim)).toEqual({ status: 'completed', completed: 4 - failed.length, failed })
  expect([rule.hits, rule.matches]).toEqual([failed.length, rest.model === 'acme/chat' ? 0 : 4])
  const hits = sim.journal.entries().filter(({ kind }) => kind === 'fault.hit')
  const fields = {
    fault: rest.fault.kind,
    operation: 'createChatCompletion',
    batch: expect.stringMatching(/^batch_/),
    lines: failed.length,
  }
  expect(hits).toEqual(failed.length === 0 ? [] : [expect.objectContaining({ subject: 'fault-1', fields })])
  const sentence = `The fault rule fault-1 failed ${failed.length === 1 ? '1 line' : '2 lines'} of the batch BATCH: its fault is ${rest.fault.kind}.`
  expect(hits.map(entry => describeEntry(entry).replace(/batch_\w+/, 'BATCH'))).toEqual(
    failed.length === 0 ? [] : [sentence],
  )
})

test('a rule does not act on a batch that was validated before the world began', async () => {
  const sim = createSimulator({ seed: 1 })
  const rule = sim.faults.add({ on: 'createChatCompletion', in: 'batch', nth: 3, fault: DOWN })
  sim.inference.add({ answer: { text: 'Scripted.' }, times: 3 })
  const list = async () => (await (await sendTo(sim, 'GET /v1/batches')).json()).data as Batch[]
  const [batch] = (await list()).filter(({ status }) => status === 'in_progress')
  await sim.clock.advance('1h')
  const ended = (await list()).find(({ id }) => id === batch!.id)
  expect(ended).toMatchObject({ status: 'completed', request_counts: { failed: 0 } })
  expect([rule.hits, rule.matches, sim.inference.list()[0]!.hits]).toEqual([0, 0, 0])
})

test('a rule acts on requests or on lines, and never on both', async () => {
  const ask = (sim: Simulator) =>
    sendTo(sim, 'POST /v1/chat/completions', { model: 'aurora-labs/aurora-8b-instruct', messages: HELLO })
  const lines = world({ on: '*', in: 'batch', fault: DOWN })
  expect((await ask(lines.sim)).status).toBe(200)
  expect((await run(lines.sim)).failed).toHaveLength(4)
  const requests = world({ on: 'createChatCompletion', fault: DOWN })
  expect((await ask(requests.sim)).status).toBe(503)
  expect(await run(requests.sim)).toEqual({ status: 'completed', completed: 4, failed: [] })
})

test('a fork continues the counts of its origin, and a file that fails its validation counts nothing', async () => {
  const { sim, rule } = world({ on: 'createChatCompletion', in: 'batch', times: 3, fault: DOWN })
  const context = contextOf(sim) as never
  const failed = await createBatch(context, await upload(context, ['a', 'b'], undefined, { temperature: 9 }))
  expect(await awaitBatch(context, failed)).toMatchObject({ status: 'failed' })
  expect([rule.hits, rule.matches]).toEqual([0, 0])
  expect((await run(sim, 2)).failed).toHaveLength(2)
  const fork = sim.fork()
  expect((await run(fork)).failed).toEqual(['q1 503 try later'])
  expect([rule.hits, fork.faults.list()[0]!.hits]).toEqual([2, 3])
})

const ON = 'createChatCompletion'
test.each<[string, object, string]>([
  ...Object.values(FAULT_KINDS)
    .filter(({ example }) => !LINE_KINDS.includes(example.kind))
    .map(({ example }): [string, object, string] => [
      `the kind ${example.kind}`,
      { on: '*', fault: example },
      `$.fault.kind: '${example.kind}' is not possible with in: 'batch'. Give 'rateLimit' or 'status'.`,
    ]),
  [
    'a field without meaning for a line',
    { on: ON, fault: { ...DOWN, effect: 'done' } },
    "$.fault.effect: it is not possible with in: 'batch'. Remove it.",
  ],
  [
    'a status of success',
    { on: ON, fault: { kind: 'status', status: 200 } },
    "$.fault.status: expected a status of 400 or more with in: 'batch', got 200. Raise it.",
  ],
  ['another operation', { on: 'listDeployments', fault: DOWN }, '$.on: no line of a batch calls listDeployments. Give'],
  ['a token', { on: ON, token: 'a', fault: DOWN }, "$.token: it is not possible with in: 'batch'. Remove it."],
  ['a path', { on: ON, path: '/v1/*', fault: DOWN }, "$.path: it is not possible with in: 'batch'. Remove it."],
  ['another place', { on: ON, in: 'batches', fault: DOWN }, "$.in: expected 'batch', got 'batches'"],
])('a rule in a batch refuses %s', (_, rule, reason) => {
  const { faults } = createSimulator({ fixtures: 'empty', seed: 1 })
  expect(() => faults.add({ in: 'batch', ...rule } as FaultRule)).toThrow(reason)
  expect(faults.list()).toEqual([])
})
