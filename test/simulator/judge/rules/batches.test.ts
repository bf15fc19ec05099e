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
      /^The client returned for 'q\d' the answer of 'q\d': '.+'\. \d more lines are wrong\.$/,
    )
    expect(violationsOf('batchLines', observation)[0]).toMatchObject({ operation: 'getFileContent' })
  })

  test('and the names of a names profile change nothing', async () => {
    const names = { fields: { custom_id: 'key', response: 'reply', choices: 'options', model: 'engine' } }
    const own = (output: Answer[]) =>
      output.map(row => ({ custom_id: row.key, answer: row.reply.body.options[0].message.content }))
    const bodies = (output: Answer[]) => output.map(row => ({ custom_id: row.key, answer: row.reply.body }))
    for (const join of [own, bodies])
      expect(violationsOf('batchLines', await observe(ask(join), { names }))).toEqual([])
    const shifted = (output: Answer[]) =>
      own(output).map((line, i, all) => ({ ...line, answer: all[(i + 1) % all.length]!.answer }))
    expect(onlyWords('batchLines', await observe(ask(shifted), { names }))).toContain('the answer of')
    const lost = (output: Answer[]) => own(output).slice(1)
    expect(violationsOf('noSilentLoss', await observe(ask(lost), { names }))).toHaveLength(1)
  })

  test('a custom_id twice, and one that no input has, break it', async () => {
    const twice = await observe(ask(output => [...byId(output), answerOf(output[0])]))
    expect(onlyWords('batchLines', twice)).toMatch(/^The client returned 'q\d' 2 times: the input has it once\.$/)
    const unasked = await observe(ask(output => [...byId(output), { custom_id: 'q9', answer: 'a tale' }]))
    expect(onlyWords('batchLines', unasked)).toBe("The client returned 'q9', which no input has.")
  })

  test('an answer that is not in the files breaks it, unless the base run returns the same', async () => {
    const shout = (output: Answer[]) => byId(output).map(line => ({ ...line, answer: line.answer.toUpperCase() }))
    const base = await observe(ask(shout))
    expect(violationsOf('batchLines', base)).toEqual([])
    expect(violationsOf('batchLines', await observe(ask(shout), { base }))).toEqual([])
    const cut = (output: Answer[]) => byId(output).map(line => ({ ...line, answer: line.answer.slice(0, 20) }))
    expect(onlyWords('batchLines', await observe(ask(cut), { base }))).toMatch(
      /^The client returned for 'q1' an answer that is in none of its files: /,
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
    expect(complete.lines).toHaveLength(5)
    expect(violationsOf('batchLines', complete)).toEqual([])
    expect(violationsOf('noSilentLoss', complete)).toEqual([])
    const one = await observe(failing((_, errors) => withErrors(_, errors).slice(1)))
    expect(onlyWords('batchLines', one)).toMatch(
      /^The client returned nothing for 'q\d', but the error file has it: '.+'\.$/,
    )
    const invented = (_: Answer[], errors: Answer[]) => errors.map(({ custom_id }) => ({ custom_id, answer: 'a tale' }))
    expect(onlyWords('batchLines', await observe(failing(invented)))).toContain("an answer for 'q")
  })
})

describe('noSilentLoss', () => {
  const emptyDownload = [{ on: 'getFileContent', nth: 1, fault: { kind: 'empty' } }] as const

  test('an empty download that the client takes for a complete one loses the lines', async () => {
    const base = await observe(ask(byId))
    expect(violationsOf('noSilentLoss', base)).toEqual([])
    const observation = await observe(ask(byId), { base, faults: emptyDownload })
    const id = observation.created[0]!.id
    expect(onlyWords('noSilentLoss', observation)).toMatch(
      new RegExp(
        `^The client returned normally, but 5 of the 5 lines of batch ${id} have neither answer nor error in its ` +
          "result: 'q1', 'q2', 'q3' and 2 more\\. The body of request \\d+ \\(getFileContent, 200\\) was empty\\.$",
      ),
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
      /^The client returned normally, but its result lacks text, which it has without faults\. The body of request 1 /,
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
      /^The client returned (\S+) as if it were there\. The deployment \1 \(failed\) had ended, and request \d+ /,
    )
    expect(violationsOf('noSilentLoss', await observe(careless(true)))).toEqual([])
  })
})
