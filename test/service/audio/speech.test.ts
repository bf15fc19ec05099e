import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'
import { parseAudio } from '../media/audio-files.ts'
import { audioWorld, CHAT_MODEL, OWN_VOICE, refusalOf, SCRIBE, SPEECH_MODEL } from './audio-world.ts'

const INPUT = 'The rain ends before midnight, and the wind turns to the north.'
const ASK = { model: SPEECH_MODEL, input: INPUT, voice: 'ada' }
const SPEECH = '/v1/audio/speech'
const bytesOf = async (answer: { arrayBuffer(): Promise<ArrayBuffer> }) => new Uint8Array(await answer.arrayBuffer())
const digestOf = async (answer: { arrayBuffer(): Promise<ArrayBuffer> }) =>
  createHash('sha256')
    .update(await bytesOf(answer))
    .digest('hex')
const paced = (options: SimulatorOptions = {}) => audioWorld({ inferencePace: 'clock', ...options })

describe('speech', () => {
  test('is audio of the asked format, as long as its text, when the openai package asks for it', async () => {
    const { client } = audioWorld()
    const types: Record<string, string> = {}
    for (const response_format of ['mp3', 'opus', 'flac', 'wav', 'pcm'] as const) {
      const answer = await client.audio.speech.create({ ...ASK, response_format })
      types[response_format] = answer.headers.get('content-type')!
      const bytes = await bytesOf(answer)
      // 63 characters, 15 a second, in frames of 24 ms.
      const seconds = response_format === 'pcm' ? bytes.length / 48_000 : (await parseAudio(bytes)).seconds
      expect(seconds, response_format).toBeCloseTo(4.2, 6)
    }
    expect(types).toEqual({
      ...{ mp3: 'audio/mpeg', opus: 'audio/ogg', flac: 'audio/flac', wav: 'audio/wav', pcm: 'audio/pcm' },
    })
    const fast = await client.audio.speech.create({ ...ASK, speed: 4 })
    expect((await parseAudio(await bytesOf(fast))).seconds).toBeCloseTo(1.056, 6)
  })

  test('has equal bytes for every text of its length, model, voice and seed', async () => {
    const [one, other] = [audioWorld(), audioWorld({ seed: 2 })]
    const digest = ({ post }: typeof one, change: object = {}) => post(SPEECH, { ...ASK, ...change }).then(digestOf)
    const equal = [
      await digest(one),
      await digest(one, { model: `${SPEECH_MODEL}:${one.sim.world.store.models.get(SPEECH_MODEL)!.versions[0]}` }),
      await digest(other),
      await digest(one, { voice: 'alloy' }),
      await digest(one, { voice: null }),
      await digest(one, { voice: await one.addVoice('Ada') }),
      await digest(one, { model: OWN_VOICE }),
      await digest(one, { input: 'x'.repeat(INPUT.length) }),
    ]
    expect(new Set(equal).size).toBe(1)
    expect(equal).not.toContain(await digest(one, { input: `${INPUT}!` }))
    expect(equal).not.toContain(await digest(one, { speed: 2 }))
  })

  test('is answered below /v1/compat and by deploy_id, and takes any key header', async () => {
    const { sim, post } = audioWorld()
    const first = await digestOf(await post(SPEECH, ASK))
    expect(await digestOf(await post('/v1/compat/audio/speech', ASK))).toBe(first)
    const { deploy_id } = sim.world.deployments.findLive(OWN_VOICE)!
    const own = await digestOf(await post(SPEECH, { ...ASK, model: OWN_VOICE }))
    expect(await digestOf(await post(SPEECH, { ...ASK, model: `deploy_id:${deploy_id}` }))).toBe(own)
    const byHeader = await sim.fetch(`http://sim${SPEECH}`, {
      method: 'POST',
      headers: { 'alt-api-key': sim.token },
      body: JSON.stringify(ASK),
    })
    expect(await digestOf(byHeader)).toBe(first)
  })

  test('is charged by the characters of the text, and not at all on an own deployment', async () => {
    const { sim, post, charges } = audioWorld()
    await post(SPEECH, { ...ASK, input: '👋🏽 Hi!' })
    // 6 characters at 0.0007 cents.
    expect(charges()).toMatchObject([
      { kind: 'units', subject: SPEECH_MODEL, microcents: -4_200, pricing_type: 'input_character_length', units: 6 },
    ])
    await post(SPEECH, { ...ASK, model: OWN_VOICE })
    expect(charges()).toHaveLength(1)
    const usage = await sendTo(sim, 'GET /payment/usage?from=current')
    const { months } = (await usage.json()) as { months: [{ items: object[] }] }
    expect(months[0].items).toContainEqual(
      expect.objectContaining({ units: 6, pricing_type: 'input_character_length', rate: 0.0007 }),
    )
  })

  test('is charged by the seconds of the audio when its model has the pricing type output_length', async () => {
    const models = [
      {
        model_name: 'acme/reader',
        type: 'text-to-speech',
        pricing: { type: 'output_length', cents_per_output_sec: 0.01 },
        parameters_b: 0.5,
      },
    ]
    const { post, charges } = audioWorld({ with: { models } as never })
    await post(SPEECH, { ...ASK, model: 'acme/reader' })
    expect(charges()).toMatchObject([{ microcents: -42_000, pricing_type: 'output_length', units: 4.2 }])
  })

  test('takes the time of its length on the clock of the world', async () => {
    const { sim, post, inferenceKinds } = paced()
    let isDone = false
    const answer = post(SPEECH, ASK).then(response => {
      isDone = true
      return response
    })
    // 120 ms, and 60 ms for each of 4.2 s of audio and 0.5 billion parameters: 246 ms.
    await sim.clock.advance('245ms')
    expect(isDone).toBe(false)
    await sim.clock.advance('1ms')
    expect((await answer).status).toBe(200)
    expect(inferenceKinds()).toEqual(['served'])
  })

  test('waits for a place on its deployment, and breaks when the node is lost', async () => {
    const { sim, post, inferenceKinds } = paced()
    const answers = [INPUT, `${INPUT}!`].map(input => post(SPEECH, { ...ASK, model: OWN_VOICE, input }))
    await sim.clock.advance('1ms')
    const { ordinal, deploy_id } = sim.world.deployments.findLive(OWN_VOICE)!
    expect(sim.world.inferenceRequests.countsOfDeployment(ordinal)).toEqual({ running: 1, waiting: 1 })
    sim.cluster.nodeOf(deploy_id).crash()
    expect(await refusalOf(answers[0]!)).toEqual([503, expect.stringMatching(/^the instance that answered was lost: /)])
    await sim.clock.advance('30m')
    expect((await answers[1]!).status).toBe(200)
    expect(inferenceKinds()).toEqual(['queued', 'broken', 'served'])
  })

  test('is abandoned and not charged when its client aborts', async () => {
    const { sim, post, inferenceKinds, charges } = paced()
    const abort = new AbortController()
    const answer = post(SPEECH, ASK, abort.signal).catch((error: Error) => error.name)
    await sim.clock.advance('10ms')
    abort.abort()
    expect(await answer).toBe('AbortError')
    expect(inferenceKinds()).toEqual(['left'])
    expect(charges()).toEqual([])
  })

  test('can be scripted to fail', async () => {
    const { sim, post } = audioWorld()
    sim.inference.add({ contains: 'rain', times: 1, answer: { error: { status: 500, message: 'out of breath' } } })
    expect(await refusalOf(post(SPEECH, ASK))).toEqual([500, 'out of breath'])
    expect((await post(SPEECH, ASK)).status).toBe(200)
  })
})

