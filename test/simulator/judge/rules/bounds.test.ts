/** The exact bounds of rules of conduct: one request more, or a pause that is a little shorter, decides. */
import { expect, test } from 'vitest'
import { createSimulator } from '../../../../src/index.ts'
import { SECOND } from '../../../../src/kernel/duration.ts'
import type { Conduct, CreatedThing, ObservedRequest } from '../../../../src/simulator/judge/observation.ts'
import { CONDUCT_RULES, type ConductRuleName } from '../../../../src/simulator/judge/rules/conduct/index.ts'

type Sent = Partial<ObservedRequest> & { readonly did?: 'create' }

const sim = createSimulator({ fixtures: 'empty', seed: 1 })

/** A chat that fails with 500, sent at a time in seconds and answered at once. */
const at = (seconds: number, fields: Sent = {}): Sent => ({ sentAt: seconds * SECOND, ...fields })

function conductOf(sent: readonly Sent[]): Conduct {
  const requests = sent.map(({ did: _, ...fields }, i): ObservedRequest => {
    const { sentAt = 0, outcome = 'answered' } = fields
    return {
      ...{ index: i + 1, seq: i + 1, client: 'one', operation: 'createChatCompletion', method: 'POST', path: '/chat' },
      ...{ body: undefined, sentAt, endedAt: sentAt, outcome, status: outcome === 'answered' ? 500 : 0 },
      ...{
        retryAfter: undefined,
        answer: undefined,
        readError: undefined,
        decidedBy: 'none',
        fault: undefined,
        start: 1,
      },
      ...fields,
    }
  })
  const created = sent.flatMap(({ did }, i): CreatedThing[] =>
    did === undefined
      ? []
      : [
          {
            ...{ kind: 'deployment', id: `dep-${i}`, createdAt: 0, request: requests[i]! },
            ...{ status: 'running', isAlive: true, microcents: 0 },
          },
        ],
  )
  return {
    ...{ isFromLog: true, requests, created, owned: new Set(), sim, end: { kind: 'returned', result: undefined } },
    ...{ startedAt: 0, endedAt: 3_600 * SECOND, crashes: 0, settings: { pollsAtMost: 1 } },
  }
}

const chain = (...pauses: number[]) =>
  [0, ...pauses].map((_, i) => at(pauses.slice(0, i).reduce((sum, pause) => sum + pause, 0)))
const asked = (pause: number, seconds: number) =>
  [0, 1, 2, 3].map(i => at(i * pause, { status: 503, retryAfter: seconds * SECOND }))
const refused = (status: number, ...times: number[]) => times.map(s => at(s, { status }))
const read = { method: 'GET', path: '/thing', operation: 'getDeployment' }
const change = { method: 'POST', path: '/other', operation: 'createVoice' }
const byState = (last: number, decidedBy: ObservedRequest['decidedBy']) =>
  [0, last].map(s => at(s, { status: 402, decidedBy }))
const things = (count: number, time: number, operation = 'getBatch') =>
  Array.from({ length: count }, (_, i) => {
    return at((time * i) / (count - 1), { ...read, status: 200, operation, path: `/things/${i}` })
  })
const together = (count: number, apart: number) =>
  ['one', 'two'].flatMap((client, i) => [0, 1, 3, 7].slice(0, count + 1).map(s => at(s + i * apart, { client })))
const limited = (wait: number, fields: Sent = {}, next: Sent = {}) => [
  at(0, { status: 429, retryAfter: 20 * SECOND, ...fields }),
  at(wait, { status: 200, ...next }),
]
const other = { body: { other: 1 } }
const third = { body: { third: 1 } }
const make = { operation: 'createLlmDeployment', path: '/deploy/llm' }
const look = { method: 'GET', operation: 'listDeployments', path: '/deploy/list', status: 200 }
const twice = (first: Sent, ...between: Sent[]) => [
  at(0, { ...make, ...first }),
  ...between,
  at(9, { ...make, status: 200 }),
]

/** Two equal refusals, and a request between them. */
const refusedAround = (between: Sent) => [...refused(422, 0), between, ...refused(422, 9)]

type Bound = [rule: ConductRuleName, title: string, sent: readonly Sent[], isBroken: boolean]

