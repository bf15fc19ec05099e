/** Rules: what they match, when they fire, what they count, and which of them cannot be. */
import { describe, expect, test } from 'vitest'
import { operations } from '../../../src/service/index.ts'
import { Faults } from '../../../src/simulator/faults/faults.ts'
import type { Fault, FaultRule } from '../../../src/simulator/faults/rules.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'

const DOWN: Fault = { kind: 'status', status: 503 }
const CHAT = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

interface Asked {
  readonly method?: string
  readonly body?: unknown
  readonly token?: string
}

function world(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'empty', seed: 1, ...options })
  const ask = (path: string, { method, body, token = sim.token }: Asked = {}) =>
    sendTo({ fetch: sim.fetch, token }, `${method ?? (body === undefined ? 'GET' : 'POST')} ${path}`, body)
  const statuses = async (count: number, path = '/deploy/list') => {
    const seen: number[] = []
    for (let i = 0; i < count; i++) seen.push((await ask(path)).status)
    return seen
  }
  return { sim, ask, statuses }
}

describe('triggers', () => {
  test.each<[Partial<FaultRule>, number[]]>([
    [{}, [503, 503, 503, 503, 503, 503]],
    [{ times: 2 }, [503, 503, 200, 200, 200, 200]],
    [{ nth: 3 }, [200, 200, 503, 200, 200, 200]],
    [{ every: 2 }, [200, 503, 200, 503, 200, 503]],
    [{ chance: 1 }, [503, 503, 503, 503, 503, 503]],
  ])('%j', async (trigger, expected) => {
    const { sim, statuses } = world()
    const fault = sim.faults.add({ on: 'listDeployments', ...trigger, fault: DOWN })
    expect(await statuses(6)).toEqual(expected)
    expect([fault.matches, fault.hits]).toEqual([6, expected.filter(status => status === 503).length])
  })

  test('from and until are durations from now or times', async () => {
    const { sim, statuses } = world()
    await sim.clock.advance('1m')
    sim.faults.add({ on: 'listDeployments', from: '1m', until: '2026-01-01T00:03:00Z', fault: DOWN })
    expect(await statuses(1)).toEqual([200])
    await sim.clock.advance('1m')
    expect(await statuses(1)).toEqual([503])
    await sim.clock.advance('59s')
    expect(await statuses(1)).toEqual([503])
    await sim.clock.advance('1s')
    expect(await statuses(1)).toEqual([200])
    expect(sim.faults.get('fault-1')).toMatchObject({ matches: 2, hits: 2 })
  })

  test('matches count only after the event of the subject that the rule names', async () => {
    const { sim, ask, statuses } = world()
    const { deploy_id } = (await (await ask('/deploy/llm', { body: CHAT })).json()) as { deploy_id: string }
    const rule = { on: 'listDeployments', nth: 2, fault: DOWN }
    sim.faults.add({ ...rule, after: { kind: 'deployment.running', subject: deploy_id } })
    const other = sim.faults.add({ ...rule, after: { kind: 'deployment.running', subject: 'another' } })
    expect(await statuses(2)).toEqual([200, 200])
    await sim.clock.advance('15m')
    expect(await statuses(3)).toEqual([200, 503, 200])
    expect(other.matches).toBe(0)
  })

  test('chance is drawn by rule and request, so that another rule changes nothing', { tags: 'slow' }, async () => {
    const flaky: FaultRule = { on: 'listDeployments', chance: 0.3, fault: DOWN }
    const seen = async (rules: FaultRule[]) => world({ faults: rules }).statuses(200)
    const alone = await seen([flaky])
    expect(alone.filter(status => status === 503).length).toBeGreaterThan(40)
    expect(alone.filter(status => status === 503).length).toBeLessThan(80)
    expect(await seen([{ on: 'listVoices', chance: 0.5, fault: DOWN }, flaky])).toEqual(alone)
    expect(await seen([flaky, { on: 'listVoices', chance: 0.5, fault: DOWN }])).toEqual(alone)
    // Two equal rules are two, and not one twice.
    expect(await seen([flaky, flaky])).not.toEqual(alone)
  })

  test('the first rule whose trigger fires acts, and every rule counts its own matches', async () => {
    const { sim, statuses } = world()
    const first = sim.faults.add({ on: 'listDeployments', every: 2, fault: DOWN })
    const second = sim.faults.add({ on: '*', fault: { kind: 'status', status: 500 } })
    const third = sim.faults.add({ on: 'GET /deploy/list', times: 1, fault: { kind: 'status', status: 502 } })
    expect(await statuses(4)).toEqual([500, 503, 500, 503])
    expect([first.hits, second.hits, third.hits]).toEqual([2, 2, 0])
    expect([first.matches, second.matches, third.matches]).toEqual([4, 4, 4])
    second.remove()
    expect(await statuses(2)).toEqual([502, 503])
  })
})

