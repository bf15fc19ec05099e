/** Faults and variations of streams and other bodies. */
import { gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Fault } from '../../../src/simulator/faults/rules.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { batchFile } from '../../setup/batches.ts'
import { sendTo } from '../../setup/send-to.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const CHAT = { model: MODEL, max_tokens: 12, messages: [{ role: 'user', content: 'Name the tides.' }] }
const sim = createSimulator({ fixtures: 'empty', seed: 1, check: true })
beforeEach(() => sim.reset())

function ask(body: object = {}, path = '/v1/chat/completions', signal?: AbortSignal): Promise<Response> {
  return sendTo(sim, `POST ${path}`, { ...CHAT, stream: true, ...body }, { signal: signal ?? null })
}

/** Reads a body as far as it comes. */
async function read(response: Response): Promise<{ text: string; broke?: string; pieces: string[] }> {
  const decoder = new TextDecoder()
  const pieces: string[] = []
  const outcome = (broke?: string) => ({ text: pieces.join(''), pieces, ...(broke !== undefined && { broke }) })
  const reader = response.body!.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      pieces.push(decoder.decode(next.value, { stream: true }))
    return outcome()
  } catch (error) {
    return outcome((error as { cause?: { code: string } }).cause?.code ?? String(error))
  }
}

const eventsOf = (text: string) => text.split(/\r?\n\r?\n/).filter(event => event !== '')
const tokensOf = (text: string) => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, token]) => token).join('')
const whole = async (body?: object, path?: string) => eventsOf((await read(await ask(body, path))).text)

function add(fault: Fault, on = 'createChatCompletion') {
  return sim.faults.add({ on, fault })
}

describe('a stream', () => {
  test.each([0, 1, 5])('ends in order after %i events', async after => {
    const usual = await whole()
    const rule = add({ kind: 'stream', after, end: 'close' })
    const { text, broke } = await read(await ask())
    expect(broke).toBeUndefined()
    expect(eventsOf(text)).toHaveLength(after)
    expect(tokensOf(usual.join(''))).toContain(tokensOf(text))
    expect(rule.hits).toBe(1)
  })

  test('never has its finish before the end, whatever the number', async () => {
    add({ kind: 'stream', after: 1_000, end: 'reset' })
    const { text, broke } = await read(await ask())
    expect(text).not.toContain('"finish_reason":"')
    expect(broke).toBe('UND_ERR_SOCKET')
    sim.faults.clear()
    expect(tokensOf(text)).toBe(tokensOf((await whole()).join('')))
  })

  test.each([true, false])('has an error event in the shape of the endpoint, and [DONE]: %s', async done => {
    add({ kind: 'stream', after: 2, done, message: 'too busy' })
    const events = eventsOf((await read(await ask())).text)
    expect(JSON.parse(events[2]!.slice(6))).toMatchObject({ error: { message: 'too busy' } })
    expect(events.slice(3)).toEqual(done ? ['data: [DONE]'] : [])
  })

  test('of messages has a named error event', async () => {
    add({ kind: 'stream', after: 4 }, 'createMessage')
    const { text } = await read(await ask({}, '/vendor_a/v1/messages'))
    const last = eventsOf(text).at(-1)!
    expect(last).toMatch(/^event: error\ndata: \{/)
    expect(JSON.parse(last.split('data: ')[1]!)).toMatchObject({ type: 'error' })
  })

  test('has an event of the rule, and goes on', async () => {
    const usual = await whole()
    add({ kind: 'stream', after: 3, event: { choices: [] } })
    const events = eventsOf((await read(await ask())).text)
    expect(events.toSpliced(3, 1).map(one => one.length)).toEqual(usual.map(one => one.length))
    expect(events[3]).toBe('data: {"choices":[]}')
  })

  test('lacks only [DONE] after its finish', async () => {
    const usual = await whole()
    add({ kind: 'stream', after: 'finish', end: 'close' })
    const events = eventsOf((await read(await ask())).text)
    expect(events).toHaveLength(usual.length - 1)
    expect(events.at(-1)).toMatch(/"finish_reason":"\w/)
  })

  test('ends within the arguments of a call', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const tools = [{ type: 'function', function: { name: 'weather', parameters } }]
    const body = { tools, tool_choice: 'required', max_tokens: 200 }
    const argumentsOf = (events: readonly string[]) =>
      events.flatMap(event => /"arguments":"((?:[^"\\]|\\.)*)"/.exec(event)?.[1] ?? []).join('')
    const usual = argumentsOf(await whole(body))
    const rule = add({ kind: 'stream', after: 'toolCall', end: 'close' })
    const cut = argumentsOf(eventsOf((await read(await ask(body))).text))
    expect(cut).not.toBe('')
    expect(usual).toMatch(/\}$/)
    expect(usual.length).toBeGreaterThan(cut.length)
    expect(rule.hits).toBe(1)
    // A text has no call, so the rule can do nothing.
    expect((await read(await ask())).text).toContain('[DONE]')
    expect(rule.hits).toBe(1)
  })

  test('falls silent, until the client leaves or five minutes have passed', async () => {
    add({ kind: 'stream', after: 3, end: 'silence' })
    const silent = read(await ask())
    await expect.poll(() => sim.clock.pendingRequests.length, { interval: 1 }).toBe(1)
    await sim.clock.advance('5m')
    expect(await silent).toMatchObject({ broke: 'UND_ERR_SOCKET', text: expect.stringContaining('data: ') })
    const leaving = new AbortController()
    const left = read(await ask({}, undefined, leaving.signal))
    await expect.poll(() => sim.clock.pendingRequests.length, { interval: 1 }).toBe(1)
    leaving.abort()
    expect((await left).broke).toContain('AbortError')
    expect(sim.world.inferenceRequests.inFlightCount).toBe(0)
  })
})

