import { toFile } from 'openai'
import { describe, expect, test } from 'vitest'
import { createClient } from '../../../src/service/client/client.ts'
import type { SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { opusFile, wavFile, webmFile } from '../media/audio-files.ts'
import { parseSrt, parseVtt } from '../media/subtitle-parsers.ts'
import { audioWorld, CHAT_MODEL, OWN_SCRIBE, refusalOf, SCRIBE, SPEECH_MODEL } from './audio-world.ts'

const TRANSCRIPTIONS = '/v1/audio/transcriptions'
const TRANSLATIONS = '/v1/audio/translations'
const FILE = wavFile({ seconds: 21.5 })
const memo = (file = FILE) => toFile(file, 'memo.wav')
const paced = (options: SimulatorOptions = {}) => audioWorld({ inferencePace: 'clock', ...options })
// biome-ignore lint/suspicious/noExplicitAny: whatever the service answers
const bodyOf = async (answer: Promise<Response>): Promise<any> => (await answer).json()

describe('a transcription', () => {
  test('says the same in all five formats when the openai package asks for them', async () => {
    const { client } = audioWorld()
    const ask = { model: SCRIBE, file: await memo() }
    const { text, usage } = await client.audio.transcriptions.create(ask)
    expect(text.split(' ')).toHaveLength(54)
    expect(usage).toEqual({ type: 'duration', seconds: 21.5 })
    const verbose = await client.audio.transcriptions.create({ ...ask, response_format: 'verbose_json' })
    expect(verbose).toMatchObject({ task: 'transcribe', language: 'en', duration: 21.5, text, usage })
    expect(verbose.words).toBeUndefined()
    const segments = verbose.segments!
    expect(segments[0]!.start).toBe(0)
    expect(segments.at(-1)!.end).toBe(21.5)
    for (const [index, { start, end }] of segments.entries()) {
      expect(end).toBeGreaterThan(start)
      if (index > 0) expect(start).toBe(segments[index - 1]!.end)
    }
    const cues = segments.map(segment => ({ start: segment.start, end: segment.end, text: segment.text.trim() }))
    expect(parseSrt(await client.audio.transcriptions.create({ ...ask, response_format: 'srt' }))).toEqual(cues)
    expect(parseVtt(await client.audio.transcriptions.create({ ...ask, response_format: 'vtt' }))).toEqual(cues)
    expect(await client.audio.transcriptions.create({ ...ask, response_format: 'text' })).toBe(`${text}\n`)
  })

  test('has segments, words or both, as asked', async () => {
    const { client, upload } = audioWorld()
    const partsOf = async (granularities: ('segment' | 'word')[]) => {
      const ask = { model: SCRIBE, file: await memo(), response_format: 'verbose_json' as const }
      const answer = await client.audio.transcriptions.create({ ...ask, timestamp_granularities: granularities })
      return [answer.segments?.length, answer.words?.length]
    }
    expect(await partsOf(['word'])).toEqual([undefined, 54])
    expect(await partsOf(['segment'])).toEqual([5, undefined])
    expect(await partsOf(['word', 'segment'])).toEqual([5, 54])
    const fields = { model: SCRIBE, response_format: 'verbose_json' }
    // Without brackets, and as a repeated field without them.
    const single = await bodyOf(upload(TRANSCRIPTIONS, FILE, { ...fields, timestamp_granularities: 'word' }))
    expect(Object.keys(single)).toEqual(['task', 'language', 'duration', 'text', 'words', 'usage'])
    expect(await refusalOf(upload(TRANSCRIPTIONS, FILE, { ...fields, timestamp_granularities: ['letter'] }))).toEqual([
      422,
      expect.stringMatching(/segment/),
    ])
  })

  test('has words within their segments', async () => {
    const { upload } = audioWorld()
    const fields = { model: SCRIBE, response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] }
    const { segments, words } = await bodyOf(upload(TRANSCRIPTIONS, FILE, fields))
    for (const segment of segments) {
      const inside = words.filter(({ start, end }: typeof segment) => start >= segment.start && end <= segment.end)
      expect(inside.map(({ word }: { word: string }) => word).join(' ')).toBe(segment.text.trim().replace('.', ''))
      expect(segment.tokens).toHaveLength(inside.length)
    }
  })

  test('depends on seed, model and content of the file, and not on its name', async () => {
    const [one, same, other] = [audioWorld(), audioWorld(), audioWorld({ seed: 2 })]
    const textOf = async ({ upload }: typeof one, file = FILE, model = SCRIBE, name = 'memo.wav') =>
      (await bodyOf(upload(TRANSCRIPTIONS, file, { model }, name))).text
    const text = await textOf(one)
    expect(await textOf(one, FILE, SCRIBE, 'other.mp3')).toBe(text)
    expect(await textOf(same)).toBe(text)
    const others = [
      await textOf(other),
      await textOf(one, wavFile({ seconds: 21.4 })),
      await textOf(one, FILE, OWN_SCRIBE),
      (await bodyOf(one.upload(TRANSLATIONS, FILE, { model: SCRIBE }))).text,
    ]
    expect(new Set([text, ...others]).size).toBe(5)
  })

  test('reads the speech of the simulator and other files', async () => {
    const { post, upload } = audioWorld()
    const durationOf = async (file: Uint8Array) =>
      (await bodyOf(upload(TRANSCRIPTIONS, file, { model: SCRIBE, response_format: 'verbose_json' }))).duration
    for (const response_format of ['wav', 'mp3', 'flac', 'opus']) {
      const speech = await post('/v1/audio/speech', { model: SPEECH_MODEL, input: 'x'.repeat(150), response_format })
      expect(await durationOf(new Uint8Array(await speech.arrayBuffer()))).toBe(10.008)
    }
    expect(await durationOf(opusFile(96_000))).toBe(2)
    // By its size and 64 kbit/s.
    expect(await durationOf(webmFile(56_000))).toBe(7)
  })

  test('repeats its language, and a translation is in English', async () => {
    const { client } = audioWorld()
    const verbose = { model: SCRIBE, response_format: 'verbose_json' } as const
    const french = await client.audio.transcriptions.create({ ...verbose, file: await memo(), language: 'fr' })
    expect(french).toMatchObject({ task: 'transcribe', language: 'fr' })
    const english = await client.audio.translations.create({ ...verbose, file: await memo() })
    expect(english).toMatchObject({ task: 'translate', language: 'en', duration: 21.5 })
    const ask = { model: SCRIBE, file: await memo(), temperature: 0.2, prompt: 'Weather.' }
    const { text } = await client.audio.translations.create({ ...ask, response_format: 'json' })
    expect(text).toBe(english.text)
    const srt = (await client.audio.translations.create({ ...ask, response_format: 'srt' })) as unknown as string
    expect(parseSrt(srt).at(-1)!.end).toBe(21.5)
  })

  test('has the text that a test scripted for the name of its file', async () => {
    const { sim, client } = audioWorld()
    sim.inference.add({ contains: 'memo', times: 2, answer: { text: 'Buy milk. Then call Ada.' } })
    const ask = { model: SCRIBE, file: await memo() }
    expect((await client.audio.transcriptions.create(ask)).text).toBe('Buy milk. Then call Ada.')
    const srt = await client.audio.transcriptions.create({ ...ask, response_format: 'srt' })
    expect(parseSrt(srt)).toEqual([
      { start: 0, end: 8.6, text: 'Buy milk.' },
      { start: 8.6, end: 21.5, text: 'Then call Ada.' },
    ])
    sim.inference.add({ model: SCRIBE, answer: { error: { status: 429, message: 'later' } } })
    await expect(client.audio.transcriptions.create(ask)).rejects.toMatchObject({ status: 429 })
  })

  test('drifts as JSON, and stays as it is as a text', async () => {
    const { sim, upload } = audioWorld()
    const textOf = async (response_format: string) =>
      (await upload(TRANSCRIPTIONS, FILE, { model: SCRIBE, response_format })).text()
    const [json, srt] = [await textOf('json'), await textOf('srt')]
    sim.faults.add({ on: 'createTranscription', fault: { kind: 'drift', change: 'extraField' } })
    expect(await textOf('json')).not.toBe(json)
    expect(await textOf('srt')).toBe(srt)
  })

  test('is charged by the seconds of the audio to the micro-cent, and takes their time', async () => {
    const { sim, upload, charges, inferenceKinds } = paced()
    let isDone = false
    const answer = upload(TRANSCRIPTIONS, FILE, { model: SCRIBE }).then(response => {
      isDone = true
      return response
    })
    // 150 ms, and 7 ms for each of 21.5 seconds and 1.55 billion parameters: 383.3 ms.
    await sim.clock.advance('383ms')
    expect([isDone, charges()]).toEqual([false, []])
    await sim.clock.advance('1ms')
    expect((await answer).status).toBe(200)
    expect(inferenceKinds()).toEqual(['served'])
    // 21.5 seconds at 0.00075 cents.
    expect(charges()).toMatchObject([
      { subject: SCRIBE, microcents: -16_125, pricing_type: 'input_length', units: 21.5 },
    ])
  })

  test('runs on an own deployment by name and deploy_id, and breaks with its instance', async () => {
    const { sim, upload, charges, inferenceKinds } = paced()
    const { deploy_id } = sim.world.deployments.findLive(OWN_SCRIBE)!
    const answers = [OWN_SCRIBE, `deploy_id:${deploy_id}`].map(model => upload(TRANSCRIPTIONS, FILE, { model }))
    await sim.clock.advance('1ms')
    sim.cluster.nodeOf(deploy_id).crash()
    for (const answer of answers) expect((await refusalOf(answer))[0]).toBe(503)
    expect(inferenceKinds()).toEqual(['broken', 'broken'])
    const again = upload(TRANSCRIPTIONS, FILE, { model: OWN_SCRIBE })
    await sim.clock.advance('30m')
    expect((await again).status).toBe(200)
    expect(charges()).toEqual([])
  })

  test('is answered below /v1/compat and by the typed client', async () => {
    const { sim, upload } = audioWorld()
    const { text } = await bodyOf(upload('/v1/compat/audio/transcriptions', FILE, { model: SCRIBE }))
    const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
    const ask = { model: SCRIBE, file: FILE, filename: 'memo.wav' }
    expect(await api.createTranscription(ask)).toMatchObject({ text })
    expect(await api.createTranscription({ ...ask, response_format: 'text' })).toBe(`${text}\n`)
    const verbose = await api.createTranscription({
      ...{ ...ask, response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'], temperature: 0 },
    } as never)
    expect(verbose).toMatchObject({ words: { length: 54 }, segments: { length: 5 } })
    const audio = await api.createSpeech({ model: SPEECH_MODEL, input: 'Hello.' })
    expect(audio).toBeInstanceOf(Uint8Array)
    expect(audio.length).toBe(44 + 0.408 * 48_000)
  })
})

describe.each([TRANSCRIPTIONS, TRANSLATIONS])('%s refuses', path => {
  const refusals: [string, Uint8Array | string, Record<string, string>, number, string | RegExp][] = [
    ['a text', 'hello', {}, 400, /^file 'memo.wav' cannot be read as audio: its format is unknown: send WAV, /],
    ['an empty file', '', {}, 400, "file 'memo.wav' cannot be read as audio: it is empty"],
    ['a cut file', FILE.subarray(0, 40), {}, 400, /it is WAV, and its header states no length$/],
    [
      'audio over 8 hours',
      wavFile({ seconds: 30_000, rate: 1 }),
      {},
      400,
      "file 'memo.wav' is too long: it has 30000 seconds, and the limit is 8 hours",
    ],
    ['a model of another task', FILE, { model: CHAT_MODEL }, 400, /does text-generation, not automatic-speech-recog/],
    ['an unknown model', FILE, { model: 'acme/none' }, 404, 'model does not exist: acme/none'],
    ['another format', FILE, { response_format: 'docx' }, 422, /^Input should be/],
    ['a high temperature', FILE, { temperature: '1.5' }, 422, /less than or equal to 1/],
    ['a temperature in words', FILE, { temperature: 'warm' }, 422, /number/],
  ]
  test.each(refusals)('%s', async (_, file, fields, status, message) => {
    const { sim, upload } = audioWorld()
    const { digest } = sim
    const expected = [status, typeof message === 'string' ? message : expect.stringMatching(message)]
    expect(await refusalOf(upload(path, file, { model: SCRIBE, ...fields }))).toEqual(expected)
    expect(sim.digest).toBe(digest)
  })

  test('an unreadable file with the name of its part', async () => {
    const { upload } = audioWorld()
    const { error } = await bodyOf(upload(path, 'hello', { model: SCRIBE }))
    expect(error).toMatchObject({ type: 'invalid_request_error', param: 'file' })
  })

  test('a form without a model or a file, a suspended account and a stopped deployment', async () => {
    const { sim, upload, post } = audioWorld()
    expect((await refusalOf(upload(path, FILE)))[0]).toBe(422)
    const form = new FormData()
    form.set('model', SCRIBE)
    const headers = { authorization: `Bearer ${sim.token}` }
    expect((await sim.fetch(`http://sim${path}`, { method: 'POST', headers, body: form })).status).toBe(422)
    const { deploy_id } = sim.world.deployments.findLive(OWN_SCRIBE)!
    await post(`/deploy/${deploy_id}/stop`, {})
    expect((await refusalOf(upload(path, FILE, { model: `deploy_id:${deploy_id}` })))[0]).toBe(503)
    sim.cluster.account.suspend('overdue-invoices')
    expect((await refusalOf(upload(path, FILE, { model: SCRIBE })))[0]).toBe(402)
  })
})
