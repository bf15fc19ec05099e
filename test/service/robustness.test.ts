/** Whatever is sent, the answer is the service's own: never a 5xx, and what is refused changes nothing. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forAllAsync } from '../setup/for-all.ts'
import { service } from './service-world.ts'

const words = fc.constantFrom(
  'acme/assistant',
  'assistant',
  '2cZeTxVFN7tKxCCh',
  'default',
  'ALL',
  '',
  '..',
  '%',
  '%2F',
  '🦙',
)
const segment = fc.oneof(words, fc.string({ maxLength: 8 })).map(text => text.replaceAll(/[?#\\]/g, ''))
test('random paths and methods', async () => {
  const { ask } = service()
  await forAllAsync(
    [
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'),
      fc.array(fc.oneof(segment, fc.constantFrom('v1', 'deploy', 'models', 'list', 'schema', 'voices')), {
        maxLength: 6,
      }),
    ],
    { seed: 7 },
    async (method, segments) => {
      const { status } = await ask(`${method} /${segments.join('/')}`)
      expect(status).toBeLessThan(500)
    },
  )
})
