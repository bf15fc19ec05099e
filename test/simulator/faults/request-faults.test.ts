/** The header `x-sim-fault` gives one request a fault, if the simulator allows it. */
import { describe, expect, test } from 'vitest'
import { FAULT_KINDS } from '../../../src/simulator/faults/kinds/index.ts'
import { createSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { openTransports, TRANSPORTS } from '../../server/transports.ts'
import { batchFile } from '../../setup/batches.ts'

const BODY = JSON.stringify({ model_name: 'chat', gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } })

function world(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'empty', requestFaults: true, ...options })
  const send = (fault: string, path = '/deploy/list', init: RequestInit = {}) =>
    sim.fetch(`http://sim${path}`, {
      ...init,
      headers: { authorization: `Bearer ${sim.token}`, 'x-sim-fault': fault, ...init.headers },
    })
  const create = (fault: string) => send(fault, '/deploy/llm', { method: 'POST', body: BODY })
  /** Returns status and error of a request that is refused. */
  const refusal = async (fault: string, path?: string) => {
    const response = await send(fault, path)
    return [response.status, ((await response.json()) as { error: string }).error]
  }
  return { sim, send, create, refusal }
}

describe('the header x-sim-fault', () => {
  test('answers with a status, before or after the work is done', async () => {
    const { sim, create } = world()
    const before = sim.digest
    const lost = await create('status=503')
    const expected = [503, '1', { error: 'Service Unavailable' }]
    expect([lost.status, lost.headers.get('retry-after'), await lost.json()]).toEqual(expected)
    expect([sim.digest, sim.world.deployments.count]).toEqual([before, 0])
    expect((await create(' status = 500 ; effect=done ; message=try%3Blater')).status).toBe(500)
    expect(sim.world.deployments.count).toBe(1)
  })

  test('is the decision in the journal and in the list of requests', async () => {
    const { sim, send } = world()
    await send('rateLimit=30s')
    expect(sim.requests.at(-1)).toMatchObject({ status: 429, decidedBy: 'fault' })
    const hit = sim.journal.entries().find(({ kind }) => kind === 'fault.hit')!
    expect(hit).toMatchObject({ subject: 'x-sim-fault', fields: { fault: 'rateLimit', operation: 'listDeployments' } })
    const request = sim.journal.entries().find(({ kind }) => kind === 'request')!
    expect(sim.journal.why(request.seq).map(({ kind }) => kind)).toContain('fault.hit')
  })

  test('has every fault kind, with its first field and its plain fields', { tags: 'slow' }, async () => {
    const declared = Object.entries(FAULT_KINDS).map(([kind, { example }]) => {
      const plain = Object.entries(example).filter(([name, value]) => name !== 'kind' && typeof value !== 'object')
      return [kind, [kind, ...plain.map(([name, value]) => `${name}=${value}`)].join(';')]
    })
    // A header has no objects, and the request here has no stream.
    const kinds = declared.filter(([kind]) => kind !== 'headers' && kind !== 'stream')
    // The declared example of a kind, unless the kind has a sample here.
    const samples: Readonly<Record<string, string>> = {
      ...Object.fromEntries(kinds),
      drift: 'drift=numberAsString;field=[].settings.min_instances',
      duplicate: 'duplicate=second',
      empty: 'empty',
      garbled: 'garbled',
      hang: 'hang=done',
      html: 'html=504;effect=done',
      latency: 'latency=2s;jitter=3s',
      rateLimit: 'rateLimit=30s;as=date',
      refused: 'refused',
      reset: 'reset=done',
      slowBody: 'slowBody=100',
      stale: 'stale=5s;reads=all',
      status: 'status=503;message=503',
      truncated: 'truncated=10;chunked=true',
    }
    for (const [kind, header] of Object.entries(samples)) {
      const { sim, send } = world()
      const answer = send(header)
        .then(response => response.text())
        .catch(() => 'broken')
      await sim.clock.advance('1m')
      const hits = sim.journal.entries().filter(one => one.kind === 'fault.hit')
      expect([kind, hits.map(({ fields }) => fields?.fault)]).toEqual([kind, [kind]])
      if (kind === 'hang') sim.reset()
      await answer
    }
  })

  test('a stale read has the world of its lag', async () => {
    const { sim, send, create } = world()
    await sim.clock.advance('1h')
    await create('drift=keyOrder')
    await sim.clock.advance('10s')
    const count = async (fault: string) => ((await (await send(fault)).json()) as unknown[]).length
    expect(await count('stale=20s')).toBe(0)
    expect(await count('stale=5s')).toBe(1)
  })

  test('acts in place of the rules, which do not count the request', async () => {
    const { sim, send } = world({ faults: [{ name: 'all', on: '*', fault: { kind: 'status', status: 500 } }] })
    expect((await send('status=418')).status).toBe(418)
    expect(sim.faults.get('all')).toMatchObject({ matches: 0, hits: 0 })
    expect((await sim.fetch('http://sim/deploy/list')).status).toBe(500)
  })

  test('needs the authentication of the request', async () => {
    const { sim, send } = world()
    const anonymous = await send('status=503', '/deploy/list', { headers: { authorization: '' } })
    expect(anonymous.status).toBe(401)
    const unknown = await send('nonsense', '/deploy/list', { headers: { authorization: 'Bearer none' } })
    expect(unknown.status).toBe(401)
    expect((await send('status=503', '/models/list', { headers: { authorization: '' } })).status).toBe(503)
    expect(sim.journal.entries().filter(({ kind }) => kind === 'fault.hit')).toHaveLength(1)
  })

  test('draws from the seed and the position of the request among those with the header', async () => {
    const delays = async (headers: readonly string[]) => {
      const { sim, send } = world()
      const times: number[] = []
      for (const header of headers) {
        const start = sim.clock.elapsed
        const answer = send(header)
        while ((await Promise.race([answer, Promise.resolve()])) === undefined) await sim.clock.advance('10ms')
        times.push(sim.clock.elapsed - start)
      }
      return times
    }
    const [first, second] = await delays(['latency=0;jitter=1s', 'latency=0;jitter=1s'])
    expect(first).not.toBe(second)
    expect((await delays(['status=500', 'latency=0;jitter=1s']))[1]).toBe(second)
  })

  test('is ignored by default, also with nonsense', async () => {
    const { sim, send } = world({ requestFaults: false })
    const before = sim.journal.entries().length
    expect((await send('status=503')).status).toBe(200)
    expect((await send('nonsense')).status).toBe(200)
    const expected = ['request', 'request']
    expect(
      sim.journal
        .entries()
        .slice(before)
        .map(({ kind }) => kind),
    ).toEqual(expected)
  })

  test('does not reach the lines of a batch', async () => {
    const { sim } = world({ fixtures: 'default' })
    const headers = { authorization: `Bearer ${sim.token}`, 'x-sim-fault': 'drift=keyOrder' }
    const post = async (path: string, body: BodyInit) =>
      (await (await sim.fetch(`http://sim${path}`, { method: 'POST', headers, body })).json()) as { id: string }
    const model = 'aurora-labs/aurora-8b-instruct'
    const body = { model, messages: [{ role: 'user', content: 'Hello!' }] }
    const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body }
    const input_file_id = (await post('/v1/files', batchFile(JSON.stringify(line)))).id
    const batch = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
    const { id } = await post('/v1/batches', JSON.stringify(batch))
    await sim.clock.advance('1d')
    const done = await sim.fetch(`http://sim/v1/batches/${id}`, { headers: { authorization: headers.authorization } })
    expect(await done.json()).toMatchObject({ status: 'completed', request_counts: { completed: 1, failed: 0 } })
    expect(sim.journal.entries().filter(({ kind }) => kind === 'fault.hit')).toHaveLength(2)
  })

  test.each([
    ['', "unknown fault kind ''. Kinds are drift,"],
    ['statsu=503', "unknown fault kind 'statsu'. Did you mean 'status'?"],
    ['status', 'status: expected a number, got nothing. Add that field.'],
    ['status=101', 'status: expected'],
    ['status=soon', "status: expected a number, got 'soon'."],
    ['status=503;effct=done', "Did you mean 'effect'?"],
    ['status=503;effect=doen', "Did you mean 'done'?"],
    ['status=503;status=500', "duplicate field 'status'. Give it once."],
    ['status=503;kind=html', "duplicate field 'kind'. Give it once."],
    ['status=503;effect', "'effect' has no value. Write it as in effect=value."],
    ['status=503;message=%zz', 'message: invalid percent-encoding'],
    ['garbled=1', "'garbled' has no fields. Write garbled alone."],
    ['rateLimit;retryAfter=5', "retryAfter: '5' has no unit. Give one, as in retryAfter=5s."],
    ['rateLimit=5', "retryAfter: '5' has no unit. Give one, as in retryAfter=5s."],
    ['latency=2s;jitter=1.5', "jitter: '1.5' has no unit. Give one, as in jitter=1.5s."],
    ['latency=-1s', 'delay: expected a duration'],
    ['duplicate=third', "answer: expected one of 'first', 'second', got 'third'."],
    ['drift=missingField;field=[].nothing', "field: unknown field '[].nothing' of the response."],
    ['constructor=1', "unknown fault kind 'constructor'."],
    ['status=503;__proto__=1', '__proto__: unknown field. Remove it.'],
    ['status=503;constructor=1', 'constructor: unknown field. Remove it.'],
    ['status=503;toString=x', 'toString: unknown field. Remove it.'],
  ])('%j is refused with 400, and nothing changes', async (header, message) => {
    const { sim, refusal } = world()
    const before = sim.digest
    const [status, error] = await refusal(header)
    expect(status).toBe(400)
    expect(error).toContain('Failed to apply the header x-sim-fault: ')
    expect(error).toContain(message)
    expect(sim.digest).toBe(before)
    expect(sim.requests.at(-1)).toMatchObject({ status: 400, decidedBy: 'none' })
  })

  test('a duration has a unit, and 0 needs none', async () => {
    const { send } = world()
    expect((await send('rateLimit;retryAfter=5s')).headers.get('retry-after')).toBe('5')
    expect((await send('rateLimit=1m')).headers.get('retry-after')).toBe('60')
    expect((await send('rateLimit=0')).headers.get('retry-after')).toBe('0')
  })

  test('a fault that does not apply to the operation is refused', async () => {
    const { create } = world()
    const response = await create('stale=5s')
    expect(response.status).toBe(400)
    expect(((await response.json()) as { error: string }).error).toBe(
      "Failed to apply the header x-sim-fault: 'stale' applies only to lists, or with reads: 'all' to GETs, not to createLlmDeployment.",
    )
  })
})

describe.each(TRANSPORTS)('the header through %s', transport => {
  const sim = createSimulator({ fixtures: 'empty', requestFaults: true })
  const open = openTransports(sim, { base: 'https://faults.example' })

  test('breaks, replaces and keeps answers', async () => {
    const { fetch, url } = open(transport)
    const send = (fault: string) =>
      fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${sim.token}`, 'x-sim-fault': fault } })
    expect((await send('status=503;effect=done')).status).toBe(503)
    expect((await send('html=504')).headers.get('content-type')).toBe('text/html')
    await expect(send('reset')).rejects.toThrow(TypeError)
    const refused = await send('nonsense')
    const expected = [400, { error: expect.stringContaining("x-sim-fault: unknown fault kind 'nonsense'") }]
    expect([refused.status, await refused.json()]).toEqual(expected)
  })
})
