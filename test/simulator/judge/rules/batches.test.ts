/** batchLines and noSilentLoss: each line of a batch is returned once, with its own answer or error. */
import { describe, expect, test } from 'vitest'
import type { Observation } from '../../../../src/simulator/judge/observation.ts'
import type { Answer } from '../../clients.ts'
import {
  awaitBatch,
  CHAT_MODEL,
  call,
  contentOf,
  createBatch,
  MODEL,
  onlyWords,
  rows,
  upload,
  violationsOf,
} from '../../clients.ts'
import { type Client, type ClientContext, observe } from '../../observe.ts'

const QUESTIONS = ['How is tea made?', 'Why does it rain?', 'Who sings?', 'What is far?', 'When is it dark?']

/** Runs a batch and returns what `join` makes of its rows. */
const ask =
  (join: (output: Answer[], errors: Answer[]) => unknown): Client =>
  async context => {
    const id = await createBatch(context, await upload(context, QUESTIONS))
    const batch = await awaitBatch(context, id)
    const output = await rows(context, batch.output_file_id)
    return { id, results: join(output, await rows(context, batch.error_file_id)) }
  }

const ids = QUESTIONS.map((_, i) => `q${i + 1}`)
const answerOf = (row: Answer) => ({ custom_id: row.custom_id, answer: contentOf(row) })
const byId = (output: Answer[]) => output.map(answerOf)
const byPosition = (output: Answer[]) => ids.map((custom_id, i) => ({ custom_id, answer: contentOf(output[i]) }))

describe('batchLines', () => {
  test('answers by custom_id hold it, in each form of an answer', async () => {
    expect(violationsOf('batchLines', await observe(ask(byId)))).toEqual([])
    const bodies = (output: Answer[]) => output.map(row => ({ custom_id: row.custom_id, answer: row.response.body }))
    expect(violationsOf('batchLines', await observe(ask(bodies)))).toEqual([])
  })

  test('answers by position break it, and the words name whose answer it is', async () => {
    const observation = await observe(ask(byPosition), { seed: 2 })
    expect(onlyWords('batchLines', observation)).toMatch(
      /^The client returned for 'q\d' the answer of 'q\d', at results\[\d\]\.answer\. \d more lines are wrong\.$/,
    )
    expect(violationsOf('batchLines', observation)[0]).toMatchObject({ operation: 'getFileContent' })
  })

  test('and the names of a names profile change nothing', { tags: 'slow' }, async () => {
    const names = { fields: { custom_id: 'key', response: 'reply', choices: 'options', model: 'engine' } }
    const own = (output: Answer[]) =>
      output.map(row => ({ custom_id: row.key, answer: row.reply.body.options[0].message.content }))
    const bodies = (output: Answer[]) => output.map(row => ({ custom_id: row.key, answer: row.reply.body }))
    for (const join of [own, bodies])
      expect(violationsOf('batchLines', await observe(ask(join), { names }))).toEqual([])
    const shifted = (output: Answer[]) =>
      own(output).map((line, i, all) => ({ ...line, answer: all[(i + 1) % all.length]!.answer }))
    expect(onlyWords('batchLines', await observe(ask(shifted), { names }))).toContain('the answer of')
  })

  test('an answer twice breaks it', async () => {
    const twice = await observe(ask(output => [...byId(output), answerOf(output[0])]))
    expect(onlyWords('batchLines', twice)).toMatch(
      /^The client returned the answer of 'q\d' 2 times: the input has it once\.$/,
    )
  })

  test.each<[string, (output: Answer[]) => unknown]>([
    ['other names', output => output.map(row => ({ line: row.custom_id, said: contentOf(row) }))],
    ['the rows of the service', output => output],
    ['a map', output => new Map(output.map(row => [row.custom_id, contentOf(row)]))],
    ['pairs', output => output.map(row => [row.custom_id, contentOf(row)])],
    ['a text', output => output.map(row => `${row.custom_id}: ${contentOf(row)}`).join('\n')],
    ['two lists', output => ({ ids: output.map(row => row.custom_id), said: output.map(contentOf) })],
    ['the order of the input', output => ids.map(id => contentOf(output.find(row => row.custom_id === id)))],
  ])('answers as %s hold it', { tags: 'slow' }, async (_, join) => {
    expect(violationsOf('batchLines', await observe(ask(join), { seed: 2 }))).toEqual([])
  })

  test.each<[string, (output: Answer[]) => unknown]>([
    ['under other names', output => ids.map((line, i) => ({ line, said: contentOf(output[i]) }))],
    ['in a map', output => new Map(ids.map((id, i) => [id, contentOf(output[i])]))],
    ['in a text', output => ids.map((id, i) => `${id}: ${contentOf(output[i])}`).join('\n')],
    ['in two lists', output => ({ ids, said: output.map(contentOf) })],
  ])('answers by position break it %s', async (_, join) => {
    expect(onlyWords('batchLines', await observe(ask(join), { seed: 2 }))).toContain('the answer of')
  })

  test('a list in the order of the output file cannot be attributed', async () => {
    const list = (output: Answer[]) => output.map(contentOf)
    expect(onlyWords('batchLines', await observe(ask(list), { seed: 2 }))).toMatch(
      /^The answers at results cannot be attri/,
    )
  })

  test('a line that only the error file has needs an error', async () => {
    const failing =
      (join: (output: Answer[], errors: Answer[]) => unknown): Client =>
      async context => {
        const id = await createBatch(context, await upload(context, QUESTIONS, CHAT_MODEL, { stream: true }))
        const batch = await awaitBatch(context, id)
        return { id, results: join([], await rows(context, batch.error_file_id)) }
      }
    const withErrors = (_: Answer[], errors: Answer[]) =>
      errors.map(({ custom_id, error }) => ({ custom_id, error: error.message }))
    const complete = await observe(failing(withErrors))
    expect(violationsOf('batchLines', complete)).toEqual([])
    expect(violationsOf('noSilentLoss', complete)).toEqual([])
    const one = await observe(failing((_, errors) => withErrors(_, errors).slice(1)))
    expect(onlyWords('batchLines', one)).toMatch(
      /^The client returned nothing for 'q\d', but the error file has it: '.+'\.$/,
    )
  })
})