describe('the target of a rule', () => {
  test.each<[FaultRule['on'], number, number]>([
    ['listDeployments', 503, 200],
    ['list*', 503, 503],
    ['*', 503, 503],
    ['GET /deploy/list', 503, 200],
    ['GET /deploy/*', 503, 200],
    [['listVoices', 'createLora'], 200, 503],
  ])('%j', { tags: 'slow' }, async (on, deployments, voices) => {
    const { sim, ask } = world()
    sim.faults.add({ on, fault: DOWN })
    expect((await ask('/deploy/list')).status).toBe(deployments)
    expect((await ask('/v1/voices')).status).toBe(voices)
    expect((await ask('/nowhere')).status).toBe(404)
    expect((await ask('/openapi.json')).status).toBe(200)
  })

  test('a token, a deployment, a model', async () => {
    const { sim, ask } = world({ fixtures: 'default' })
    const [one, other] = (await (await ask('/deploy/list')).json()) as { deploy_id: string }[]
    sim.faults.add({ on: '*', deployment: one!.deploy_id, fault: DOWN })
    sim.faults.add({ on: 'create*', model: 'acme/new', fault: DOWN })
    sim.faults.add({ on: '*', token: 'someone', fault: { kind: 'status', status: 418, message: 'short and stout' } })

    expect((await ask(`/deploy/${one!.deploy_id}`)).status).toBe(503)
    expect((await ask(`/deploy/${other!.deploy_id}`)).status).toBe(200)
    // The service puts the owner before a bare name, and so does the rule.
    for (const [model_name, status] of [
      ['acme/new', 503],
      ['new', 503],
      ['acme/newer', 200],
    ] as const) {
      expect((await ask('/deploy/llm', { body: { ...CHAT, model_name } })).status, model_name).toBe(status)
    }
    expect((await ask('/deploy/list', { token: 'someone' })).status).toBe(418)
    expect((await ask('/deploy/list')).status).toBe(200)
  })

  test.each([
    ['assistant', 'acme/assistant', true],
    ['assistant', 'assistant', true],
    ['assis*', 'acme/assistant', true],
    ['acme/assistant', 'other/assistant', false],
    ['acme', 'acme/assistant', false],
  ])('a rule with the model %s decides about a request for %s: %s', async (model, asked, isMatch) => {
    const { sim, ask } = world()
    const fault = sim.faults.add({ on: 'createLlmDeployment', model, fault: DOWN })
    await ask('/deploy/llm', { body: { ...CHAT, model_name: asked } })
    expect(fault.hits).toBe(isMatch ? 1 : 0)
  })

  test('a model pattern of many asterisks is matched fast against a long name', async () => {
    const { sim, ask } = world()
    const fault = sim.faults.add({ on: '*', model: `${'*a'.repeat(400)}!`, fault: DOWN })
    expect((await ask(`/v2/hardware?model=${'a'.repeat(5000)}`)).status).not.toBe(503)
    expect(fault.matches).toBe(0)
  })

  test('a route with a parameter filled in', async () => {
    const { sim, ask } = world()
    sim.faults.add({ on: 'POST /deploy/any/start', fault: DOWN })
    expect(sim.faults.list()).toHaveLength(1)
    expect((await ask('/deploy/other/start', { method: 'POST' })).status).toBe(503)
  })
})

