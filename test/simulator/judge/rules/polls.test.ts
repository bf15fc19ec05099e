/** readsEnd: a client that polls reads the terminal status, and takes it for the end. */
import { expect, test } from 'vitest'
import { awaitBatch, call, createBatch, MODEL, onlyWords, upload, violationsOf } from '../../clients.ts'
import { type Client, observe } from '../../observe.ts'

const QUESTIONS = ['How is tea made?', 'Why does it rain?']

test('a client that polls to the end holds it', async () => {
  const client: Client = async context =>
    awaitBatch(context, await createBatch(context, await upload(context, QUESTIONS)))
  expect(violationsOf('readsEnd', await observe(client))).toEqual([])
})

test('a client that returns before it read the end of a batch breaks it', async () => {
  const client: Client = async context => {
    const id = await createBatch(context, await upload(context, QUESTIONS))
    await call(context, 'GET', `/v1/batches/${id}`)
    await context.sleep(25 * 3_600_000)
    return { id }
  }
  expect(onlyWords('readsEnd', await observe(client))).toMatch(
    /^The batch \S+ \(completed\) ended .+ after the start, and the client returned without having read this status\. Its last poll was request 3 \(getBatch, 200\), sent 0s after the start\.$/,
  )
})

test('a batch that ends after the client holds it', async () => {
  const client: Client = async context => {
    const id = await createBatch(context, await upload(context, QUESTIONS))
    return call(context, 'GET', `/v1/batches/${id}`)
  }
  expect(violationsOf('readsEnd', await observe(client, { recovery: '26h' }))).toEqual([])
})

const pollUntil =
  (...goals: readonly string[]): Client =>
  async context => {
    const bad = { ...MODEL, extra_args: ['--no-such-flag'] }
    const { deploy_id } = await call(context, 'POST', '/deploy/llm', bad)
    for (let i = 0; i < 60; i++) {
      const { status } = await call(context, 'GET', `/deploy/${deploy_id}`)
      if (goals.includes(status)) return { deploy_id, status }
      await context.sleep(60_000)
    }
    throw new Error('too late')
  }

test('a client that polls on after an answer with `failed` breaks it', { tags: 'slow' }, async () => {
  const observation = await observe(pollUntil('running'))
  expect(onlyWords('readsEnd', observation)).toMatch(
    /^Request \d+ \(getDeployment, 200\) showed .+ after the start that the deployment \S+ is failed\. The client polled on: \d+ further reads showed the same, the last 59m after the start\.$/,
  )
  expect(violationsOf('readsEnd', observation)[0]!.operation).toBe('getDeployment')
  expect(violationsOf('readsEnd', await observe(pollUntil('running', 'failed')))).toEqual([])
})

test('the words have the status that the answer showed, although the client deleted the deployment later', {
  tags: 'slow',
}, async () => {
  const client: Client = async context => {
    const bad = { ...MODEL, extra_args: ['--no-such-flag'] }
    const { deploy_id } = await call(context, 'POST', '/deploy/llm', bad)
    for (let i = 0; i < 60; i++) {
      await call(context, 'GET', `/deploy/${deploy_id}`)
      await context.sleep(60_000)
    }
    await call(context, 'DELETE', `/deploy/${deploy_id}`)
  }
  expect(onlyWords('readsEnd', await observe(client))).toMatch(
    / that the deployment \S+ is failed\. The client polled on/,
  )
})

test('a deployment that was read as running and then deleted by the client holds it', async () => {
  const client: Client = async context => {
    const { deploy_id } = await call(context, 'POST', '/deploy/llm', MODEL)
    for (;;) {
      const { status } = await call(context, 'GET', `/deploy/${deploy_id}`)
      if (status === 'running') break
      await context.sleep(60_000)
    }
    await call(context, 'DELETE', `/deploy/${deploy_id}`)
  }
  expect(violationsOf('readsEnd', await observe(client))).toEqual([])
})

/** Reads a batch once, then the list when the batch has ended, and once before. */
const listAt =
  (...hours: readonly number[]): Client =>
  async context => {
    const id = await createBatch(context, await upload(context, QUESTIONS))
    await call(context, 'GET', `/v1/batches/${id}`)
    for (const hour of hours) {
      await context.sleep(hour * 3_600_000)
      await call(context, 'GET', '/v1/batches')
    }
    await context.sleep(25 * 3_600_000)
    return { id }
  }

test.each([
  ['under its own names', undefined],
  ['under the names of a names profile', { fields: { status: 'phase' }, values: { completed: 'ready' } }],
])('a client that reads the end of its batch in a list holds it %s', { tags: 'slow' }, async (_, names) => {
  const options = names && { names }
  expect(violationsOf('readsEnd', await observe(listAt(0, 1), options))).toEqual([])
  expect(onlyWords('readsEnd', await observe(listAt(0), options))).toMatch(
    /Its last poll was request 4 \(listBatches, 200\), sent 0s after the start\.$/,
  )
})
