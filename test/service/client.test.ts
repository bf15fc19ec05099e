import { expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { Refusal } from '../../src/service/client/refusal.ts'

/** Creates a client of a service that records requests and always returns the same answer. */
function noting(
  answer: () => Response = () => Response.json({}),
  options = { baseUrl: 'http://sim/base/', token: 'one' },
) {
  const sent: Request[] = []
  const client = createClient(request => {
    sent.push(request)
    return answer()
  }, options)
  return { client, sent }
}

test('fields are sent in path, query or body', async () => {
  const { client, sent } = noting()
  await client.getModelSchema({ model_name: 'acme/chat', variantKey: 'default', version: null })
  await client.listDeployments({ status: 'running,stopped' })
  await client.listDeployments()
  await client.renameHosted({ instance_id: 'a b', name: 'x' })
  expect(sent.map(request => `${request.method} ${request.url}`)).toEqual([
    'GET http://sim/base/models/acme%2Fchat/schema/default',
    'GET http://sim/base/deploy/list?status=running%2Cstopped',
    'GET http://sim/base/deploy/list',
    'PATCH http://sim/base/v1/hosted/a%20b',
  ])
  expect(await sent[3]!.json()).toEqual({ name: 'x' })
})

test('the token is sent, and as() replaces or removes it', async () => {
  const { client, sent } = noting()
  await client.listVoices()
  await client.as('two').listVoices()
  await client.as(undefined).listVoices()
  await client.raw(new Request('http://sim/base/x'))
  await client.raw(new Request('http://sim/base/x', { headers: { authorization: 'Basic mine' } }))
  const expected = ['Bearer one', 'Bearer two', null, 'Bearer one', 'Basic mine']
  expect(sent.map(request => request.headers.get('authorization'))).toEqual(expected)
})

test('a refusal throws an error with status and body', async () => {
  const { client } = noting(() => Response.json({ error: 'no' }, { status: 409 }))
  const error = await client.listVoices().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Refusal)
  expect(error).toMatchObject({ status: 409, body: { error: 'no' }, message: 'listVoices: 409 {"error":"no"}' })
})

test('a refusal without JSON has its text as body', async () => {
  const { client } = noting(() => new Response('<html>', { status: 502 }))
  expect(await client.listVoices().catch((thrown: Refusal) => thrown.body)).toBe('<html>')
})