const BOUNDS: readonly Bound[] = [
  ['backsOff', 'two retries at equal pauses', chain(1, 1), false],
  ['backsOff', 'three retries at equal pauses', chain(1, 1, 1), true],
  ['backsOff', 'three retries without a pause', chain(0, 0, 0), true],
  ['backsOff', 'pauses that differ by 30 %', chain(1, 1.3, 1.3), true],
  ['backsOff', 'pauses that grow by more', chain(1, 1.4, 2), false],
  ['backsOff', 'pauses of 30 seconds', chain(30, 30, 30), false],
  ['backsOff', 'pauses of 29 seconds', chain(29, 29, 29), true],
  ['backsOff', 'three pauses that shrink', chain(8, 4, 2), false],
  ['backsOff', 'four pauses that shrink', chain(8, 4, 2, 1), true],
  ['backsOff', 'pauses that go up and down', chain(1, 4, 1, 4), false],
  ['backsOff', 'pauses of at most 10 ms that grow', chain(0.001, 0.005, 0.01), true],
  ['backsOff', 'small pauses that grow above 10 ms', chain(0.001, 0.005, 0.011), false],
  ['backsOff', 'pauses that the service asked for', asked(5, 5), false],
  ['backsOff', 'pauses longer than the service asked for', asked(6, 5), false],
  ['backsOff', 'pauses shorter than the service asked for', asked(4, 5), true],
  ['backsOff', 'a wait of 0 seconds that the service asked for', asked(1, 0), true],
  [
    'backsOff',
    'one pause of several that the service asked for',
    [...asked(5, 5).slice(0, 1), ...chain(5, 5).map(r => ({ ...r, sentAt: r.sentAt! + 5 * SECOND }))],
    false,
  ],
  ['backsOff', 'a success between failures', [...chain(1), at(2, { status: 200 }), at(3), at(4)], false],
  ['backsOff', 'other bodies', chain(1, 1, 1).map((request, i) => ({ ...request, body: { i } })), false],
  ['noRepeatedRefusal', 'a write refused once', refused(422, 0), false],
  ['noRepeatedRefusal', 'a write refused twice', refused(422, 0, 9), true],
  ['noRepeatedRefusal', 'a read refused twice', refused(404, 0, 9).map(one => ({ ...one, ...read })), false],
  ['noRepeatedRefusal', 'a read refused three times', refused(404, 0, 5, 9).map(one => ({ ...one, ...read })), true],
  ...[408, 409, 423, 425, 429, 500].map(
    (status): Bound => ['noRepeatedRefusal', `${status} twice`, refused(status, 0, 9), false],
  ),
  ['noRepeatedRefusal', 'a lost answer twice', [0, 9].map(s => at(s, { outcome: 'failed' })), false],
  ['noRepeatedRefusal', 'another refusal', [...refused(422, 0), ...refused(400, 9)], false],
  ['noRepeatedRefusal', 'a success between', [...refused(422, 0), ...refused(200, 5), ...refused(422, 9)], false],
  ['noRepeatedRefusal', 'a refusal by the state, a minute later', byState(60, 'state'), false],
  ['noRepeatedRefusal', 'a refusal by the state, earlier', byState(59, 'state'), true],
  ['noRepeatedRefusal', 'a refusal by a limit, a minute later', byState(60, 'limit'), false],
  ['noRepeatedRefusal', 'a refusal of the request itself, a minute later', byState(60, 'none'), true],
  ['noRepeatedRefusal', 'a write between', refusedAround(at(5, { ...change, status: 200 })), false],
  ['noRepeatedRefusal', 'a failed write between', refusedAround(at(5, { ...change, status: 500 })), true],
  ['noRepeatedRefusal', 'a lost write between', refusedAround(at(5, { ...change, outcome: 'failed' })), true],
  ['noRepeatedRefusal', 'a read between', refusedAround(at(5, look)), true],
  ['noRepeatedRefusal', 'a write before', [at(0, { ...change, status: 200 }), ...refused(422, 1, 9)], true],
  ['noRepeatedRefusal', 'a write after', [...refused(422, 1, 9), at(10, { ...change, status: 200 })], true],
  ['usesLists', 'four things', things(4, 1), false],
  ['usesLists', 'five things', things(5, 1), true],
  ['usesLists', 'five things in 10 seconds', things(5, 10), true],
  ['usesLists', 'five things in 11 seconds', things(5, 11), false],
  ['usesLists', 'five things that no list answers', things(5, 1, 'getFileContent'), false],
  ['usesLists', 'things of two kinds', [...things(4, 1), ...things(4, 1, 'getFile')], false],
  ['spreadsRetries', 'one equal instant', together(1, 0), false],
  ['spreadsRetries', 'two equal instants', together(2, 0), true],
  ['spreadsRetries', 'retries a millisecond apart', together(2, 0.001), true],
  ['spreadsRetries', 'retries two milliseconds apart', together(2, 0.002), false],
  ['spreadsRetries', 'retries of one client', together(2, 0).map(one => ({ ...one, client: 'one' })), false],
  ['honoursRetryAfter', 'a wait that is too short', limited(19), true],
  ['honoursRetryAfter', 'the asked wait', limited(20), false],
  ['honoursRetryAfter', 'a wait that is less than a millisecond too short', limited(19.9995), false],
  ['honoursRetryAfter', 'a short wait after a 503', limited(19, { status: 503 }), true],
  ['honoursRetryAfter', 'a short wait after a 500', limited(19, { status: 500 }), false],
  ['honoursRetryAfter', 'a 429 that asks for no wait', limited(1, { retryAfter: undefined }), false],
  ['honoursRetryAfter', 'a request that was under way', limited(0, { endedAt: SECOND }), false],
  ['honoursRetryAfter', 'another operation', limited(1, {}, read), false],
  ['honoursRetryAfter', 'a restarted client', limited(1, {}, { start: 2 }), false],
  ['honoursRetryAfter', 'another request of the operation', limited(1, {}, other), true],
  [
    'honoursRetryAfter',
    'another task that is under way',
    [at(-1, { ...other, endedAt: SECOND }), ...limited(1, {}, third)],
    false,
  ],
  ['honoursRetryAfter', 'the next task after the last retry', [at(-1), ...limited(1, {}, other)], false],
  ['honoursRetryAfter', 'a retry of another task', [at(-1, other), ...limited(1, {}, other)], false],
  ['honoursRetryAfter', 'a retry beside another task', [at(-1, { ...other, endedAt: SECOND }), ...limited(1)], true],
  ['looksBeforeCreate', 'a lost answer', twice({ outcome: 'failed' }), true],
  ['looksBeforeCreate', 'a 500', twice({ status: 500 }), true],
  ['looksBeforeCreate', 'a 499', twice({ status: 499 }), false],
  ['looksBeforeCreate', 'a 503 that asks for a wait', twice({ status: 503, retryAfter: SECOND }), false],
  [
    'looksBeforeCreate',
    'a 503 that asks for a wait, but took effect',
    twice({ status: 503, retryAfter: SECOND, did: 'create' }),
    true,
  ],
  [
    'looksBeforeCreate',
    'a 503 after a create that took effect',
    [
      at(0, { ...make, path: '/deploy/llm?', did: 'create', status: 200 }),
      ...twice({ status: 503, retryAfter: SECOND }),
    ],
    false,
  ],
  ['looksBeforeCreate', 'a 503 that asks for nothing', twice({ status: 503 }), true],
  ['looksBeforeCreate', 'a 500 that asks for a wait', twice({ status: 500, retryAfter: SECOND }), true],
  ['looksBeforeCreate', 'a look between', twice({ status: 500 }, at(5, look)), false],
  ['looksBeforeCreate', 'a look that failed', twice({ status: 500 }, at(5, { ...look, status: 500 })), true],
  [
    'looksBeforeCreate',
    'a look at other things',
    twice({ status: 500 }, at(5, { ...look, operation: 'listBatches' })),
    true,
  ],
  ['looksBeforeCreate', 'a look before the create', [at(0, look), ...twice({ status: 500 })], true],
  [
    'looksBeforeCreate',
    'a look before the answer was lost',
    twice({ status: 500, endedAt: 6 * SECOND }, at(5, look)),
    true,
  ],
  ['looksBeforeCreate', 'another body', twice({ status: 500, body: { name: 'other' } }), false],
  [
    'looksBeforeCreate',
    'a request that creates nothing',
    twice({ status: 500 }).map(one => ({ ...one, operation: 'createChatCompletion' })),
    false,
  ],
]

test.each(BOUNDS)('%s: %s', (rule, _, sent, isBroken) => {
  expect(CONDUCT_RULES[rule].check(conductOf(sent))).toHaveLength(isBroken ? 1 : 0)
})

test('evidence has the first retries, and the last one', () => {
  const indexes = (sent: readonly Sent[], rule: ConductRuleName) =>
    CONDUCT_RULES[rule].check(conductOf(sent))[0]!.evidence.map(fact => fact.kind === 'request' && fact.request.index)
  expect(indexes(refused(422, 1, 2, 3), 'noRepeatedRefusal')).toEqual([1, 2, 3])
  expect(indexes(refused(422, 1, 2, 3, 4, 5, 6), 'noRepeatedRefusal')).toEqual([1, 2, 3, 6])
  expect(indexes(together(3, 0), 'spreadsRetries')).toEqual([2, 6, 3, 7, 4, 8])
  expect(indexes(chain(1, 1, 1, 1, 1, 1), 'backsOff')).toEqual([1, 2, 3, 4, 5])
})
