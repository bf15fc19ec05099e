/** Faults of the wire on answers of models, whole and streamed, at three transports: no stream is waited for before it goes on. */
import { beforeEach, describe, expect, test } from 'vitest'
import { eventLoopTurn } from '../../../src/lib/real-time.ts'
import type { Fault } from '../../../src/simulator/faults/rules.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { openTransports, TRANSPORTS, type Transport } from '../../server/transports.ts'

const MESSAGES = [{ role: 'user', content: 'Tell me about rivers.' }]

// Answers take their time, and time is moved by hand.
const sim = createSimulator({
  ...{ fixtures: 'two-nodes', seed: 1, check: true, inferencePace: 'clock' },
  with: { deployments: [{ model_name: 'acme/chat', max_batch_size: 4 }] },
})
const at = openTransports(sim, { base: 'http://answers.example.test' })
beforeEach(() => sim.reset())

function ask(transport: Transport, stream: boolean, signal?: AbortSignal): Promise<Response> {
  const { fetch, url } = at(transport)
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sim.token}` },
    body: JSON.stringify({ model: 'acme/chat', messages: MESSAGES, stream, max_tokens: 60 }),
    signal: signal ?? null,
  })
}

/** What a client has of an answer, as far as it came. */
interface Outcome {
  status?: number
  text: string
  broke?: string
}

async function outcomeOf(asked: Promise<Response>, outcome: Outcome = { text: '' }): Promise<Outcome> {
  try {
    const { status, body } = await asked
    outcome.status = status
    const decoder = new TextDecoder()
    const reader = body!.getReader()
    for (let next = await reader.read(); !next.done; next = await reader.read())
      outcome.text += decoder.decode(next.value, { stream: true })
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: { code?: string } }
    outcome.broke = name === 'AbortError' ? name : (cause?.code ?? message)
  }
  return outcome
}

/** Moves time until it is over. */
async function inTime<Value>(awaited: Promise<Value>): Promise<Value> {
  let isOver = false
  awaited.finally(() => {
    isOver = true
  })
  for (let moved = 0; !isOver && moved < 2_000; moved++) {
    await sim.clock.advance('20ms')
    await eventLoopTurn()
  }
  return awaited
}

function eventsOf(text: string): Record<string, unknown>[] {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data!))
}

/** The text of a whole answer or of a stream. */
function said(text: string): string {
  const messages = text.startsWith('{') ? [JSON.parse(text)] : eventsOf(text)
  return messages
    .flatMap(({ choices }) => choices)
    .map(({ message, delta }) => (message ?? delta).content ?? '')
    .join('')
}

const fates = () => sim.journal.entries().flatMap(({ kind }) => /^inference\.(\w+)$/.exec(kind)?.[1] ?? [])

interface Row {
  readonly fault: Fault
  /** What is seen, but for `said`. */
  readonly sees: Partial<Outcome>
  readonly streamed?: Partial<Outcome>
  /** It says what it would have said. */
  readonly isSaid?: boolean
  /** What becomes of the request in the world, whole and streamed. */
  readonly fates: readonly [whole: readonly string[], streamed: readonly string[]]
}

const NONE = [[], []] as const
const SERVED = [['served'], ['served']] as const
/** A stream is not read when the fault answers something else in its place. */
const UNHEARD = [['served'], ['left']] as const
const ROWS: Row[] = [
  { fault: { kind: 'status', status: 503 }, sees: { status: 503 }, fates: NONE },
  { fault: { kind: 'status', status: 500, effect: 'done' }, sees: { status: 500 }, fates: UNHEARD },
  { fault: { kind: 'rateLimit', retryAfter: '3s' }, sees: { status: 429 }, fates: NONE },
  { fault: { kind: 'html', effect: 'done' }, sees: { status: 502 }, fates: UNHEARD },
  { fault: { kind: 'reset' }, sees: { broke: 'ECONNRESET' }, fates: NONE },
  { fault: { kind: 'reset', effect: 'done' }, sees: { broke: 'ECONNRESET' }, fates: UNHEARD },
  { fault: { kind: 'refused' }, sees: { broke: expect.stringMatching(/^ECONN(?:REFUSED|RESET)$/) }, fates: NONE },
  { fault: { kind: 'empty' }, sees: { status: 200, text: '' }, fates: [['served'], ['left']] },
  {
    fault: { kind: 'truncated' },
    sees: { status: 200, text: expect.stringMatching(/^\{"id".+[^}]$/s), broke: 'UND_ERR_SOCKET' },
    streamed: { text: expect.stringMatching(/^data: \{"id".{989}$/s) },
    fates: [['served'], ['left']],
  },
  {
    fault: { kind: 'truncated', bytes: 9, chunked: true },
    sees: { status: 200, text: expect.stringMatching(/^.{9}$/), broke: 'UND_ERR_SOCKET' },
    fates: [['served'], ['left']],
  },
  {
    fault: { kind: 'truncated', bytes: 1_000_000 },
    sees: { status: 200, text: expect.stringMatching(/.{100}[^\n]$/s), broke: 'UND_ERR_SOCKET' },
    streamed: { text: expect.stringMatching(/data: \[DONE\]\n$/) },
    fates: SERVED,
  },
  { fault: { kind: 'garbled' }, sees: { status: 200, text: expect.stringMatching(/^\ufffd/) }, fates: SERVED },
  { fault: { kind: 'slowBody', bytesPerSecond: 20_000 }, sees: { status: 200 }, isSaid: true, fates: SERVED },
  { fault: { kind: 'latency', delay: '5s' }, sees: { status: 200 }, isSaid: true, fates: SERVED },
  {
    fault: { kind: 'duplicate' },
    sees: { status: 200 },
    isSaid: true,
    fates: [
      ['served', 'served'],
      ['left', 'served'],
    ],
  },
  {
    fault: { kind: 'drift', change: 'extraField', field: 'choices[]' },
    sees: { status: 200, text: expect.stringContaining('not_in_the_document') },
    isSaid: true,
    fates: SERVED,
  },
]

describe.each(TRANSPORTS)('%s', transport => {
  test.each(ROWS)('$fault', { tags: 'slow' }, async ({ fault, sees, streamed, isSaid, fates: [whole, left] }) => {
    const truth = said((await inTime(outcomeOf(ask('sim.fetch', false)))).text)
    for (const stream of [false, true]) {
      const before = fates().length
      const { remove } = sim.faults.add({ on: 'createChatCompletion', fault })
      const outcome = await inTime(outcomeOf(ask(transport, stream)))
      remove()
      // All that MSW can say of a connection that breaks.
      const lost = transport === 'MSW' && outcome.status === undefined ? { broke: 'Failed to fetch' } : {}
      expect(outcome).toMatchObject({ ...sees, ...(stream && streamed), ...lost })
      if (isSaid) expect(said(outcome.text)).toBe(truth)
      await sim.clock.advance('1m')
      expect(fates().slice(before)).toEqual(stream ? left : whole)
      expect(sim.world.inferenceRequests.inFlightCount).toBe(0)
    }
  })

  test.each<[Fault, Partial<Outcome>]>([
    [{ kind: 'truncated', bytes: 500 }, { broke: 'UND_ERR_SOCKET' }],
    [{ kind: 'slowBody', bytesPerSecond: 5_000 }, { status: 200 }],
    [{ kind: 'garbled' }, { status: 200 }],
  ])('%j passes the parts of a stream on before its end', { tags: 'slow' }, async (fault, sees) => {
    sim.faults.add({ on: 'createChatCompletion', fault })
    const outcome: Outcome = { text: '' }
    const done = outcomeOf(ask(transport, true), outcome)
    await expect.poll(() => sim.world.inferenceRequests.inFlightCount, { interval: 1 }).toBe(1)
    await sim.clock.advance('400ms')
    await expect.poll(() => outcome.text, { interval: 1 }).not.toBe('')
    const isCut = fault.kind === 'truncated'
    if (isCut) await done
    await expect.poll(fates, { interval: 1 }).toEqual(isCut ? ['left'] : [])
    expect(await inTime(done)).toMatchObject(sees)
  })

  test.each(['hang', 'slowBody'] as const)(
    'a place is free again when its client leaves during %s',
    { tags: 'slow' },
    async kind => {
      sim.faults.add({
        on: 'createChatCompletion',
        fault: kind === 'hang' ? { kind, effect: 'none' } : { kind, bytesPerSecond: 100 },
      })
      const controller = new AbortController()
      const asked = outcomeOf(ask(transport, true, controller.signal))
      await expect.poll(() => sim.faults.list()[0]!.hits, { interval: 1 }).toBe(1)
      if (kind === 'slowBody')
        await expect.poll(() => sim.world.inferenceRequests.inFlightCount, { interval: 1 }).toBe(1)
      await sim.clock.advance('200ms')
      await eventLoopTurn()
      controller.abort()
      expect((await asked).broke).toBe('AbortError')
      await expect.poll(() => sim.world.inferenceRequests.inFlightCount, { interval: 1 }).toBe(0)
      expect(fates()).toEqual(kind === 'hang' ? [] : ['left'])
    },
  )
})
