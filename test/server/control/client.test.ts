/** The client of the control plane: the same over HTTP and in the process. */
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { eventLoopTurn } from '../../../src/lib/real-time.ts'
import {
  type ControlClient,
  type ControlEvent,
  createControlClient,
  Refusal,
} from '../../../src/server/control/client/index.ts'
import { controlOperations } from '../../../src/server/control/index.ts'
import { serve } from '../../../src/server/http/server.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'
import { running } from '../http/running-server.ts'

const NEW = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

interface Controlled {
  readonly sim: Simulator
  readonly control: ControlClient
}

const PLACES: readonly (readonly [name: string, open: () => Promise<Controlled>])[] = [
  [
    'over HTTP',
    async () => {
      const { sim, server } = await running()
      return { sim, control: createControlClient({ url: `${server.url}/` }) }
    },
  ],
  [
    'in the process',
    async () => {
      const sim = createSimulator({ seed: 1 })
      return { sim, control: createControlClient(sim) }
    },
  ],
]

function ask(sim: Simulator, method: string, path: string, body?: unknown): Promise<Response> {
  return sendTo(sim, `${method} ${path}`, body)
}

/** Reads events until one is of this type or kind. */
async function readUntil(events: AsyncIterableIterator<ControlEvent>, kind: string): Promise<ControlEvent[]> {
  const read: ControlEvent[] = []
  for await (const event of events) {
    read.push(event)
    if (event.type === kind || (event.type === 'entry' && event.entry.kind === kind)) break
  }
  return read
}

describe.each(PLACES)('a client %s', (_, open) => {
  test('has a method for each operation', async () => {
    const { control } = await open()
    const names = Object.keys(controlOperations).filter(name => name !== 'watchEvents')
    expect(Object.keys(control).sort()).toEqual([...names, 'events'].sort())
  })

  test('moves time, adds faults, and verifies', async () => {
    const { sim, control } = await open()
    const { id } = await control.addFault({ on: 'listDeployments', times: 1, fault: { kind: 'status', status: 503 } })
    await ask(sim, 'GET', '/deploy/list')
    expect(await control.getFault({ id })).toMatchObject({ hits: 1 })
    await control.advanceClock({ by: '90s' })
    expect((await control.getClock()).now).toContain('00:01:30')
    const { requests } = await control.listRequests({ status: '5xx' })
    expect(requests).toMatchObject([{ operation: 'listDeployments', decidedBy: 'fault' }])
    const { ok, message } = await control.verifyReceived({ expect: { operation: 'listDeployments', status: 200 } })
    expect([ok, message]).toEqual([false, expect.stringContaining('status: expected 200, received 503')])
  })

  test('throws a refusal with the words of the control plane', async () => {
    const { control } = await open()
    const refusal = await control.listRequests({ operation: 'getDeploymnt' }).catch(error => error)
    expect(refusal).toBeInstanceOf(Refusal)
    const expected = { status: 400, body: { error: expect.stringContaining("Did you mean 'getDeployment'?") } }
    expect(refusal).toMatchObject(expected)
  })

  test('reads events while they happen, and continues after the last one', { tags: 'slow' }, async () => {
    const { sim, control } = await open()
    const events = control.events({ kind: ['deployment.*', 'request'] })
    const reading = readUntil(events, 'deployment.running')
    while (sim.requestLog.listeners === 0) await eventLoopTurn()
    await ask(sim, 'POST', '/deploy/llm', NEW)
    await sim.clock.until(() =>
      sim.world.deployments.list().some(one => one.row.plan.modelName === 'acme/new' && one.status === 'running'),
    )
    const read = await reading
    expect(read.map(event => (event.type === 'entry' ? event.entry.kind : event.type))).toEqual([
      ...['deployment.created', 'request', 'deployment.downloading', 'deployment.deploying', 'deployment.running'],
    ])
    const rest = control.events({ kind: 'request', after: read[0]!.id, follow: false })
    expect(await readUntil(rest, 'none')).toEqual([read[1]])
    // The break ended the reader.
    while (sim.requestLog.listeners > 0) await eventLoopTurn()
  })

  test('ends its events by a signal, and by a return while it waits', async () => {
    const { sim, control } = await open()
    const end = new AbortController()
    const aborted = readUntil(control.events({ signal: end.signal }), 'none')
    const left = control.events()
    const waiting = left.next()
    while (sim.requestLog.listeners < 2) await eventLoopTurn()
    end.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    await left.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
    while (sim.requestLog.listeners > 0) await eventLoopTurn()
  })

  test('ends its events by a break after an abort, and by the error of another failure', async () => {
    const { sim, control } = await open()
    await ask(sim, 'POST', '/deploy/llm', NEW)
    const end = new AbortController()
    const { signal } = end
    for await (const event of control.events({ after: 'start', signal })) {
      expect(event.type).toBe('entry')
      end.abort(new Error('enough'))
      break
    }
    while (sim.requestLog.listeners > 0) await eventLoopTurn()
    const read = async () => {
      const aborted = new AbortController()
      for await (const _ of control.events({ after: 'start', signal: aborted.signal })) {
        aborted.abort(new Error('enough'))
        throw new Error('mine')
      }
    }
    await expect(read()).rejects.toThrow('mine')
    const later = new AbortController()
    const events = control.events({ after: 'start', signal: later.signal })
    await events.next()
    later.abort(new Error('enough'))
    await expect(events.next()).rejects.toThrow('enough')
  })

  test('refuses invalid options of events', async () => {
    const { control } = await open()
    expect(() => control.events({ kinds: 'x' } as never)).toThrow("unknown option 'kinds'. Did you mean 'kind'?")
    await expect(control.events({ kind: 'deployment.runing' }).next()).rejects.toMatchObject({ status: 400 })
  })
})