describe('a variation', () => {
  test('of comments has one before each event', async () => {
    add({ kind: 'variation', form: 'comments' })
    const events = eventsOf((await read(await ask())).text)
    expect(events.filter((_, index) => index % 2 === 0).every(event => event === ': keep-alive')).toBe(true)
  })

  test('of usage gives it in an event without choices', async () => {
    add({ kind: 'variation', form: 'usage' })
    const events = (await whole()).slice(0, -1).map(event => JSON.parse(event.slice(6)))
    expect(events.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } })
    expect(events.at(-2).choices[0].finish_reason).toEqual(expect.any(String))
    expect(events.at(-2).usage).toBeUndefined()
  })

  test('of line ends has CRLF', async () => {
    add({ kind: 'variation', form: 'crlf' })
    const { text } = await read(await ask())
    expect(text).toContain('\r\n\r\n')
    expect(text.replaceAll('\r\n', '')).not.toContain('\n')
  })

  test('of pieces cuts events and characters', async () => {
    sim.inference.add({ answer: { text: 'Ebbe, Flut – größer als das Überlaufen der Dämme.' } })
    const usual = tokensOf((await whole({ max_tokens: 60 })).join(''))
    add({ kind: 'variation', form: 'pieces' })
    const response = await ask({ max_tokens: 60 })
    const sizes: number[] = []
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of response.body!) {
      sizes.push(bytes.length)
      text += decoder.decode(bytes, { stream: true })
    }
    expect(Math.max(...sizes)).toBe(7)
    expect(tokensOf(text)).toBe(usual)
  })

  test('of joined events has several in a read', async () => {
    const paced = createSimulator({ fixtures: 'empty', seed: 1, inferencePace: 'clock' })
    const piecesOf = async () => {
      const init = { method: 'POST', headers: { authorization: `Bearer ${paced.token}` } }
      const body = JSON.stringify({ ...CHAT, stream: true })
      const reading = paced.fetch('http://sim/v1/chat/completions', { ...init, body }).then(read)
      let pieces: string[] | undefined
      void reading.then(outcome => {
        pieces = outcome.pieces
      })
      await paced.clock.until(() => pieces !== undefined)
      return pieces!
    }
    const usual = await piecesOf()
    paced.faults.add({ on: 'createChatCompletion', fault: { kind: 'variation', form: 'joined' } })
    const pieces = await piecesOf()
    expect(pieces).toHaveLength(Math.ceil(usual.length / 4))
    expect(tokensOf(pieces.join(''))).toBe(tokensOf(usual.join('')))
  })

  test('of Retry-After is a date', async () => {
    sim.cluster.rateLimit.set(0)
    const refused = await ask()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
    const rule = add({ kind: 'variation', form: 'retryDate' })
    const date = (await ask()).headers.get('retry-after')!
    expect((Date.parse(date) - sim.clock.now.getTime()) / 1000).toBeCloseTo(
      Number(refused.headers.get('retry-after')),
      0,
    )
    expect(rule.hits).toBe(1)
  })

  test.each(['fields', 'keys'] as const)('of %s says the same in each object', async form => {
    const usual = await (await ask({ stream: false })).json()
    const rule = add({ kind: 'variation', form })
    const varied = await (await ask({ stream: false })).json()
    expect(varied.choices[0].message.content).toBe(usual.choices[0].message.content)
    const keys = Object.keys(usual.choices[0].message)
    expect(Object.keys(varied.choices[0].message)).toEqual(
      form === 'keys' ? keys.toReversed() : [...keys, 'not_in_the_document'],
    )
    expect(rule.hits).toBe(1)
  })
})