describe('rules are entities', () => {
  test('they are listed, read, removed and cleared', async () => {
    const { sim, statuses } = world()
    const first = sim.faults.add({ on: '*', fault: DOWN })
    sim.faults.add({ name: 'slow.lists', on: 'list*', fault: { kind: 'latency', delay: '1s' } })
    const third = sim.faults.add({ on: '*', nth: 9, fault: DOWN })
    expect(sim.faults.list().map(({ id }) => id)).toEqual(['fault-1', 'slow.lists', 'fault-2'])
    expect(sim.faults.get('slow.lists')).toEqual({
      id: 'slow.lists',
      rule: { name: 'slow.lists', on: 'list*', fault: { kind: 'latency', delay: '1s', jitter: 0 } },
      matches: 0,
      hits: 0,
    })
    expect(await statuses(1)).toEqual([503])
    first.remove()
    first.remove()
    expect(first.hits).toBe(1)
    expect(sim.faults.add({ on: '*', fault: DOWN }).id).toBe('fault-3')
    sim.faults.clear()
    expect(sim.faults.list()).toEqual([])
    expect(await statuses(1)).toEqual([200])
    third.remove()
    expect(() => sim.faults.get('fault-2')).toThrow("Failed to find the fault 'fault-2'")
  })

  test('a reset restores the rules of the start with their counts at 0', async () => {
    const { sim, statuses } = world({ faults: [{ on: 'listDeployments', times: 1, fault: DOWN }] })
    expect(await statuses(2)).toEqual([503, 200])
    sim.faults.add({ on: '*', fault: DOWN })
    sim.reset()
    expect(sim.faults.list()).toMatchObject([{ id: 'fault-1', hits: 0 }])
    expect(await statuses(2)).toEqual([503, 200])
  })

  test('they and their hits are in the journal, but not in the digest', async () => {
    const calm = world()
    const { sim, ask } = world()
    const same = () => expect(sim.digest).toBe(calm.sim.digest)
    const fault = sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })
    same()
    await expect(ask('/deploy/llm', { body: CHAT })).rejects.toThrow('fetch failed')
    await calm.ask('/deploy/llm', { body: CHAT })
    same()
    fault.remove()
    const entries = sim.journal.entries().filter(({ kind }) => kind.startsWith('fault.'))
    expect(entries.map(({ kind, subject, fields }) => [kind, subject, fields])).toEqual([
      ['fault.added', 'fault-1', { fault: 'reset', on: 'createLlmDeployment' }],
      ['fault.hit', 'fault-1', { fault: 'reset', operation: 'createLlmDeployment' }],
      ['fault.removed', 'fault-1', undefined],
    ])
    // The causes of a deployment that no client knows of: a request, and the fault that lost its answer.
    const created = sim.journal.entries().find(({ kind }) => kind === 'deployment.created')
    const expected = ['deployment.created', 'request', 'fault.hit']
    expect(sim.journal.why(created!.seq).map(({ kind }) => kind)).toEqual(expected)
    same()
  })

  test('a request that never reaches its endpoint is in the journal too', async () => {
    const { sim, ask } = world({ faults: [{ on: '*', times: 1, fault: { kind: 'refused' } }] })
    const before = sim.digest
    await expect(ask('/deploy/llm', { body: CHAT })).rejects.toThrow('fetch failed')
    expect(sim.journal.entries().find(({ kind }) => kind === 'request')).toMatchObject({
      subject: 'POST /deploy/llm',
      fields: { operation: 'createLlmDeployment', status: 0, decidedBy: 'fault' },
    })
    expect(sim.digest).toBe(before)
  })
})