test('a fault cuts audio in the middle, and a stream after its bytes', async () => {
  const { sim, post, addVoice } = audioWorld()
  const path = `/v1/text-to-speech/${await addVoice('Ada')}/stream`
  const whole = await bytesOf(await post(SPEECH, ASK))
  sim.faults.add({ on: ['createSpeech', 'streamTextToSpeech'], fault: { kind: 'truncated' } })
  for (const [answer, bytes] of [
    [await post(SPEECH, ASK), Math.floor(whole.length / 2)],
    [await post(path, { text: INPUT }), 1_000],
  ] as const) {
    let received = 0
    const reading = (async () => {
      for await (const piece of answer.body!) received += piece.length
    })()
    await expect(reading).rejects.toThrow('terminated')
    expect(received).toBe(bytes)
  }
})

describe('speech is refused', () => {
  const refusals: [string, object, number, string | RegExp][] = [
    ['another format', { response_format: 'aac' }, 422, /^Input should be/],
    [
      'a model of another task',
      { model: CHAT_MODEL },
      400,
      `model ${CHAT_MODEL} does text-generation, not text-to-speech`,
    ],
    ['an unknown model', { model: 'acme/none' }, 404, 'model does not exist: acme/none'],
    ['a deprecated model', { model: 'northfield/reader-v1' }, 404, 'model does not exist: northfield/reader-v1'],
    ['an unknown voice of the account', { voice: 'voice_x' }, 404, /^no voice voice_x: use .* alloy, /],
    ['an unknown preset voice', { voice: 'alloi' }, 404, /^no voice alloi: use .* alloy, /],
    ['no text', { input: '' }, 422, /at least 1/],
    ['a long text', { input: 'x'.repeat(4_097) }, 422, /at most 4096/],
    ['a speed that is too high', { speed: 4.1 }, 422, /less than or equal to 4/],
    ['a speed that is too low', { speed: 0.2 }, 422, /greater than or equal to 0.25/],
  ]
  test.each(refusals)('when it asks for %s', async (_, change, status, message) => {
    const { sim, post } = audioWorld()
    const { digest } = sim
    const expected = [status, typeof message === 'string' ? message : expect.stringMatching(message)]
    expect(await refusalOf(post(SPEECH, { ...ASK, ...change }))).toEqual(expected)
    expect(sim.digest).toBe(digest)
  })

  test('when the account is suspended, or too many requests are in flight', async () => {
    const one = paced({ profile: { extends: 'realistic', limits: { requests_in_flight: 1 } } as never })
    void one.post(SPEECH, ASK)
    await one.sim.clock.advance('1ms')
    expect(await refusalOf(one.post(SPEECH, ASK))).toEqual([429, expect.stringMatching(/in flight with this token/)])
    one.sim.cluster.account.suspend('overdue-invoices')
    expect((await refusalOf(one.post(SPEECH, ASK)))[0]).toBe(402)
  })

  test('when its deployment is stopped', async () => {
    const { sim, post } = audioWorld()
    const { deploy_id } = sim.world.deployments.findLive(OWN_VOICE)!
    await post(`/deploy/${deploy_id}/stop`, {})
    expect((await refusalOf(post(SPEECH, { ...ASK, model: OWN_VOICE })))[0]).toBe(404)
    expect((await refusalOf(post(SPEECH, { ...ASK, model: `deploy_id:${deploy_id}` })))[0]).toBe(503)
  })
})