describe('a rule that changed nothing has no hit', () => {
  test.each<Fault>([
    { kind: 'stream', end: 'close' },
    { kind: 'variation', form: 'comments' },
    { kind: 'variation', form: 'usage' },
    { kind: 'variation', form: 'retryDate' },
    { kind: 'drift', change: 'absentField', field: 'service_tier' },
  ])('%j', async fault => {
    const rule = sim.faults.add({ on: 'createChatCompletion', times: 1, fault })
    const response = await ask({ stream: false })
    expect(response.status).toBe(200)
    expect(rule).toMatchObject({ matches: 1, hits: 0 })
    expect(sim.journal.entries().map(({ kind }) => kind)).toContain('fault.missed')
  })

  const headers = { authorization: `Bearer ${sim.token}` }
  const readAnswer = async (path: string) => (await sendTo(sim, `GET ${path}`)).text()

  test.each([
    ['rows', 'one row\nanother row\n'],
    ['rows', ''],
    ['pieces', ''],
    ['pieces', 'a row\n'],
  ] as const)('%s of the file %j', async (variant, content) => {
    const form = batchFile(content)
    const { id } = await (await sim.fetch('http://sim/v1/files', { method: 'POST', headers, body: form })).json()
    const rule = add({ kind: 'variation', form: variant }, 'getFileContent')
    expect(await readAnswer(`/v1/files/${id}/content`)).toBe(content)
    expect(rule).toMatchObject({ matches: 1, hits: 0 })
  })

  test.each<Fault>([
    { kind: 'variation', form: 'keys' },
    { kind: 'drift', change: 'keyOrder' },
  ])('of an object with one field: %j', async fault => {
    const rule = add(fault, 'listVoices')
    expect(await readAnswer('/v1/voices')).toBe('{"voices":[]}')
    expect(rule).toMatchObject({ matches: 1, hits: 0 })
  })

  test('of a field that is null already', async () => {
    const usual = await (await ask({ stream: false })).json()
    expect(usual.choices[0].logprobs).toBeNull()
    const rule = add({ kind: 'drift', change: 'nullField', field: 'choices[].logprobs' })
    await ask({ stream: false })
    expect(rule).toMatchObject({ matches: 1, hits: 0 })
  })
})

describe('an answer', () => {
  test.each([
    [{ kind: 'status', status: 202 }, 202, ''],
    [{ kind: 'status', status: 204 }, 204, ''],
    [{ kind: 'status', status: 200, body: { data: [], has_more: true } }, 200, '{"data":[],"has_more":true}'],
    [{ kind: 'status', status: 307, headers: { location: '/elsewhere' } }, 307, ''],
  ] satisfies [Fault, number, string][])('is that of the rule: %j', async (fault, status, text) => {
    add(fault)
    const response = await ask()
    expect([response.status, await response.text()]).toEqual([status, text])
  })

  test('has other headers, and passes', async () => {
    add({ kind: 'headers', headers: { 'x-ratelimit-remaining-requests': '0' } })
    const response = await ask({ stream: false })
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    expect(await response.json()).toHaveProperty('choices')
  })

  test('is compressed', async () => {
    add({ kind: 'gzip' })
    const response = await ask({ stream: false })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    const text = gunzipSync(await response.arrayBuffer()).toString()
    expect(JSON.parse(text)).toHaveProperty('choices')
  })

  test('closes in order in the middle of its body', async () => {
    add({ kind: 'truncated', end: 'close' })
    const { text, broke } = await read(await ask({ stream: false }))
    expect(broke).toBeUndefined()
    expect(() => JSON.parse(text)).toThrow(SyntaxError)
  })

  test('has a head, and then nothing', async () => {
    add({ kind: 'truncated', bytes: 0, end: 'silence' })
    const response = await ask({ stream: false })
    expect(response.status).toBe(200)
    const silent = read(response)
    await expect.poll(() => sim.clock.pendingRequests.length, { interval: 1 }).toBe(1)
    await sim.clock.advance('5m')
    expect(await silent).toMatchObject({ text: '', broke: 'UND_ERR_SOCKET' })
  })

  test('lacks an element of a list, or has null in its place', async () => {
    const choices = async () => (await (await ask({ stream: false, n: 2 })).json()).choices
    const [, second] = await choices()
    const rule = add({ kind: 'drift', change: 'missingElement', field: 'choices' })
    expect(await choices()).toMatchObject([{ index: second.index }])
    rule.remove()
    add({ kind: 'drift', change: 'nullElement', field: 'choices' })
    expect(await choices()).toMatchObject([null, { index: 1 }])
  })

  test('drifts in the events of a stream', async () => {
    add({ kind: 'drift', change: 'missingField', field: 'choices[].delta' })
    const events = (await whole()).slice(0, -1).map(event => JSON.parse(event.slice(6)))
    expect(events.length).toBeGreaterThan(3)
    expect(events.every(({ choices }) => !('delta' in choices[0]))).toBe(true)
  })
})
