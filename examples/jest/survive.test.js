import { expect, test } from '@jest/globals'
import { matchers } from 'modelhost-sim/matchers'
import { deployClient } from './client.js'

expect.extend(matchers)

const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

const deploy = ({ url, token }) => deployClient({ url, token }).deploy(model)

test('survives every single fault', async () => {
  await expect(deploy).toSurvive({ faults: 'singles', fixtures: 'empty' })
}, 60_000)