test('answers over HTTP and in the process are equal', async () => {
  const [one, other] = await Promise.all(PLACES.map(([, open]) => open()))
  const play = async ({ sim, control }: Controlled) => {
    const answers: unknown[] = []
    await ask(sim, 'POST', '/deploy/llm', NEW)
    answers.push(await control.giveCommand({ verb: 'node.crash', target: sim.cluster.nodes()[0]!.name }))
    answers.push(await control.nextClock({ visible: true }))
    await ask(sim, 'GET', '/deploy/missing')
    answers.push(await control.listRequests(), await control.getJournal({ limit: 50 }), await control.getReport())
    answers.push(await control.takeSnapshot({ name: 'here' }), await control.listTroubles(), await control.getDigest())
    const events: ControlEvent[] = []
    for await (const event of control.events({ after: 'start', follow: false })) events.push(event)
    answers.push(events)
    return answers
  }
  expect(await play(one!)).toEqual(await play(other!))
})

test('the types of inputs, answers and events follow from the declarations', () => {
  type Answer<Name extends keyof ControlClient> = Awaited<
    ReturnType<Extract<ControlClient[Name], (...args: never) => unknown>>
  >
  expectTypeOf<Answer<'verifyReceived'>['results'][number]['near'][number]['differs']>().toEqualTypeOf<string[]>()
  expectTypeOf<Answer<'getDigest'>>().toEqualTypeOf<{ digest: string; now: string }>()
  expectTypeOf<Parameters<ControlClient['advanceClock']>[0]>().toExtend<{ by?: string | undefined } | undefined>()
  expectTypeOf<Extract<ControlEvent, { type: 'request' }>['request']['subjects']>().toEqualTypeOf<string[]>()
})

test('a server that is not there, a wrong address and a missing token have different errors', async () => {
  await expect(createControlClient({ url: 'http://127.0.0.1:9' }).getClock()).rejects.toThrow(
    /Failed to reach a simulator at http:\/\/127\.0\.0\.1:9: .*Start one with 'npx modelhost-sim serve'/,
  )
  expect(() => createControlClient({ url: 'localhost:4010' })).toThrow('the url is "localhost:4010". Give one as in')
  expect(() => createControlClient({ url: 'http://x', tokn: 'y' } as never)).toThrow("Did you mean 'token'?")
  const sim = createSimulator({ seed: 1 })
  const server = await serve(sim, { port: 0, hostname: '0.0.0.0', controlToken: 'let-me-in' })
  onTestFinished(() => server.close())
  await expect(createControlClient({ url: server.url }).getClock()).rejects.toMatchObject({ status: 401 })
  expect(await createControlClient({ url: server.url, token: 'let-me-in' }).getClock()).toHaveProperty('mode')
})

test('a client of the base_url of a world controls that world', async () => {
  const { sim, server } = await running()
  const { base_url, world } = await createControlClient({ url: server.url }).createWorld({ seed: 7 })
  const control = createControlClient({ url: base_url })
  await control.advanceClock({ by: '1h' })
  expect([sim.clock.elapsed, server.worlds.get(world)!.sim.clock.elapsed]).toEqual([0, 3_600_000_000])
})

test.each([
  ['a missing field of the path', {}, 'Failed to call explainSubject: subject is missing. Give it.'],
  ['an empty one', { subject: '' }, 'Failed to call explainSubject: subject is missing. Give it.'],
  ['one that leads elsewhere', { subject: '..' }, "subject is '..', which an address cannot have. Give another."],
])('a call with %s is refused', async (_, input, message) => {
  const control = createControlClient(createSimulator({ fixtures: 'two-nodes' }))
  await expect(control.explainSubject(input as never)).rejects.toThrow(message)
})

test.each([
  ['a query in its address', { url: 'http://127.0.0.1:4010/?world=w1' }, "Give one as in 'http://127.0.0.1:4010'"],
  ['a token that no header can have', { url: 'http://127.0.0.1:4010', token: 'a\r\nb' }, 'invalid token.'],
  ['a token that is not a text', { url: 'http://127.0.0.1:4010', token: 5 }, 'invalid token.'],
])('a client with %s is refused', (_, address, message) => {
  expect(() => createControlClient(address as never)).toThrow(message)
})

test('events with an invalid signal are refused', () => {
  const control = createControlClient(createSimulator({ fixtures: 'empty' }))
  expect(() => control.events({ signal: 5 as never })).toThrow('the signal is 5. Give an AbortSignal.')
})
