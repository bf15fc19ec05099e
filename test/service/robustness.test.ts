/** Whatever is sent, the answer is the service's own: never a 5xx, and what is refused changes nothing. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { routeParamNames } from '../../src/service/endpoint.ts'
import { operations } from '../../src/service/index.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
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
const known = fc.constantFrom(...Object.values(operations))

const field = fc.constantFrom(
  ...new Set(
    Object.values(operations).flatMap(one => [
      ...Object.keys((one.body as { shape?: object } | undefined)?.shape ?? {}),
      ...Object.keys(one.query),
    ]),
  ),
  '__proto__',
  'constructor',
)
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    'H100-80GB',
    'other',
    'acme/assistant',
    'aurora-labs/aurora-8b-instruct',
    '24h',
    1,
    0,
    -1,
    1e300,
    513,
  ),
)
const body = fc.oneof(
  fc.dictionary(field, value).map(fields => JSON.stringify(fields)),
  fc.jsonValue({ maxDepth: 4 }).map(json => JSON.stringify(json)),
  fc.string({ maxLength: 40 }),
)

test('random requests to every endpoint', { tags: 'slow' }, async () => {
  await loadTokenizer()
  const { ask } = service()
  await fc.assert(
    fc.asyncProperty(
      known,
      fc.array(segment, { minLength: 3, maxLength: 3 }),
      field,
      words,
      body,
      async (endpoint, segments, name, text, content) => {
        let path = endpoint.path
        for (const [i, parameter] of routeParamNames(path).entries())
          path = path.replace(`{${parameter}}`, segments[i] ?? '')
        const sent = endpoint.method === 'GET' ? undefined : content
        const { status } = await ask(`${endpoint.method} ${path}?${name}=${text}`, sent)
        expect(status).toBeLessThan(500)
      },
    ),
    { seed: 7 },
  )
})

test('random paths and methods', async () => {
  const { ask } = service()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'),
      fc.array(fc.oneof(segment, fc.constantFrom('v1', 'deploy', 'models', 'list', 'schema', 'voices')), {
        maxLength: 6,
      }),
      async (method, segments) => {
        const { status } = await ask(`${method} /${segments.join('/')}`)
        expect(status).toBeLessThan(500)
      },
    ),
    { seed: 7 },
  )
})