describe('text to speech', () => {
  const TEXT = { text: INPUT.repeat(2) }

  test('speaks in a voice of the account, whole and streamed alike', async () => {
    const { post, addVoice, charges } = audioWorld()
    const voice = await addVoice('Ada')
    const whole = await post(`/v1/text-to-speech/${voice}`, TEXT)
    const streamed = await post(`/v1/text-to-speech/${voice}/stream`, TEXT)
    expect(whole.headers.get('content-type')).toBe('audio/wav')
    expect(streamed.headers.get('content-type')).toBe('audio/wav')
    const [one, other] = [await bytesOf(whole), await bytesOf(streamed)]
    expect(Buffer.compare(one, other)).toBe(0)
    expect((await parseAudio(one)).seconds).toBeCloseTo(8.4, 6)
    const asSpeech = await post(SPEECH, { model: SPEECH_MODEL, input: TEXT.text, voice })
    expect(Buffer.compare(await bytesOf(asSpeech), one)).toBe(0)
    expect(charges()).toMatchObject([{ units: 126 }, { units: 126 }, { units: 126 }])
  })

  test('streams each second of audio when its share of the work is done', async () => {
    const { sim, post, addVoice, inferenceKinds } = paced({
      profile: { extends: 'realistic', timings: { token_jitter: 0 } } as never,
    })
    const answer = await post(`/v1/text-to-speech/${await addVoice('Ada')}/stream`, { ...TEXT, output_format: 'mp3' })
    const times: number[] = []
    const sizes: number[] = []
    const reading = (async () => {
      for await (const piece of answer.body!) {
        times.push(sim.clock.elapsed / 1000)
        sizes.push(piece.length)
      }
    })()
    await sim.clock.advance('1s')
    await reading
    // 8.4 s of audio in 9 pieces. The work takes 120 ms and 252 ms: 41.3 ms a piece.
    expect(times).toHaveLength(9)
    expect(times[0]).toBeCloseTo(41.3, 0)
    expect(times.at(-1)).toBeCloseTo(372, 0)
    for (const [index, time] of times.entries()) if (index > 0) expect(time - times[index - 1]!).toBeCloseTo(41.3, 0)
    expect(sizes).toEqual([...Array(8).fill(42 * 96), 14 * 96])
    expect(inferenceKinds()).toEqual(['served'])
  })

  test('ends its stream with a connection error when the instance is lost, and frees its place when the client leaves', async () => {
    const { sim, post, addVoice, inferenceKinds } = paced()
    const path = `/v1/text-to-speech/${await addVoice('Ada')}/stream`
    const lost = (await post(path, { ...TEXT, model_id: OWN_VOICE }))
      .arrayBuffer()
      .catch((error: Error) => error.message)
    await sim.clock.advance('10ms')
    sim.cluster.nodeOf(sim.world.deployments.findLive(OWN_VOICE)!.deploy_id).crash()
    expect(await lost).toBe('terminated')
    const left = await post(path, TEXT)
    await sim.clock.advance('10ms')
    await left.body!.cancel()
    expect(inferenceKinds()).toEqual(['broken', 'left'])
  })

  test('takes the format of the query before that of the body', async () => {
    const { post, addVoice } = audioWorld()
    const path = `/v1/text-to-speech/${await addVoice('Ada')}`
    const typeOf = async (query: string, body: object = {}) =>
      (await post(`${path}${query}`, { ...TEXT, ...body })).headers.get('content-type')
    expect(await typeOf('', { output_format: 'flac' })).toBe('audio/flac')
    expect(await typeOf('?output_format=mp3_44100_128', { output_format: 'flac' })).toBe('audio/mpeg')
    expect(await typeOf('?output_format=pcm_24000')).toBe('audio/pcm')
    expect(await typeOf('?output_format=opus_48000_32')).toBe('audio/ogg')
    expect(await refusalOf(post(`${path}?output_format=pcm_16000`, TEXT))).toEqual([
      400,
      'output_format pcm_16000 is not supported: the audio has 24,000 samples a second, as in pcm_24000',
    ])
    const expected = [422, "Input should be one of 'mp3', 'opus', 'flac', 'wav', 'pcm'"]
    expect(await refusalOf(post(`${path}?output_format=ulaw_8000`, TEXT))).toEqual(expected)
  })

  test('speaks in each preset voice that a refusal names, on all routes', { tags: 'slow' }, async () => {
    const { post } = audioWorld()
    const [, message] = await refusalOf(post('/v1/text-to-speech/alloi', TEXT))
    const voices = /preset voice: (.*)$/.exec(message as string)![1]!.split(', ')
    expect(voices).toEqual(expect.arrayContaining(['default', 'ada', 'alloy', 'shimmer']))
    for (const voice of voices) {
      for (const path of [`/v1/text-to-speech/${voice}`, `/v1/text-to-speech/${voice}/stream`])
        expect((await post(path, TEXT)).status, path).toBe(200)
      expect((await post(SPEECH, { ...ASK, voice })).status, voice).toBe(200)
      expect((await post(`/v1/inference/${SPEECH_MODEL}`, { ...TEXT, preset_voice: voice })).status, voice).toBe(200)
    }
  })

  test('is refused in an unknown voice, and in a deleted one', async () => {
    const { sim, post, addVoice } = audioWorld()
    const voice = await addVoice('Ada')
    await sendTo(sim, `DELETE /v1/voices/${voice}`)
    for (const name of [voice, 'alloi']) {
      for (const path of [`/v1/text-to-speech/${name}`, `/v1/text-to-speech/${name}/stream`])
        expect(await refusalOf(post(path, TEXT))).toEqual([404, expect.stringContaining(`no voice ${name}: use `)])
    }
  })

  test('is refused with a model of another task or name', async () => {
    const { post, addVoice } = audioWorld()
    const path = `/v1/text-to-speech/${await addVoice('Ada')}`
    const expected = [400, `model ${SCRIBE} does automatic-speech-recognition, not text-to-speech`]
    expect(await refusalOf(post(path, { ...TEXT, model_id: SCRIBE }))).toEqual(expected)
    expect((await refusalOf(post(path, { ...TEXT, model_id: 'acme/none' })))[0]).toBe(404)
  })
})
