/** Every declaration shows how it is asked, and what it shows works on the default world. */
import { expect, test } from 'vitest'
import { operations } from '../../src/service/index.ts'
import { createExampleRequest } from '../../src/service/openapi/examples.ts'
import { createOpenapiDocument } from '../../src/service/openapi/openapi.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'

const origin = createSimulator({ seed: 1 })

test.each(Object.keys(operations))('the example of %s succeeds', { tags: 'slow' }, async operation => {
  const sim = origin.fork()
  const request = await createExampleRequest(operations, operation, sim.fetch, {
    baseUrl: 'http://sim',
    token: sim.token,
  })
  const path = new URL(request.url).pathname
  expect(sim.api.findOperationId(request.method, path), `${request.method} ${path}`).toBe(operation)
  const answer = await sim.fetch(request)
  const said = `give the declaration of ${operation} an example that succeeds: ${await answer.clone().text()}`
  expect(answer.status, said).toBe(200)
})

test('the document shows the bodies of examples', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a document to look into
  const { paths } = createOpenapiDocument(operations) as any
  const { content } = paths['/payment/funds'].post.requestBody
  expect(content['application/json'].example).toEqual(operations.addFunds.example.body)
})
