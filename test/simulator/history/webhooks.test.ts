/** Recordings of results that are posted: a replay has their outcomes, and posts nothing. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { replayRecording } from '../../../src/simulator/history/replay/perform-lines.ts'
import { sendTo } from '../../setup/send-to.ts'

/** A receiver of webhooks that refuses the first of them. */
async function receiver() {
  const bodies: { readonly request_id: string }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    bodies.push(JSON.parse(text))
    response.writeHead(bodies.length === 1 ? 500 : 204).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

test('a recording with webhooks replays, and posts nothing again', async () => {
  const { bodies, url } = await receiver()
  const sim = createSimulator({ seed: 1 })
  const recording = sim.record()
  for (const input of ['Rivers', 'Stones'])
    await sendTo(sim, 'POST /v1/inference/aurora-labs/aurora-8b-instruct', { input, webhook: url })
  await sim.clock.advance('1h')
  const outcomes = sim.journal.entries().filter(({ kind }) => kind.startsWith('webhook.'))
  expect(outcomes.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['webhook.sent', 'webhook.failed', 'webhook.delivered']),
  )
  recording.stop()
  await sim[Symbol.asyncDispose]()
  expect(bodies).toHaveLength(3)
  const recorded = parseRecording(recording.text, 'webhooks')
  expect(recording.text.match(/"do":"settleWebhook"/g)).toHaveLength(3)

  const same = { requests: 2, divergence: undefined, cut: undefined }
  expect(await replayRecording(recorded, 'webhooks')).toMatchObject(same)
  expect(bodies).toHaveLength(3)

  // Another outcome leads to another world.
  const changed = {
    ...recorded,
    lines: recorded.lines.map(line =>
      'action' in line && line.action.do === 'settleWebhook' && 'status' in line.action.outcome
        ? { ...line, action: { ...line.action, outcome: { status: 204 } } }
        : line,
    ),
  }
  expect((await replayRecording(changed, 'webhooks')).divergence).toBeDefined()
})
