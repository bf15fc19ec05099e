import * as z from 'zod'
import { parseRecording } from '../../evidence/recording/file.ts'
import { createRecordedSimulator } from '../../evidence/recording/header.ts'
import { performLines } from '../../evidence/replay/perform-lines.ts'
import { loadTokenizer } from '../../service/openai/tokenizer.ts'
import { CONTROL_PROVENANCE, control, refuseInvalid } from '../endpoint.ts'
import { makeWorldWith } from '../worlds/make-world.ts'

export const openRecording = control({
  ...CONTROL_PROVENANCE,
  route: 'POST /_sim/recordings',
  summary:
    'Create a world that runs a recording again, up to its end or to the first answer that differs. Its past is kept from ' +
    'the start. Webhooks of the recording are not sent again',
  example: { body: { recording: 'the text of a file of serve --record' } },
  refusals: { 400: 'a text that is not a recording of this version', 429: 'too many worlds' },
  body: z.strictObject({ recording: z.string() }),
  returns: z.object({
    world: z.string(),
    now: z.string(),
    lines: z.int().describe('How many lines were performed'),
    problem: z.string().nullable().describe('Where it differs from the recording, or where the recording is cut'),
  }),
  handle: async ({ body, worlds, pasts }) => {
    const recording = await refuseInvalid(() => parseRecording(body.recording, 'that was sent'))
    const world = await makeWorldWith(worlds, async () => {
      const made = await refuseInvalid(() =>
        createRecordedSimulator(recording.header, 'the recording', {}, async () => {
          throw new Error('a recording sends no webhooks again')
        }),
      )
      // Time that moves while the tokenizer is loaded would be another time.
      if (made.world.needsTokenizer) await loadTokenizer()
      return made
    })
    const { sim } = world
    pasts.keep(sim)
    const { lines, divergence, cut } = await performLines(sim, recording)
    const difference =
      divergence &&
      `line ${divergence.line}, ${divergence.subject}: ${divergence.recorded}, here ${divergence.replayed}`
    return { world: world.name, now: sim.clock.iso, lines, problem: difference ?? cut ?? null }
  },
})
