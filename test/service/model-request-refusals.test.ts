/** The refusals that requests for images and native inference share with requests for texts. */
import { describe, expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { createPng } from './media/png-writer.ts'

const IMAGES = 'inkfold/canvas-fast'
const TEXTS = 'aurora-labs/aurora-8b-instruct'
const NO_TOPUP = { amount: 0, threshold: 0, enabled: false }
const UPLOAD = createPng({ width: 64, height: 64 })

/** Sends the request of an operation for a model. */
type Send = (sim: Simulator, model: string, token?: string) => Promise<Response>

function sendJson(path: string, body: Record<string, unknown>): Send {
  return (sim, model, token = sim.token) => {
    const text = JSON.stringify(path.includes('/inference/') ? body : { ...body, model })
    const address = `http://sim${path.replace('{model}', model)}`
    return sim.fetch(address, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: text })
  }
}

function sendUpload(path: string, fields: Record<string, string>): Send {
  return (sim, model, token = sim.token) => {
    const body = new FormData()
    for (const [name, value] of Object.entries({ model, ...fields })) body.set(name, value)
    body.set('image', new Blob([UPLOAD]), 'image.png')
    return sim.fetch(`http://sim${path}`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body })
  }
}

describe.each<[operation: string, model: string, send: Send]>([
  ['createImage', IMAGES, sendJson('/v1/images/generations', { prompt: 'A river.', size: '64x64' })],
  ['createImageEdit', IMAGES, sendUpload('/v1/images/edits', { prompt: 'A bridge.' })],
  ['createImageVariation', IMAGES, sendUpload('/v1/images/variations', {})],
  ['createInference', TEXTS, sendJson('/v1/inference/{model}', { input: 'Tell me.' })],
])('a request of %s', (_operation, model, send) => {
  test('is 402 without funds', async () => {
    const sim = createSimulator({ fixtures: 'empty', with: { account: { funds_cents: 0, topup: NO_TOPUP } } })
    expect((await send(sim, model)).status).toBe(402)
    expect(sim.ledger.entries()).toEqual([])
  })

  test('is 403 with a scoped token for another model', async () => {
    const sim = createSimulator({ fixtures: 'default' })
    const answer = await sim.fetch('http://sim/v1/scoped-jwt', {
      method: 'POST',
      headers: { authorization: `Bearer ${sim.token}` },
      body: JSON.stringify({ api_key_name: 'default', models: ['harbor-ai/harbor-mini-1b'] }),
    })
    const { token } = (await answer.json()) as { token: string }
    const refused = await send(sim, model, token)
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining(`does not allow ${model}`)])
  })

  test('is 404 for an unknown model', async () => {
    expect((await send(createSimulator({ fixtures: 'empty' }), 'acme/missing')).status).toBe(404)
  })

  test('is 429 while the account has as many requests in flight as its limit', async () => {
    const sim = createSimulator({ fixtures: 'empty', inferencePace: 'clock' })
    sim.cluster.rateLimit.set(1)
    const answers = [send(sim, model), send(sim, model)]
    // Time does not move, so only a refusal is answered.
    const refused = await Promise.race(answers)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    await sim.clock.advance('10m')
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 429])
  })
})
