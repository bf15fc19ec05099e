/** What sim.judge is asked and what it answers: clients, settings, rules of the user, and mistakes. */
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import type { Conduct } from '../../../src/simulator/judge/observation.ts'
import type { ConductRule } from '../../../src/simulator/judge/rule.ts'
import { defineRule } from '../../../src/simulator/judge/rule.ts'
import { CONDUCT_RULE_NAMES } from '../../../src/simulator/judge/rules/conduct/index.ts'
import { formatJudgement } from '../../../src/simulator/judge/text.ts'
import { CHAT, type JudgedClient, NEW, runClients } from './judged.ts'

const createOne: JudgedClient = async ({ send }) => send('POST', '/deploy/llm', NEW)
const wait: JudgedClient = async ({ sleep }) => sleep(1_000)

test('a world without requests has no findings', () => {
  const { findings, rules, clients, dropped } = createSimulator({ seed: 1 }).judge()
  expect({ findings, clients, dropped }).toEqual({ findings: [], clients: [], dropped: 0 })
  expect(rules).toEqual(CONDUCT_RULE_NAMES)
})

test('a judgement changes nothing and is the same again', async () => {
  const sim = await runClients([createOne])
  const { digest } = sim
  const judgement = sim.judge()
  expect(sim.judge()).toEqual(judgement)
  expect(sim.digest).toBe(digest)
  expect(sim.requests).toHaveLength(1)
})

test('each client is judged by its own requests', async () => {
  const poll: JudgedClient = async ({ send }) => {
    for (let i = 0; i < 3; i++) await send('GET', '/deploy/list')
  }
  const sim = await runClients([poll, poll, createOne])
  const { clients, findings } = sim.judge()
  // The fixture has a token that no client uses.
  const used = sim.world.store.tokens.all().filter(({ name }) => name !== 'auto')
  const tokens = used.map(({ token_id }) => token_id)
  expect(clients.map(({ client, requests }) => [client, requests])).toEqual([
    [tokens[0], 5],
    [tokens[1], 3],
    [tokens[2], 1],
  ])
  expect(findings.map(({ rule, client }) => [rule, client])).toEqual([['leavesNothingRunning', tokens[2]]])
  expect(sim.judge({ client: 'client-2' })).toMatchObject({
    findings: [],
    clients: [{ client: tokens[1], requests: 3 }],
  })
})

test('keep names what may go on, pollsAtMost the advised rate, and false turns a rule off', async () => {
  const client: JudgedClient = async ({ send, sleep }) => {
    await send('POST', '/deploy/llm', NEW)
    for (let i = 0; i < 5; i++) {
      await send('GET', '/deploy/list')
      await sleep(2_000)
    }
  }
  const sim = await runClients([client])
  const [id] = sim.world.deployments.list().map(({ deploy_id }) => deploy_id)
  const rulesOf = (options?: Parameters<typeof sim.judge>[0]) => sim.judge(options).findings.map(({ rule }) => rule)
  expect(rulesOf()).toEqual(['leavesNothingRunning'])
  expect(rulesOf({ keep: [id!] })).toEqual([])
  expect(rulesOf({ keep: [id!], pollsAtMost: 0.1 })).toEqual(['pollsAtMost'])
  expect(rulesOf({ rules: { leavesNothingRunning: false } })).toEqual([])
})

test('a rule of the user gets the conduct of each client', async () => {
  const namesItsWork = defineRule({
    summary: 'Each deployment has a team as prefix.',
    advice: 'Begin the name with your team.',
    source: 'Our handbook, page 3.',
    check: ({ requests }) =>
      requests
        .filter(({ body }) => !String((body as typeof NEW | undefined)?.model_name ?? 'team/').startsWith('team/'))
        .map(request => ({
          words: `The request ${request.index} has no team.`,
          operation: request.operation,
          evidence: [{ kind: 'request' as const, request }],
        })),
  })
  const sim = await runClients([createOne])
  const { findings, rules } = sim.judge({ rules: { namesItsWork, leavesNothingRunning: false } })
  expect(rules.at(-1)).toBe('namesItsWork')
  expect(findings).toMatchObject([
    { rule: 'namesItsWork', words: 'The request 1 has no team.', source: 'Our handbook, page 3.' },
  ])
  expect(findings[0]!.evidence).toEqual(['0.000000 request 1: POST /deploy/llm → 200'])
})

