import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import { parseRecording, withEndpoints } from '../../../simulator/history/file.ts'
import { createRecordedSimulator } from '../../../simulator/history/header.ts'
import { performLines } from '../../../simulator/history/replay/perform-lines.ts'
import { type ControlScope, makeWorldWith, refuseInvalid } from '../endpoint.ts'

/**
 * Creates a world that runs a recording again. Refuses with 400 for a text that is not a recording of this version.
 *
 * @param what what the recording is called in errors, as in `that was sent`
 */
export async function openRecordingText(
  { worlds, pasts }: Pick<ControlScope, 'worlds' | 'pasts'>,
  text: string,
  what: string,
) {
  const parsed = await refuseInvalid(() => parseRecording(text, what))
  const recording = withEndpoints(parsed, worlds.default.sim.options.endpoints)
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
    divergence && `line ${divergence.line}, ${divergence.subject}: ${divergence.recorded}, here ${divergence.replayed}`
  return { world: world.name, now: sim.clock.iso, lines, problem: difference ?? cut ?? null }
}
