/** What a run records of the bodies that its client reads. */

import { describe, expect, test } from 'vitest'
import { AnswerBody, recordBody } from '../../../src/simulator/judge/answers/answer-body.ts'
import { explore } from '../../../src/workbench/explore/explore-flow.ts'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { sendTo } from '../../setup/send-to.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'

const ask = (context: FlowContext, request: string, body?: unknown) =>
  sendTo(context, request, body, { signal: AbortSignal.timeout(45_000) })

/** Explores a client with one class of faults, and returns the answers that its own invariant sees. */
async function answersOf(run: (context: FlowContext) => Promise<unknown>): Promise<unknown[]> {
  const answers: unknown[] = []
  const invariants = {
    looks: ({ requests, base }: { requests: readonly { answer: unknown }[]; base?: unknown }) => {
      if (base === undefined) answers.push(...requests.map(({ answer }) => answer))
      return undefined
    },
  }
  await explore(run, { fixtures: 'default', faults: 'singles', classes: ['status503'], budget: 2, invariants })
  return answers
}

describe('a body that is read in pieces', () => {
  test('is recorded as an answer, as one that is read by a method', async () => {
    const answers = await answersOf(async context => {
      const whole = await (await ask(context, 'GET /deploy/list')).json()
      let text = ''
      for await (const part of (await ask(context, 'GET /deploy/list')).body!) text += new TextDecoder().decode(part)
      const copy = await (await ask(context, 'GET /deploy/list')).clone().text()
      return [whole.length, text.length, copy.length]
    })
    expect(answers[1]).toEqual(answers[0])
    expect(answers[2]).toEqual(answers[0])
  })

  test('is recorded if it is a stream of events', async () => {
    const answers = await answersOf(async context => {
      const messages = [{ role: 'user', content: 'Name the tides.' }]
      const answer = await ask(context, 'POST /v1/chat/completions', {
        model: MODEL,
        max_tokens: 8,
        messages,
        stream: true,
      })
      const reader = answer.body!.getReader()
      let bytes = 0
      for (let part = await reader.read(); !part.done; part = await reader.read()) bytes += part.value.length
      return bytes
    })
    expect(answers[0]).toMatch(/^data: .*\n\ndata: \[DONE\]\n\n$/s)
  })

  test('has no error if its reader cancels while it waits for more', async () => {
    const record = new AnswerBody('text/event-stream')
    const errors: unknown[] = []
    const source = new ReadableStream({
      type: 'bytes',
      start: controller => controller.enqueue(new TextEncoder().encode('data: [DONE]\n\n')),
    }) as ReadableStream<Uint8Array<ArrayBuffer>>
    const reader = recordBody(source, record, error => errors.push(error)).getReader()
    await reader.read()
    const next = reader.read()
    await new Promise(resolve => setTimeout(resolve, 5))
    await reader.cancel()
    await next
    await new Promise(resolve => setTimeout(resolve, 10))
    expect({ errors: errors.filter(one => one !== undefined), text: record.text }).toEqual({
      errors: [],
      text: 'data: [DONE]\n\n',
    })
  })
})