describe('an invalid rule is refused with the reason and changes nothing', () => {
  const status = (more: object) => ({ fault: { kind: 'status', status: 503, ...more } })
  const headers = (names: object) => ({ fault: { kind: 'headers', headers: names } })
  const driftOf = (on: string, change: string, field?: string) => ({ on, fault: { kind: 'drift', change, field } })

  test.each<[string, unknown, string]>([
    ['an unknown operation', { on: 'createLmDeployment' }, "operation 'createLmDeployment'. Did you mean 'createLlmDe"],
    ['an unknown route', { on: 'POST /deploy/lm' }, "Did you mean 'POST /deploy/llm'?"],
    ['a pattern that nothing fits', { on: 'destroy*' }, "unknown operation 'destroy*'"],
    ['no operation', { on: [] }, "$.on: expected an operation, a pattern like 'create*', or a list of them"],
    ['a pattern of 1 MB', { on: '*'.repeat(1_000_000) }, '$.on: expected patterns of at most 1000 characters'],
    ['a list of too many patterns', { on: Array(1001).fill('*') }, '$.on: expected at most 1000 patterns'],
    ['a date that does not exist', { from: '2026-02-30T00:00:00Z' }, '$.from: expected a duration'],
    ['a header of a body in chunks', headers({ Trailer: 'x-sum' }), 'headers.Trailer: expected a header other than'],
    ['a header that is a number', headers({ 'Retry-After': 30 }), '["Retry-After"]: expected a string or null, got'],
    ['a part of an event', { fault: { kind: 'stream', after: 1.5 } }, "whole number or one of 'answer', 'toolCall',"],
    ['a page with the status of no page', { fault: { kind: 'html', status: 418 } }, "or '503' or '504', got 418."],
    ['a header of the connection', headers({ 'Content-Length': '3' }), "upgrade, got 'Content-Length'. Fix that name."],
    [
      'a header name with a space',
      headers({ 'x a': 'b' }),
      `headers["x a"]: expected a header name: at most 100 ASCII`,
    ],
    ['a header name with an accent', headers({ 'x-é': 'b' }), `$.fault.headers["x-é"]: expected a header name`],
    ...[204, 205, 304].flatMap((code): [string, unknown, string][] => [
      [
        `a body with the status ${code}`,
        status({ status: code, body: 'x' }),
        'expected no body with a status of 204, 205',
      ],
      [
        `a message with the status ${code}`,
        status({ status: code, message: 'x' }),
        'expected no message beside a body, or',
      ],
    ]),
    ['a message beside a body', status({ message: 'x', body: {} }), '$.fault.message: expected no message beside a'],
    ['two headers that differ in case', status({ headers: { 'x-a': 'b', 'X-A': 'c' } }), 'each header once, in any'],
    ['the header __proto__', headers(JSON.parse('{"__proto__":"x"}')), 'headers.__proto__: expected another name'],
    ['a header of two lines', status({ headers: { note: 'two\nlines' } }), 'headers.note: expected text of printable'],
    ['a body nested too deep', status({ body: JSON.parse('['.repeat(99) + ']'.repeat(99)) }), 'at most 64 deep'],
    ['a model pattern that is too long', { model: '*'.repeat(1001) }, '$.model: expected at most 1000 characters'],
    ['many asterisks that match nothing', { on: `${'*'.repeat(999)}!` }, 'unknown operation'],
    ['an unknown kind', { fault: { kind: 'latensy', delay: '1s' } }, "Did you mean 'latency'?"],
    ['an unknown field', { tims: 2 }, "$.tims: unknown field. Did you mean 'times'?"],
    ['a typo in a required field', { onn: '*' }, "$.onn: unknown field. Did you mean 'on'?"],
    ['an unknown field of a fault', status({ stats: 3 }), '$.fault.stats: unknown field'],
    ['triggers that contradict', { times: 2, chance: 0.5 }, 'times and chance contradict each other'],
    ['a negative latency', { fault: { kind: 'latency', delay: '-5s' } }, '$.fault.delay: expected a duration of at'],
    ['a negative latency in milliseconds', { fault: { kind: 'latency', delay: -5 } }, '$.fault.delay'],
    ['a window that ended', { until: '2026-01-01T00:30:00Z' }, 'the window ended at 2026-01-01T00:30:00'],
    ['a window that is over before it begins', { from: '2h', until: '1h' }, 'before it begins'],
    ['a moment without an offset', { from: '2026-01-01T02:00:00' }, '$.from: expected a duration from now'],
    ['a chance above 1', { chance: 1.5 }, '$.chance: expected at most 1, got 1.5'],
    ['a chance of nothing', { chance: 0 }, '$.chance: expected more than 0, got 0'],
    ['no times', { times: 0 }, '$.times: expected at least 1, got 0'],
    ['a status that ends no request', status({ status: 101 }), '$.fault.status: expected at least 200'],
    ['an event that never comes', { after: { kind: 'deployment.runing' } }, "Did you mean 'deployment.running'?"],
    ['a stale write', { on: 'createLora', fault: { kind: 'stale', lag: '5s' } }, "with reads: 'all' to GETs, not to"],
    ['a drift that has no place', driftOf('listVoices', 'nullField'), 'only to operations whose response allows this'],
    ['a drift of an unknown field', driftOf('getDeployment', 'missingField', 'statsu'), "Did you mean 'status'?"],
    ['a drift that no text has', driftOf('getDeployment', 'numberAsString', 'status'), "to 'status'. Give one of inst"],
    ['a drift within a list of one kind', driftOf('listModelFamilies', 'missingElement', 'id'), 'Leave field out: the'],
    ['a deployment where none is named', { on: 'listVoices', deployment: 'a' }, 'no request of listVoices names a dep'],
    ['a model where none is named', { on: ['listVoices', 'getMe'], model: 'a' }, 'getMe names a model, so the'],
    ['a message of two lines', status({ message: 'a\r\nb' }), '$.fault.message: expected text of one line'],
    ['a name that is taken', { name: 'taken' }, "duplicate name 'taken'"],
    ['nothing', undefined, '$: expected an object, got nothing'],
  ])('%s', { tags: 'slow' }, async (_, change, reason) => {
    const rule = change && { on: '*', fault: DOWN, ...(change as object) }
    const { sim } = world()
    await sim.clock.advance('1h')
    sim.faults.add({ name: 'taken', on: '*', fault: DOWN })
    const before = [sim.faults.list(), sim.world.journal.last]
    for (const says of [RangeError, reason, /^Failed to add the fault: /])
      expect(() => sim.faults.add(rule as FaultRule)).toThrow(says)
    expect([sim.faults.list(), sim.world.journal.last]).toEqual(before)
  })
})

