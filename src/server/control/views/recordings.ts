import * as z from 'zod'
import { control } from '../endpoint.ts'
import * as recordings from '../endpoints/open-recording.ts'

export const openRecording = control({
  route: 'POST /_sim/recordings',
  summary:
    'Create a world that runs a recording again, up to its end or to the first answer that differs. Its past is kept from ' +
    'the start. Webhooks of the recording are not sent again',
  example: { body: { recording: 'the text of a file of serve --record' } },
  refusals: { 400: 'a text that is not a recording of this version, or names a file', 429: 'too many worlds' },
  body: z.strictObject({ recording: z.string() }),
  returns: z.object({
    world: z.string(),
    now: z.string(),
    lines: z.int().describe('How many lines were performed'),
    problem: z.string().nullable().describe('Where it differs from the recording, or where the recording is cut'),
  }),
  handle: ({ body, ...scope }) => recordings.openRecordingText(scope, body.recording, 'that was sent'),
})
