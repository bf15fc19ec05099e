/** Findings in plain words. */
import { describe, expect, test } from 'vitest'
import { DeployClient as GoodClient } from '../../../../examples/vitest/client.ts'
import { SECOND } from '../../../../src/kernel/duration.ts'
import { COMMANDS } from '../../../../src/simulation/operations/commands.ts'
import { FAULT_KINDS } from '../../../../src/simulator/faults/kinds/index.ts'
import type { Fault } from '../../../../src/simulator/faults/rules.ts'
import type { ObservedRequest } from '../../../../src/simulator/judge/observation.ts'
import type { Plan, PlanItem } from '../../../../src/workbench/explore/plan/plan.ts'
import {
  describeFinding,
  type FindingStory,
  toParagraph,
} from '../../../../src/workbench/explore/report/finding-words.ts'
import { describeItem, toLabelledTexts } from '../../../../src/workbench/explore/report/item-words.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'

const CREATE = 'createLlmDeployment'

describe('an item says what happened', () => {
  const fault = (fault: Fault, more = {}): PlanItem => ({ fault: { on: CREATE, nth: 2, fault, ...more } })
  test.each<[PlanItem, string]>([
    [fault({ kind: 'status', status: 503 }), `${CREATE} was answered with 503 (its 2nd request)`],
    [
      fault({ kind: 'status', status: 503, effect: 'done' }),
      `${CREATE} was answered with 503 after it had been carried out (its 2nd request)`,
    ],
    [fault({ kind: 'reset' }), `the connection was reset before ${CREATE} was carried out (its 2nd request)`],
    [
      fault({ kind: 'reset', effect: 'done' }, { nth: 1 }),
      `the connection was reset after ${CREATE} had been carried out (its 1st request)`,
    ],
    [fault({ kind: 'latency', delay: '30s' }), `the answer to ${CREATE} came 30s late (its 2nd request)`],
    [fault({ kind: 'hang' }, { nth: 12 }), `${CREATE} was never answered (its 12th request)`],
    [
      fault({ kind: 'refused' }, { for: '60s', nth: 3 }),
      `for 1m from the 3rd ${CREATE} on, the connection for ${CREATE} was refused`,
    ],
    [fault({ kind: 'status', status: 500 }, { in: 'batch' }), 'line 2 of the batch was answered with 500'],
    [
      { fault: { on: '*', in: 'batch', model: 'acme/chat', nth: 3, fault: { kind: 'status', status: 500 } } },
      'line 3 for acme/chat of the batch was answered with 500',
    ],
    [
      { fault: { on: '*', in: 'batch', every: 2, fault: { kind: 'status', status: 500 } } },
      'a line of the batch was answered with 500',
    ],
    [{ crash: 3 }, 'the process of the client ended after request 3 had been carried out, and started again'],
    [
      { command: { verb: 'hub.down' }, after: { kind: 'start' }, for: '60s', undo: { verb: 'hub.up' } },
      `the simulator executed hub.down at the start (${COMMANDS['hub.down'].description}), and hub.up followed 1m later`,
    ],
    [
      { command: { verb: 'node.crash', target: 'h100-0' }, after: { kind: 'instance.ready', nth: 2, offset: '5s' } },
      `the simulator executed node.crash h100-0 5s after the 2nd journal entry instance.ready (${COMMANDS['node.crash'].description})`,
    ],
    [
      {
        command: { verb: 'deployment.crash', target: 'dep-1', args: { times: 20 } },
        after: { kind: 'deployment.deploying', subject: 'dep-1' },
      },
      `the simulator executed deployment.crash dep-1 with times 20 at the first journal entry deployment.deploying of dep-1 (${COMMANDS['deployment.crash'].description})`,
    ],
  ])('%j', (item, words) => {
    expect(describeItem(item)).toBe(words)
  })

  test.each(Object.entries(FAULT_KINDS))('the fault kind %s names its operation', (_, { example }) => {
    expect(describeItem(fault(example as Fault))).toContain(CREATE)
  })
})

const request = (index: number, operation: string, more: Partial<ObservedRequest> = {}): ObservedRequest => ({
  index,
  operation,
  method: 'GET',
  path: '/x',
  body: undefined,
  sentAt: index * 10 * SECOND,
  endedAt: index * 10 * SECOND,
  outcome: 'answered',
  status: 200,
  retryAfter: undefined,
  answer: undefined,
  readError: undefined,
  decidedBy: 'none',
  fault: undefined,
  start: 1,
  ...more,
})

const MEANING = { summary: 'Nothing costs money without an owner.', advice: 'look first' }
const LOST: Plan = [{ fault: { name: 'lost', on: CREATE, nth: 1, fault: { kind: 'reset', effect: 'done' } } }]
const STORY: FindingStory = {
  violation: { invariant: 'noLeak', words: 'The deployment dep-1 (running) goes on' },
  plan: LOST,
  requests: [
    request(0, 'listDeployments'),
    request(1, CREATE, { outcome: 'failed', status: 0, fault: { rule: 'lost', kind: 'reset' } }),
    ...[2, 3, 4].map(index => request(index, 'getDeployment')),
    request(5, 'getDeployment', { readError: 'Unexpected end' }),
  ],
  isMinimal: true,
  inevitability: { afterRequest: 1, method: 'each', exceptions: [] },
}