const RULE: ConductRule = { summary: 'S.', advice: 'A.', source: 'O.', check: () => [] }
const mine = (change: object) => ({ rules: { mine: { ...RULE, ...change } } })
const fails = () => {
  throw new Error('oh')
}
const MISTAKES: [options: object, message: string][] = [
  [{ rules: { backOff: false } }, "Failed to judge: unknown rule 'backOff'. Did you mean 'backsOff'?"],
  [{ rules: { noLeak: false } }, "Failed to judge: the rule 'noLeak' needs a run of explore"],
  [
    { rules: { backsOff: RULE } },
    'Failed to judge: the rule backsOff exists already. Give your own rule another name.',
  ],
  [mine({ source: '' }), 'Failed to judge: the rule mine has no source. Give a sentence.'],
  [mine({ sees: 'some' }), `Failed to judge: the rule mine sees "some". Give 'client' or 'all'`],
  [{ rules: { mine: 'no' } }, 'Failed to judge: the rule mine is "no". Give false, or an object'],
  [mine({ check: () => 'bad' }), 'Failed to judge: the rule mine returned "bad".'],
  [mine({ check: () => [{}] }), 'the rule mine returned a list with something else than violations.'],
  [mine({ check: fails }), 'the rule mine threw Error: oh. Correct its check.'],
  [
    mine({ check: async () => Promise.reject(new Error('oh')) }),
    'Failed to judge: the rule mine returned a promise. Make its check answer at once, without async.',
  ],
  [
    mine({ check: () => [{ words: ' ', operation: '', evidence: [] }] }),
    'the rule mine returned a violation without words.',
  ],
  ...['a text', null, { kind: 'nope' }, { kind: 'posting' }].map((fact): [object, string] => [
    mine({ check: () => [{ words: 'W.', operation: '', evidence: [fact] }] }),
    `the rule mine returned ${JSON.stringify(fact)} as evidence, which is no { kind: 'request', request }`,
  ]),
  ...[
    ({ sim }: Conduct) => sim.cluster.model.deprecate(CHAT.model, '30d'),
    ({ sim }: Conduct) => sim.faults.add({ on: '*', fault: { kind: 'reset' } }),
    ({ sim }: Conduct) => sim.inference.add({ answer: { text: 'yes' } }),
    ({ sim }: Conduct) => sim.reset(),
  ].map((change): [object, string] => [
    mine({ check: (conduct: Conduct) => [change(conduct)].slice(1) }),
    'the rule mine changed the world. Make its check only read, or work with sim.fork().',
  ]),
  ...[
    ({ requests }: Conduct) => (requests as unknown[]).reverse(),
    ({ requests }: Conduct) => Object.assign(requests[0]!, { status: 500 }),
    ({ requests }: Conduct) => Object.assign(requests[0]!.body as object, { model: 'other' }),
    ({ created }: Conduct) => (created as unknown[]).push({}),
  ].map((change): [object, string] => [mine({ check: change }), 'the rule mine threw TypeError: Cannot']),
  [{ rules: [] }, 'Failed to judge: rules is []. Give an object, as in { backsOff: false }.'],
  [{ rule: {} }, "Failed to judge: unknown option 'rule'. Did you mean 'rules'?"],
  [{ pollsAtMost: 0 }, 'Failed to judge: pollsAtMost is 0. Give a number above 0.'],
  [{ client: 'cleint-1' }, 'Failed to judge: unknown token "cleint-1".'],
  [{ keep: ['dep_1'] }, 'Failed to judge: no client created "dep_1", which keep names. The clients created nothing.'],
  [{ keep: 'dep_1' }, 'Failed to judge: keep is "dep_1". Give a list of ids.'],
]

test.each(MISTAKES)('refuses %j', { tags: 'slow' }, async (options, message) => {
  const sim = await runClients([async ({ send }) => send('POST', '/v1/chat/completions', CHAT), wait])
  expect(() => sim.judge(options)).toThrow(message)
})

test('the text has the words, the evidence, the advice and the source of each finding', async () => {
  const sim = await runClients([createOne])
  expect(formatJudgement(sim.judge())).toBe(`1 client, 1 request, 12 rules: 1 finding

1. leavesNothingRunning, client ${sim.world.store.tokens.all()[0]!.token_id} (default)
   The deployment ${sim.world.deployments.list()[0]!.deploy_id} (initializing) goes on: $0.00 so far. It was created by request 1
   (createLlmDeployment, 200) 0s after the start. No later request names its id.
     0.000000 request 1: POST /deploy/llm → 200
     0.000000 deployment.created F5PbBQg1E2QOtYBb gpu=H100-80GB model_name=acme/new num_gpus=1
   What to do: In a finally block, delete or stop what you created, and cancel batches. Put the ids of things
   that may go on into keep.
   Why: Convention of clouds that charge by time: what runs is charged until its owner ends it.
`)
})

test('what a client sends cannot act on the terminal, nor fill it', async () => {
  const path = `/\u001b[2J/${'y'.repeat(3_000)}`
  const client: JudgedClient = async ({ send }) => {
    for (let i = 0; i < 3; i++) await send('POST', path, {})
    await send('POST', '/v1/chat/completions', { ...CHAT, '\u001b[31mred\n': 1, ['x'.repeat(3_000)]: 2 })
  }
  const judgement = (await runClients([client])).judge()
  const expected = ['noRepeatedRefusal', 'sendsKnownFields', 'sendsKnownFields']
  expect(judgement.findings.map(({ rule }) => rule)).toEqual(expected)
  const text = formatJudgement(judgement)
  expect(text).toContain("Nothing reads the field 'body \\u001b[31mred ' of")
  expect(text).not.toMatch(/[^\n\P{Cc}]/u)
  for (const line of text.split('\n')) expect(line.length).toBeLessThan(200)
})