describe('drift', () => {
  const LEGAL = ['extraField', 'absentField', 'nullField', 'unknownValue', 'keyOrder'] as const
  const ILLEGAL = ['missingField', 'numberAsString', 'unlistedValue'] as const
  const GETS = [
    'listDeployments',
    'listModels',
    'listVoices',
    'getHardware',
    'listAggregatorModels',
    'getRentUsage',
  ] as const
  const PATHS: Record<(typeof GETS)[number], string> = {
    listDeployments: '/deploy/list',
    listModels: '/models/deployment/list',
    listVoices: '/v1/voices',
    getHardware: '/v2/hardware?model=aurora-labs/aurora-8b-instruct',
    listAggregatorModels: '/aggregator/models',
    getRentUsage: '/payment/usage/rent?from=0',
  }
  const answered = async (sim: Simulator, path: string) => (await sendTo(sim, `GET ${path}`)).text()

  const untyped = (text: string) => text.replaceAll(/"type":"[^"]*"/g, '"type"')

  test.each(GETS)(
    '%s: a legal drift fits the declaration, an illegal one does not',
    { tags: 'slow' },
    async operation => {
      let changed = 0
      for (const change of [...LEGAL, ...ILLEGAL]) {
        const sim = createSimulator()
        const before = await answered(sim, PATHS[operation])
        try {
          sim.faults.add({ on: operation, fault: { kind: 'drift', change } })
        } catch {
          continue
        }
        const after = await answered(sim, PATHS[operation])
        if (after === before) continue
        changed++
        // That an enumeration is open is the document's word, which its schema cannot say.
        if (change === 'unknownValue') expect(untyped(after)).toBe(untyped(before))
        else {
          const fits = operations[operation].returns.safeParse(JSON.parse(after)).success
          expect([change, fits]).toEqual([change, (LEGAL as readonly string[]).includes(change)])
        }
        if (change === 'keyOrder') expect(JSON.parse(after)).toEqual(JSON.parse(before))
      }
      expect(changed).toBeGreaterThan(operation === 'getRentUsage' ? 1 : 3)
    },
  )

  test('a refusal keeps its shape under drift', async () => {
    const { sim, ask } = world()
    const before = await (await ask('/deploy/none')).json()
    sim.faults.add({ on: 'getDeployment', fault: { kind: 'drift', change: 'extraField' } })
    const refused = await ask('/deploy/none')
    expect([refused.status, await refused.json()]).toEqual([404, before])
  })
})