describe('noSilentLoss', () => {
  const emptyDownload = [{ on: 'getFileContent', nth: 1, fault: { kind: 'empty' } }] as const

  test('an empty download that the client takes for a complete one loses the lines', async () => {
    const base = await observe(ask(byId))
    expect(violationsOf('noSilentLoss', base)).toEqual([])
    const observation = await observe(ask(byId), { base, faults: emptyDownload })
    expect(onlyWords('noSilentLoss', observation)).toMatch(
      /^The client returned normally, but lost a value at results\[0\]\.answer, .+ and 2 more places: nothing is there in place of '.+', and nothing near it says so\. Its source, request \d+ \(getFileContent, 200\), was not answered whole, /,
    )
    expect(violationsOf('batchLines', observation)).toEqual([])
  })

  test('a result that tells the failure is not silent loss', async () => {
    const honest: Client = async context => {
      const id = await createBatch(context, await upload(context, QUESTIONS))
      const batch = await awaitBatch(context, id)
      const output = await rows(context, batch.output_file_id)
      return { id, results: byId(output), ...(output.length < 5 && { errors: ['the download is incomplete'] }) }
    }
    const base = await observe(honest)
    expect(violationsOf('noSilentLoss', await observe(honest, { base, faults: emptyDownload }))).toEqual([])
  })

  const chat: Client = async context => {
    const messages = [{ role: 'user', content: 'How is tea made?' }]
    const answer = await request(context, { model: 'aurora-labs/aurora-8b-instruct', messages })
    return { text: answer }
  }
  /** Reads the text of the answer, and takes an unreadable one for ''. */
  async function request({ fetch, url, token }: ClientContext, body: unknown): Promise<string> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text().catch(() => '')
    return text === '' ? '' : JSON.parse(text).choices[0].message.content
  }

  test.each(['empty', 'truncated'] as const)('a %s answer that is taken for a good one loses its value', async kind => {
    const base = await observe(chat)
    expect(violationsOf('noSilentLoss', await observe(chat, { base }))).toEqual([])
    const observation = await observe(chat, { base, faults: [{ on: '*', fault: { kind } }] })
    expect(onlyWords('noSilentLoss', observation)).toMatch(
      /^The client returned normally, but lost a value at text: nothing is there in place of '.+', and nothing near it says so\. Its source, request 1 /,
    )
  })

  test('of a smaller number, the words name both once', async () => {
    const count: Client = async context => {
      const lengthOf = async (path: string) => (await call(context, 'GET', path).catch(() => [])).length as number
      return { models: (await lengthOf('/models/list')) || 2 }
    }
    const base = await observe(count, { fixtures: 'default' })
    const faults = [{ on: 'listPublicModels', fault: { kind: 'status', status: 503 } }] as const
    expect(onlyWords('noSilentLoss', await observe(count, { base, faults, fixtures: 'default' }))).toMatch(
      /lost a value at models: 2 is there in place of \d+, and/,
    )
  })

  test('a deployment that had failed is not returned as if it were there', async () => {
    const careless =
      (tell: boolean): Client =>
      async context => {
        const bad = { ...MODEL, extra_args: ['--no-such-flag'] }
        const { deploy_id } = await call(context, 'POST', '/deploy/llm', bad)
        for (;;) {
          const { status } = await call(context, 'GET', `/deploy/${deploy_id}`)
          if (status === 'running' || status === 'failed') return { deploy_id, ...(tell && { status }) }
          await context.sleep(60_000)
        }
      }
    const silent: Observation = await observe(careless(false))
    expect(onlyWords('noSilentLoss', silent)).toMatch(
      /^The client returned (\S+) as if it were done\. The deployment \1 \(failed\) had ended, and request \d+ /,
    )
    expect(violationsOf('noSilentLoss', await observe(careless(true)))).toEqual([])
  })

  test('what an earlier start of a crashed client saw fail is not what its last start returns', async () => {
    let starts = 0
    const client: Client = async context => {
      const isBad = ++starts === 2
      const model = { ...MODEL, ...(isBad && { model_name: 'acme/bad', extra_args: ['--no-such-flag'] }) }
      const { deploy_id } = await call(context, 'POST', '/deploy/llm', model)
      while ((await call(context, 'GET', `/deploy/${deploy_id}`)).status !== 'running') await context.sleep(60_000)
      return 'done'
    }
    const base = await observe(client)
    const observation = await observe(client, { base, crash: 40 })
    expect([observation.crashes, observation.end.kind]).toEqual([1, 'returned'])
    expect(observation.created.map(({ status }) => status)).toEqual(['failed', 'running'])
    expect(violationsOf('noSilentLoss', observation)).toEqual([])
  })
})
