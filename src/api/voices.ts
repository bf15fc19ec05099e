import { z } from 'zod'
import { VoiceRecord } from './answers.ts'
import { endpoint, refuse } from './endpoint.ts'

export const listVoices = endpoint({
  route: 'GET /v1/voices',
  summary: 'The voices of the authenticated user',
  provenance: 'documented',
  assumed: ['timestamps in Unix seconds'],
  returns: z.object({ voices: z.array(VoiceRecord) }),
  handle: ({ world }) => ({ voices: [...world.store.voices.all()] }),
})

export const getVoice = endpoint({
  route: 'GET /v1/voices/{voice_id}',
  summary: 'One voice',
  provenance: 'documented',
  assumed: ['timestamps in Unix seconds'],
  refusals: { 404: 'unknown voice' },
  returns: VoiceRecord,
  example: { target: '/v1/voices/voice_k7RtWq2mXb4Hn9Zp' },
  handle: ({ params, world }) => world.store.voices.get(params.voice_id) ?? refuse(404, `no voice ${params.voice_id}`),
})
