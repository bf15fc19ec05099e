/** What the interface publishes as a format of speech is accepted and answered. */
import { beforeAll, describe, expect, test } from 'vitest'
import { sendTo } from '../../setup/send-to.ts'
import { audioWorld, SPEECH_MODEL } from '../audio/audio-world.ts'
import { parseAudio } from './audio-files.ts'

const TEXT = 'The rain ends before midnight.'
const VOICE_ROUTE = '/v1/text-to-speech/{voice_id}'
const one = audioWorld()
let voice = ''
// biome-ignore lint/suspicious/noExplicitAny: a document
let openapi: any

beforeAll(async () => {
  voice = await one.addVoice('Ada')
  openapi = await (await one.sim.fetch('http://sim/openapi.json')).json()
})

/** Returns the bytes of an answer, which is a file or has a data URL. */
async function audioOf(response: Response): Promise<Uint8Array> {
  expect(response.status).toBe(200)
  if (response.headers.get('content-type') !== 'application/json') return new Uint8Array(await response.arrayBuffer())
  const { audio } = (await response.json()) as { audio: string }
  return Buffer.from(audio.slice(audio.indexOf(',') + 1), 'base64')
}

async function secondsOf(bytes: Uint8Array, format: string): Promise<number | undefined> {
  return format === 'pcm' ? bytes.length / 48_000 : (await parseAudio(bytes)).seconds
}

describe('every published format', () => {
  test.each([
    ['/v1/audio/speech', 'response_format', { model: SPEECH_MODEL, input: TEXT }],
    ['/v1/compat/audio/speech', 'response_format', { model: SPEECH_MODEL, input: TEXT }],
    [VOICE_ROUTE, 'output_format', { text: TEXT }],
    [`${VOICE_ROUTE}/stream`, 'output_format', { text: TEXT }],
  ])('is answered by %s with audio as long as its text', { tags: 'slow' }, async (route, field, body) => {
    const schema = openapi.paths[route].post.requestBody.content['application/json'].schema
    const formats: string[] = schema.properties[field].enum
    expect(formats).toHaveLength(5)
    for (const format of formats) {
      const audio = await audioOf(await one.post(route.replace('{voice_id}', voice), { ...body, [field]: format }))
      expect(await secondsOf(audio, format), format).toBeCloseTo(2.016, 6)
    }
  })

  test('is answered by native inference with audio as long as its text', async () => {
    const response = await sendTo(one.sim, `GET /models/${SPEECH_MODEL}/schema/default`)
    // biome-ignore lint/suspicious/noExplicitAny: a document
    const { schema_in } = (await response.json()) as any
    const formats: string[] = schema_in.properties.output_format.anyOf[0].enum
    expect(formats).toHaveLength(5)
    for (const output_format of formats) {
      const audio = await audioOf(await one.post(`/v1/inference/${SPEECH_MODEL}`, { text: TEXT, output_format }))
      expect(await secondsOf(audio, output_format), output_format).toBeCloseTo(2.016, 6)
    }
  })
})
