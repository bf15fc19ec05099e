import assert from 'node:assert/strict'
import { test } from 'node:test'
import { install } from '@sinonjs/fake-timers'
import { createSimulator } from 'modelhost-sim'
import { BatchClient } from './client.js'

test('a client with timers of its own: the fakes move with the world', async () => {
  const timers = install({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  try {
    const sim = createSimulator()
    const client = new BatchClient({ url: 'http://sim', token: sim.token, fetch: sim.fetch })
    const asking = client.ask('aurora-labs/aurora-8b-instruct', ['How is tea made?'])
    await sim.clock.advance('1h')

    const { status, answers } = await asking
    assert.equal(status, 'completed')
    assert.ok(answers[0].length > 0)
  } finally {
    timers.uninstall()
  }
})
