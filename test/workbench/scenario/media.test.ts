/** Media in scenarios: many requests at once, served by the fleet and charged by the pricing types of their models. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Result, runScenario, type Scenario, scenario } from '../../../src/workbench/scenario/index.ts'
import { loadScenarios } from '../../../src/workbench/scenario/runner/files.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const IMAGES = 'inkfold/canvas-fast'
const SPEECH = 'larkspur-audio/lark-tts-2'
const SCRIBE = 'larkspur-audio/lark-scribe-large'

async function passes(story: Scenario): Promise<Result> {
  const result = await runScenario(story, { stuckTimeoutMs: 2_000 })
  expect(result.failure?.message).toBeUndefined()
  return result
}

async function fromYaml(text: string): Promise<Scenario> {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'media.yaml'), text)
  return (await loadScenarios(join(folder, 'media.yaml'), folder))[0]!
}

test('a script sends a batch of media requests, which wait for places on the fleet', { tags: 'slow' }, async () => {
  const own = { deploy_id: 'OwnDrawingModel1', model_name: 'acme/draw', task: 'text-to-image', max_batch_size: 2 }
  const options = { fixtures: 'default', seed: 7, inferencePace: 'clock', with: { deployments: [own] } } as const
  const story = scenario('a batch of media', options as never, async ({ api, check, clock, countOf, ledger }) => {
    const lengths = ['Hello there.', 'Good morning.', 'The rain ends before midnight.']
    const drawn = Array.from({ length: 6 }, (_, i) =>
      api.createImage({ model: 'acme/draw', prompt: `river ${i}`, size: '256x256' }),
    )
    const shared = [1, 2].map(n => api.createImage({ model: IMAGES, prompt: 'a lake', size: '512x1024', n }))
    const spoken = lengths.map(input => api.createSpeech({ model: SPEECH, input, response_format: 'wav' }))
    await clock.advance('2m')
    const [images, audio] = [await Promise.all([...drawn, ...shared]), await Promise.all(spoken)]
    check(
      images.map(({ data }) => data!.length),
      [1, 1, 1, 1, 1, 1, 1, 2],
    )
    check(
      audio.every(file => file.length > 24_000),
      true,
    )
    // Half a unit each, at 0.1 cents; 7 US dollars for a million characters.
    check(await ledger.cost(IMAGES), 150_000)
    check(await ledger.cost(SPEECH), Math.floor(lengths.join('').length * 0.0007 * 1e6))
    await countOf('inference.queued', 4)
  })
  const result = await passes(story)
  expect((await passes(story)).digest).toBe(result.digest)
})

test('a scenario in YAML sends media, uses the answers as uploads, and checks the costs', async () => {
  const story = await fromYaml(`title: media in YAML
given: { fixtures: default, seed: 7, inferencePace: clock }
steps:
  - do: { createSpeech: { model: ${SPEECH}, input: The rain ends before midnight., response_format: wav } }
    as: speech
  - do: { createTranscription: { model: ${SCRIBE}, file: '\${speech}', filename: memo.wav, response_format: verbose_json } }
    as: words
  - expect: { get: { value: '\${words.duration}' }, is: 2.016 }
  - do: { createInference: { model_name: ${IMAGES}, prompt: a river, width: 64, height: 128 } }
    as: drawn
  - do: { createImageVariation: { model: ${IMAGES}, file: '\${drawn.images[0]}', filename: river.png } }
  - do: { createImageVariation: { model: ${IMAGES}, file: 'data:image/png;base64,iVBORw0K' } }
    refused: { status: 400, message: not a PNG }
  - expect: { get: { cost: ${SPEECH} }, is: 21000 }
  - expect: { get: { cost: ${IMAGES} }, is: 1562 }
`)
  await passes(story)
})

test('an upload with invalid base64 fails with the operation and advice', async () => {
  const story = await fromYaml(`title: no base64
steps:
  - do: { createImageVariation: { model: ${IMAGES}, file: 'data:image/png;base64,a*b' } }
`)
  expect((await runScenario(story)).failure?.message).toBe(
    'Failed to read the file of createImageVariation: its data URL has invalid base64. Give valid base64, or the text of the file.',
  )
})
