/** Snapshots taken while requests for media run and wait: every result comes, at the same time and for the same price. */
import { expect, test } from 'vitest'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import type { DeliverWebhook } from '../../../src/simulator/webhook-options.ts'
import { wavFile } from '../../service/media/audio-files.ts'
import { createPng } from '../../service/media/png-writer.ts'

const VOICE = 'voice_k7RtWq2mXb4Hn9ZpGam4zyNb'
const AUDIO = `data:audio/wav;base64,${Buffer.from(wavFile()).toString('base64')}`
const HOOK = 'http://127.0.0.1:8123/hook'

/** A world with own deployments of one place each, so that requests also wait. */
function createWorld(): { sim: Simulator; posted: string[]; options: SimulatorOptions } {
  const posted: string[] = []
  const deliver: DeliverWebhook = async (_url, { body }) => {
    posted.push(body)
    return { status: 200 }
  }
  const tasks = ['text-to-image', 'text-to-speech', 'automatic-speech-recognition']
  const deployments = tasks.map(task => ({ model_name: `acme/${task}`, task, max_batch_size: 1 })) as never
  const options: SimulatorOptions = {
    ...{ seed: 5, inferencePace: 'clock', check: true, webhooks: { deliver }, with: { deployments } },
    onBug(error) {
      throw error
    },
  }
  return { sim: createSimulator(options), posted, options }
}

/** Sends requests of each kind to a shared and an own model of each task. */
function sendAll(sim: Simulator): Promise<Response>[] {
  const post = (path: string, body: object | FormData) =>
    sim.fetch(`http://sim${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sim.token}` },
      body: body instanceof FormData ? body : JSON.stringify(body),
    })
  const upload = (model: string, part: string, bytes: Uint8Array) => {
    const form = new FormData()
    form.set('model', model)
    form.set(part, new Blob([bytes as Uint8Array<ArrayBuffer>]), part)
    return form
  }
  return [1, 2].flatMap(count => [
    ...['acme/text-to-image', 'inkfold/canvas-fast'].flatMap(model => [
      post('/v1/images/generations', { model, prompt: `river ${count}`, size: '64x64', n: count }),
      post('/v1/images/variations', upload(model, 'image', createPng({ width: 64, height: 64 }))),
      post(`/v1/inference/${model}`, { prompt: `lake ${count}`, width: 64, height: 64, webhook: HOOK }),
    ]),
    ...['acme/text-to-speech', 'larkspur-audio/lark-tts-2'].flatMap(model => [
      post('/v1/audio/speech', { model, input: `Hello ${count}.` }),
      post(`/v1/text-to-speech/${VOICE}/stream`, { model_id: model, text: 'Hello there. '.repeat(20) }),
      post(`/v1/inference/${model}`, { text: `Hello ${count}.`, webhook: HOOK }),
    ]),
    ...['acme/automatic-speech-recognition', 'larkspur-audio/lark-scribe-large'].flatMap(model => [
      post('/v1/audio/transcriptions', upload(model, 'file', wavFile())),
      post(`/v1/inference/${model}`, { audio: AUDIO, webhook: HOOK }),
    ]),
  ])
}

function charges(sim: Simulator): unknown[] {
  return sim.ledger
    .entries()
    .filter(({ kind }) => kind === 'units')
    .map(({ subject, microcents, time }) => [subject, microcents, time])
}

test('a snapshot taken while media requests run and wait gives the same results and charges', async () => {
  const { sim, posted, options } = createWorld()
  await sim.clock.advance('1m')
  const answers = sendAll(sim)
  await sim.clock.advance('50ms')
  const { inferenceRequests } = sim.world
  expect([inferenceRequests.inFlightCount, inferenceRequests.waiting > 0]).toEqual([32, true])
  const bytes = sim.snapshot().toBytes()
  const restored = createSimulator(options)
  restored.restore(bytes)
  expect(restored.digest).toBe(sim.digest)
  await restored.clock.advance('1h')
  const byRestored = posted.splice(0)
  await sim.clock.advance('1h')
  expect(byRestored).toHaveLength(12)
  expect(posted).toEqual(byRestored)
  expect(charges(sim).length).toBeGreaterThan(0)
  expect(charges(restored)).toEqual(charges(sim))
  expect(restored.world.inferenceRequests.inFlightCount).toBe(0)
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([200]))
})
