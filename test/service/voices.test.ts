import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { askTo, formOf, refusalOf } from '../setup/send-to.ts'
import { issues, refused } from './service-world.ts'

const KNOWN = 'voice_k7RtWq2mXb4Hn9ZpGam4zyNb'

function voices() {
  const sim = createSimulator({ seed: 1 })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const add = (fields: Record<string, string>, ...samples: string[]) =>
    askTo(sim, 'POST /v1/voices/add', formOf({ files: samples.map(sample => new File([sample], 'a.wav')), ...fields }))
  return { sim, api, add }
}

describe('a voice', () => {
  test('is created from samples, edited and deleted', { tags: 'slow' }, async () => {
    const { sim, api } = voices()
    const data = await sim.data()
    await sim.clock.advance('90s')
    const made = await api.addVoice({ name: 'Night desk', file: 'RIFF', filename: 'a.wav' })
    const now = 1_767_225_600 + 90
    expect(made).toEqual({
      user_id: sim.world.store.account.uid,
      voice_id: expect.stringMatching(/^voice_[A-Za-z0-9]{24}$/),
      name: 'Night desk',
      description: '',
      created_at: now,
      updated_at: now,
    })
    const { voice_id } = made
    expect(await api.getVoice({ voice_id })).toEqual(made)
    expect((await api.listVoices()).voices.at(-1)).toEqual(made)
    await data.whenIdle()
    expect(data.voices.findFirst(query => query.where({ voice_id }))).toMatchObject({ name: 'Night desk' })
    await sim.clock.advance('60s')
    const edited = await api.editVoice({ voice_id, description: 'Slow & kind = good' })
    expect(edited).toEqual({ ...made, description: 'Slow & kind = good', updated_at: now + 60 })
    const { digest } = sim
    expect(await api.editVoice({ voice_id, name: 'Night desk' })).toEqual(edited)
    expect(sim.digest).toBe(digest)
    expect(await api.deleteVoice({ voice_id })).toEqual({})
    expect(await refused(api.getVoice({ voice_id }))).toEqual([404, `no voice ${voice_id}`])
    await data.whenIdle()
    expect(data.voices.findFirst(query => query.where({ voice_id }))).toBeUndefined()
    const kinds = sim.journal.entries().map(({ kind }) => kind)
    expect(kinds.filter(kind => kind.startsWith('voice.'))).toEqual(['voice.created', 'voice.edited', 'voice.deleted'])
  })

  test('has an id that depends on its name and samples, not on the order of requests', async () => {
    const ids = async (...order: [string, string][]) => {
      const { add } = voices()
      const found: Record<string, string> = {}
      for (const [name, sample] of order) found[`${name} ${sample}`] = (await add({ name }, sample)).body.voice_id
      return found
    }
    const one = await ids(['Ada', 'x'], ['Ada', 'y'], ['Bo', 'x'])
    expect(await ids(['Bo', 'x'], ['Ada', 'y'], ['Ada', 'x'])).toEqual(one)
    expect(new Set(Object.values(one)).size).toBe(3)
    const { add } = voices()
    const twice = [await add({ name: 'Ada' }, 'x'), await add({ name: 'Ada' }, 'x')].map(({ body }) => body.voice_id)
    expect(twice[0]).toBe(one['Ada x'])
    expect(twice[1]).not.toBe(twice[0])
    expect((await add({ name: 'Ada' }, 'x', 'y')).body.voice_id).not.toBe(one['Ada x'])
  })
})

describe('the form of a voice', () => {
  test('is accepted url-encoded or as multipart, and its files are ignored', async () => {
    const { sim } = voices()
    const path = `POST /v1/voices/${KNOWN}/edit`
    const name = async (body?: BodyInit) => (await askTo(sim, path, body)).body.name
    expect(await name(new URLSearchParams({ name: 'Über & co', extra: 'x' }))).toBe('Über & co')
    expect(await name(formOf({ name: 'By multipart', files: new Blob(['RIFF']) }))).toBe('By multipart')
    expect(await name()).toBe('By multipart')
    const forms = 'application/x-www-form-urlencoded or multipart/form-data'
    expect(await refusalOf(askTo(sim, path, { name: 'x' }))).toEqual([415, `Unsupported Media Type: send ${forms}`])
    expect((await askTo(sim, path, new URLSearchParams({ name: 'x'.repeat(1_100_000) }))).status).toBe(413)
    expect(await name()).toBe('By multipart')
  })

  test('is rejected with all its errors and changes nothing when it is invalid', { tags: 'slow' }, async () => {
    const { sim, api, add } = voices()
    const { digest } = sim
    expect(await refusalOf(add({}))).toEqual([422, 'body/name missing, body/files missing'])
    expect(await refusalOf(add({ name: '' }, 'x'))).toEqual([422, 'body/name string_too_short'])
    expect(await refusalOf(add({ name: 'x'.repeat(101) }, 'x'))).toEqual([422, 'body/name string_too_long'])
    expect((await add({ name: '🦙'.repeat(100) }, 'x')).status).toBe(200)
    sim.reset()
    expect(await refusalOf(add({ name: 'Ada', files: 'text' }))).toEqual([422, 'body/files value_error'])
    expect(await refusalOf(add({ name: 'Ada' }, 'x', ''))).toEqual([422, 'body/files value_error'])
    const expected = [422, 'header/content-type value_error, body/name missing, body/files missing']
    expect(await refusalOf(askTo(sim, 'POST /v1/voices/add', {}))).toEqual(expected)
    const large = Array.from({ length: 4 }, () => 'x'.repeat(7_000_000))
    expect(await refusalOf(add({ name: 'Ada' }, ...large))).toEqual([413, 'files are larger than 25 MB'])
    expect(await issues(api.editVoice({ voice_id: KNOWN, name: '' }))).toEqual(['body/name string_too_short'])
    expect(await refused(api.editVoice({ voice_id: 'unknown' }))).toEqual([404, 'no voice unknown'])
    expect(await refused(api.deleteVoice({ voice_id: 'unknown' }))).toEqual([404, 'no voice unknown'])
    expect(sim.digest).toBe(digest)
  })
})