test('a paragraph says what, because of what, until when, what is necessary and what to do', () => {
  const words = describeFinding(STORY, () => MEANING)
  expect(toParagraph(words)).toBe(
    'The invariant noLeak does not hold. The deployment dep-1 (running) goes on. ' +
      'Expected: Nothing costs money without an owner. ' +
      `Cause: The connection was reset after ${CREATE} had been carried out (request 1). ` +
      `Requests: 6 in all: listDeployments at 0s (200), then ${CREATE} at 10s (no connection), ` +
      'then getDeployment 3 times from 20s to 40s (200), then getDeployment at 50s (200 with an unreadable body). ' +
      `Too late after: request 1 (${CREATE}, at 10s), even if the service recovers after it. ` +
      'Without this fault, this finding does not occur. ' +
      'What to do: Look first.',
  )
})

test('labelled texts name each cause, and leave out what is unknown', () => {
  const labels = (more: Partial<FindingStory>) =>
    toLabelledTexts(describeFinding({ ...STORY, ...more }, () => MEANING)).map(([label]) => label)
  expect(labels({})).toEqual(['What happened', 'Expected', 'Cause', 'Requests', 'Too late after', 'What to do'])
  const two = { plan: [...LOST, { crash: 4 }], inevitability: undefined }
  expect(labels(two)).toEqual(['What happened', 'Expected', 'Cause 1', 'Cause 2', 'Needed', 'Requests', 'What to do'])
  const none = toLabelledTexts(describeFinding({ ...STORY, plan: [] }))
  expect(none[1]).toEqual(['Cause', 'It happens without any fault.'])
})

test.each<[string, Partial<FindingStory>, Partial<ReturnType<typeof describeFinding>>]>([
  ['a finding without faults', { plan: [] }, { causes: [], necessary: '', tooLateFrom: '' }],
  [
    'two causes',
    { plan: [...LOST, { crash: 4 }] },
    {
      causes: [
        `The connection was reset after ${CREATE} had been carried out (request 1).`,
        'The process of the client ended after request 4 (getDeployment) had been carried out, and started again.',
      ],
      necessary: 'Without any one of these 2 faults, this finding does not occur.',
    },
  ],
  [
    'a variation, which is the only fault and acts on the whole run',
    {
      plan: [{ fault: { on: ['getDeployment'], for: '365d', fault: { kind: 'variation', form: 'fields' } } }],
      isMinimal: false,
    },
    {
      causes: ['Each answer to getDeployment had another form that the interface allows (fields).'],
      necessary: 'Without this fault, this finding does not occur.',
    },
  ],
  [
    'a plan that may be smaller',
    { plan: [...LOST, { crash: 4 }], isMinimal: false },
    { necessary: 'Some of these faults may be unnecessary, because the runs for shrinking were used up.' },
  ],
  [
    'no moment to save it',
    { inevitability: { afterRequest: 0, method: 'bisection', exceptions: [] }, requests: STORY.requests.slice(1) },
    {
      tooLateFrom:
        'the start, even if the service recovers before the first request. ' + 'Not every request was tested for this.',
    },
  ],
  [
    'an exception',
    { inevitability: { afterRequest: 4, method: 'each', exceptions: [2] } },
    {
      tooLateFrom:
        'request 4 (getDeployment, at 40s), even if the service recovers after it. ' +
        'A recovery just before request 2 does not help either.',
    },
  ],
  ['an unknown moment', { inevitability: undefined }, { tooLateFrom: '' }],
  ['an own invariant', {}, { expected: '', advice: '' }],
  ['no request', { requests: [] }, { requests: 'The client sent none.' }],
])('%s', (_, more, expected) => {
  expect(describeFinding({ ...STORY, ...more })).toMatchObject(expected)
})

test('a long list of requests is cut in its middle', () => {
  const requests = Array.from({ length: 40 }, (_, i) => request(i + 1, i % 2 === 0 ? 'getBatch' : 'listBatches'))
  const { requests: words } = describeFinding({ ...STORY, requests })
  expect(words).toContain('getBatch at 50s (200), then 30 others, then listBatches at 6m (200)')
  expect(words.split(', then ')).toHaveLength(11)
})

test('the words of a real run name its requests', async () => {
  const runner = createFlowRunner({
    name: 'deploy',
    options: { fixtures: 'empty' },
    run: ({ fetch, url, token, sleep }) =>
      new GoodClient({ baseUrl: url, token, fetch, sleep }).deploy({
        model_name: 'acme/chat',
        gpu: 'H100-80GB',
        hub: { repo: 'acme/chat-8b' },
      }),
  })
  const { requests } = await runner.run(LOST)
  const { causes, requests: sent } = describeFinding({ ...STORY, requests })
  expect(causes).toEqual([`The connection was reset after ${CREATE} had been carried out (request 2).`])
  expect(sent).toMatch(
    /^\d+ in all: listDeployments at 0s \(200\), then createLlmDeployment at 0s \(no connection\), then /,
  )
  await runner.dispose()
})
