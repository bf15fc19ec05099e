import * as z from 'zod'
import type { World } from '../../simulation/world.ts'
import { documented, neighbour, type SizeLimit } from '../endpoint.ts'
import { text } from '../fields.ts'
import { EmptyRecord, VoiceRecord } from '../records.ts'
import { refuse, rejectInput } from '../refusals.ts'

const SAMPLES_SIZE_LIMIT: SizeLimit = { bytes: 25 * 1_048_576, refusal: 'files are larger than 25 MB' }
const Name = text({ min: 1, max: 100 })
const Description = text({ max: 1_000 })

export const listVoices = documented({
  route: 'GET /v1/voices',
  summary: 'List the voices of the authenticated user',
  roles: ['list voice'],
  assumptions: ['timestamps are Unix seconds'],
  returns: z.object({ voices: z.array(VoiceRecord) }),
  handle: ({ world }) => ({ voices: [...world.store.voices.all()] }),
})

export const getVoice = documented({
  route: 'GET /v1/voices/{voice_id}',
  summary: 'Get one voice',
  roles: ['read voice'],
  assumptions: ['timestamps are Unix seconds'],
  refusals: { 404: 'unknown voice' },
  returns: VoiceRecord,
  example: { target: '/v1/voices/voice_k7RtWq2mXb4Hn9ZpGam4zyNb' },
  handle: ({ params, world }) => ({ ...requireVoice(world, params.voice_id) }),
})

export const addVoice = neighbour({
  route: 'POST /v1/voices/add',
  summary: 'Create a voice from samples',
  assumptions: [
    'multipart: name has 1 to 100 characters, description up to 1,000; each part files is one sample',
    'the voice is available at once; the content of the samples is not checked',
    'name need not be unique',
    'a new voice_id is voice_ and 24 letters and digits',
    'an empty sample is 422',
  ],
  refusals: { 413: 'the samples are over 25 MB together; nothing is stored' },
  upload: {
    part: 'files',
    fields: { name: Name, description: Description.default('') },
    limit: () => SAMPLES_SIZE_LIMIT,
  },
  returns: VoiceRecord,
  example: {
    form: { fields: { name: 'Night desk', description: 'Slow and kind.' }, filename: 'sample.wav', content: 'RIFF' },
  },
  handle: ({ upload: { name, description, files }, world }) => {
    if (files.some(({ bytes }) => bytes === 0))
      rejectInput(['body', 'files'], 'Value error, a sample should have bytes')
    return { ...world.voices.create({ name, description, samples: files.map(({ hash }) => hash) }) }
  },
})

export const editVoice = neighbour({
  route: 'POST /v1/voices/{voice_id}/edit',
  summary: 'Change name and description of a voice',
  assumptions: [
    'the body is a form, url-encoded or multipart; files are ignored',
    'a missing field keeps its value; the answer is the changed record',
  ],
  roles: ['update voice'],
  refusals: { 404: 'unknown voice' },
  consumes: 'form',
  body: z.object({ name: Name.optional(), description: Description.optional() }),
  returns: VoiceRecord,
  example: { target: '/v1/voices/voice_k7RtWq2mXb4Hn9ZpGam4zyNb/edit', body: { name: 'Evening narrator' } },
  handle: ({ params, body, world }) => {
    const voice = requireVoice(world, params.voice_id)
    const { name = voice.name, description = voice.description } = body
    return { ...world.voices.edit(voice, { name, description }) }
  },
})

export const deleteVoice = neighbour({
  route: 'DELETE /v1/voices/{voice_id}',
  summary: 'Delete a voice',
  assumptions: ['200 {}'],
  roles: ['delete voice'],
  refusals: { 404: 'unknown voice' },
  returns: EmptyRecord,
  example: { target: '/v1/voices/voice_k7RtWq2mXb4Hn9ZpGam4zyNb' },
  handle: ({ params, world }) => {
    world.voices.delete(requireVoice(world, params.voice_id))
    return {}
  },
})

function requireVoice(world: World, voice_id: string) {
  return world.store.voices.get(voice_id) ?? refuse(404, `no voice ${voice_id}`)
}