describe('stale reads', () => {
  const names = async (ask: ReturnType<typeof world>['ask']) =>
    ((await (await ask('/deploy/list')).json()) as { model_name: string; status: string }[]).map(
      ({ model_name, status }) => `${model_name} ${status}`,
    )

  test('a stale read equals the past answer of an equal world at every time, also after commands', {
    tags: 'slow',
  }, async () => {
    const lagging = world({ faults: [{ on: 'listDeployments', fault: { kind: 'stale', lag: '30s' } }] })
    const present = world()
    const shown: string[] = []
    const seen: string[] = []
    const listed = async (ask: ReturnType<typeof world>['ask']) => (await ask('/deploy/list')).text()
    let first = ''
    for (let i = 0; i < 42; i++) {
      for (const { sim, ask } of [lagging, present]) {
        if (i % 7 === 0) {
          const created = await ask('/deploy/llm', { body: { ...CHAT, model_name: `acme/m${i}` } })
          if (i === 0) first = ((await created.json()) as { deploy_id: string }).deploy_id
        }
        if (i === 30) sim.cluster.nodeOf(first).crash()
        if (i === 40) sim.cluster.stockOut('H100-80GB')
      }
      shown.push(await listed(present.ask))
      seen.push(await listed(lagging.ask))
      for (const { sim } of [lagging, present]) await sim.clock.advance('10s')
    }
    expect(new Set(shown).size).toBeGreaterThan(5)
    expect(seen.slice(3)).toEqual(shown.slice(0, -3))
    // Looking back changes nothing here.
    expect(lagging.sim.digest).toBe(present.sim.digest)
  })

  test('a command that a listener scheduled is a part of the past', async () => {
    const { sim, ask } = world({ faults: [{ on: 'listDeployments', fault: { kind: 'stale', lag: '30s' } }] })
    const { deploy_id } = (await (await ask('/deploy/llm', { body: CHAT })).json()) as { deploy_id: string }
    const stop = sim.journal.listen(({ kind }) => {
      if (kind !== 'deployment.running') return
      stop()
      sim.world.commands.schedule({ verb: 'deployment.stop', target: deploy_id }, 1)
    })
    await sim.clock.advance('1h')
    await sim.clock.advance('1h')
    expect(await names(ask)).toEqual(['acme/chat stopped'])
  })

  test("with reads: 'all' a get is stale too, but a token is checked against the present", async () => {
    const { sim, ask } = world()
    const { deploy_id } = (await (await ask('/deploy/llm', { body: CHAT })).json()) as { deploy_id: string }
    await sim.clock.advance('1m')
    const before = (await (await ask(`/deploy/${deploy_id}`)).json()) as { status: string }
    const fault = sim.faults.add({ on: 'getDeployment', fault: { kind: 'stale', lag: '10m', reads: 'all' } })
    await sim.clock.advance('9m')
    expect(await (await ask(`/deploy/${deploy_id}`)).json()).toEqual(before)
    expect((await ask(`/deploy/${deploy_id}`, { token: 'unknown' })).status).toBe(401)
    fault.remove()
    expect(await (await ask(`/deploy/${deploy_id}`)).json()).not.toEqual(before)
  })
})

test('a duplicate execution answers with the first answer by default, and both requests are in the journal', async () => {
  const { sim, ask } = world({ faults: [{ on: 'addFunds', fault: { kind: 'duplicate' } }] })
  const before = sim.ledger.balance
  expect((await ask('/payment/funds', { body: { amount: 100 } })).status).toBe(200)
  expect(sim.ledger.balance - before).toBe(2 * 100 * 1_000_000)
  expect(sim.journal.entries().filter(({ kind }) => kind === 'request')).toHaveLength(2)
})

test('a fork has the same rules with their counts and continues independently', async () => {
  const { sim, statuses } = world()
  const rule: FaultRule = { on: 'listDeployments', chance: 0.5, fault: DOWN }
  const host = (of: Simulator) => ({
    world: of.world,
    catchUp: () => of.clock.catchUpNow(),
    operations: of.api.operations,
    operationOf: of.api.findOperationId,
    kinds: [],
  })
  const other = createSimulator({ fixtures: 'empty', seed: 1 })
  const faults = new Faults(host(sim), [rule])
  const asked = async (of: Simulator, rules: Faults) => {
    const request = new Request('http://sim/deploy/list', { headers: { authorization: `Bearer ${of.token}` } })
    return (await of.api.answer(of.world, request, {}, { middleware: rules.middleware as never })).status
  }
  for (let i = 0; i < 5; i++) await asked(sim, faults)
  const fork = new Faults(host(other), [], faults.state)
  expect(fork.list()).toEqual(faults.list())
  const [here, there]: [number[], number[]] = [[], []]
  for (let i = 0; i < 30; i++) {
    here.push(await asked(sim, faults))
    there.push(await asked(other, fork))
  }
  expect(there).toEqual(here)
  fork.clear()
  expect(faults.list()).toMatchObject([{ id: 'fault-1', matches: 35 }])
  expect(await statuses(1)).toEqual([200])
})
