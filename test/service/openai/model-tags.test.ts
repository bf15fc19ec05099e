/** What a model can do by its tags, and the policies that let every model do it. */
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../../setup/batches.ts'
import { askTo, sendTo } from '../../setup/send-to.ts'

const PLAIN = 'brightmoor/moor-9b-it'
const TOOLS = 'aurora-labs/aurora-8b-instruct'
const IMAGES = 'saltmarsh/marsh-vl-11b'
const OPEN = { developer_role: 'accept', tools_without_tag: 'accept', images_without_tag: 'accept' } as const

const hello = [{ role: 'user', content: 'Hello!' }]
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
const chat = {
  tools: { messages: hello, tools: [{ type: 'function', function: { name: 'read_clock' } }] },
  image: { messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, picture] }] },
  developer: { messages: [{ role: 'developer', content: 'Be brief.' }, ...hello] },
}
const source = { type: 'base64', media_type: 'image/png', data: 'AA==' }
const message = {
  tools: { messages: hello, tools: [{ name: 'read_clock', input_schema: { type: 'object' } }] },
  image: { messages: [{ role: 'user', content: [{ type: 'image', source }] }] },
}

function ask(policies: object = {}) {
  const sim = createSimulator({ seed: 1, profile: { policies } })
  const send = async (path: string, body: object) => {
    const answer = await sendTo(sim, `POST ${path}`, body)
    return [answer.status, await answer.text()] as const
  }
  return { sim, send }
}

test.each([
  ['/v1/chat/completions', chat],
  ['/vendor_a/v1/messages', message],
])('%s refuses tools and images to a catalog model without their tag', async (path, { tools, image }) => {
  const { send } = ask()
  const of = (body: object, model: string) => send(path, { model, max_tokens: 20, ...body })
  expect(await of(tools, PLAIN)).toEqual([405, expect.stringContaining(`model ${PLAIN} calls no tools`)])
  expect(await of(image, PLAIN)).toEqual([400, expect.stringContaining(`model ${PLAIN} reads no images`)])
  const served = [await of(tools, TOOLS), await of(image, IMAGES), await of(tools, 'acme/assistant')]
  expect(served.map(([status]) => status)).toEqual([200, 200, 200])
  const open = ask(OPEN)
  for (const body of [tools, image]) expect((await open.send(path, { model: PLAIN, ...body }))[0]).toBe(200)
})

test('the role developer is 422 in a chat, and read with the policy accept', async () => {
  const body = { model: TOOLS, ...chat.developer }
  expect(await ask().send('/v1/chat/completions', body)).toEqual([
    422,
    expect.stringContaining("Input should be 'system', 'user', 'assistant', 'tool' or 'function'"),
  ])
  const { send } = ask(OPEN)
  expect((await send('/v1/chat/completions', body))[0]).toBe(200)
  const wrong = await send('/v1/chat/completions', { model: TOOLS, messages: [{ role: 'poet' }] })
  expect(wrong).toEqual([422, expect.stringContaining("'developer', 'system'")])
})

test.each([
  ['default', {}, 'failed', null],
  ['open', OPEN, 'completed', { total: 2, completed: 2, failed: 0 }],
])('a batch with the role developer follows the %s policies', async (_, policies, status, counts) => {
  const { sim } = ask(policies)
  const lines = [chat.tools, chat.developer].map((body, n) => batchLine(`q${n}`, { model: PLAIN, ...body }))
  const batch = await startBatch(sim, lines)
  await sim.clock.advance('3h')
  const { body } = await askTo(sim, `GET /v1/batches/${batch.id}`)
  expect(body).toMatchObject({ status, request_counts: counts })
})

test('a batch line with tools for a model without the tag fails alone with 405', async () => {
  const { sim } = ask()
  const { id } = await startBatch(sim, [batchLine('q', { model: PLAIN, ...chat.tools })])
  await sim.clock.advance('3h')
  const { error_file_id } = (await askTo(sim, `GET /v1/batches/${id}`)).body
  const rows = (await askTo(sim, `GET /v1/files/${error_file_id}/content`)).body
  expect(JSON.parse(rows).error).toMatchObject({ code: '405', message: expect.stringContaining('calls no tools') })
})
