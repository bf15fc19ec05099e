/** A bad and a good client for each rule of conduct: the bad one breaks this rule, the good one does the same with care. */

import type { SimulatorOptions } from '../../../src/index.ts'
import type { FaultRule } from '../../../src/simulator/faults/rules.ts'
import type { ConductRuleName } from '../../../src/simulator/judge/rules/conduct/index.ts'
import { batchFile, batchLine } from '../../setup/batches.ts'
import { CHAT, CHAT_MODEL, type JudgedClient, type JudgedContext, NEW } from './judged.ts'

export interface RuleCase {
  readonly bad: readonly JudgedClient[]
  readonly good: readonly JudgedClient[]
  readonly options?: SimulatorOptions
  /** The words of the finding about the bad client. */
  readonly words: RegExp
}

const REFUSED: FaultRule = { on: 'createChatCompletion', fault: { kind: 'status', status: 500 }, times: 4 }
const LIMITED: FaultRule = { on: 'listDeployments', fault: { kind: 'rateLimit', retryAfter: '20s' }, times: 1 }
const LOST: FaultRule = { on: 'createLlmDeployment', fault: { kind: 'reset', effect: 'done' }, times: 1 }

/** Sends a chat until it is answered, with the given pauses in milliseconds between the tries. */
const retrying =
  (...pauses: readonly number[]): JudgedClient =>
  async ({ send, sleep }) => {
    for (const pause of pauses) {
      if ((await send('POST', '/v1/chat/completions', CHAT)).status === 200) return
      await sleep(pause)
    }
    await send('POST', '/v1/chat/completions', CHAT)
  }

/** Reads one thing `times` times, every `pause` milliseconds. */
const polling =
  (times: number, pause: number): JudgedClient =>
  async ({ send, sleep }) => {
    for (let i = 0; i < times; i++) {
      await send('GET', '/deploy/list')
      await sleep(pause)
    }
  }

export async function createBatch({ send }: JudgedContext): Promise<string> {
  const form = batchFile(JSON.stringify(batchLine('q1', CHAT)))
  const { body: file } = await send('POST', '/v1/files', form)
  const spec = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  return (await send('POST', '/v1/batches', spec)).body.id
}

async function remove({ send }: JudgedContext, id: string): Promise<void> {
  await send('DELETE', `/deploy/${id}`)
}

const streaming =
  (isRead: boolean): JudgedClient =>
  async ({ fetch, url, token }) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...CHAT, stream: true }),
    })
    if (isRead) return response.text()
    const reader = response.body!.getReader()
    await reader.read()
    return reader.cancel()
  }

const createAfterLook: JudgedClient = async ({ send }) => {
  await send('POST', '/deploy/llm', NEW)
  const { body } = await send('GET', '/deploy/list')
  if (body.length === 0) await send('POST', '/deploy/llm', NEW)
}

export const CASES: Readonly<Record<ConductRuleName, RuleCase>> = {
  leavesNothingRunning: {
    bad: [
      async ({ send, sleep }) => {
        await send('POST', '/deploy/llm', NEW)
        await sleep(3_600_000)
      },
    ],
    good: [
      async context => {
        const { body } = await context.send('POST', '/deploy/llm', NEW)
        await context.sleep(3_600_000)
        await remove(context, body.deploy_id)
        await context.sleep(60_000)
      },
    ],
    words:
      /^The deployment \S+ \(running\) goes on: \$\d+\.\d\d so far\. It was created by request \d+ \(createLlmDeployment, 200\) 0s after the start\. No later request names its id\.$/,
  },
  looksBeforeCreate: {
    options: { faults: [LOST] },
    bad: [
      async ({ send }) => {
        await send('POST', '/deploy/llm', NEW)
        await send('POST', '/deploy/llm', NEW)
      },
    ],
    good: [createAfterLook],
    words:
      /^Request \d+ \(createLlmDeployment, connection failed\), sent 0s after the start, left its outcome unknown\. The client sent the same create again with request \d+ \(createLlmDeployment, \d+\), and had not looked in between\. The first one had taken effect: it created \S+\./,
  },
  readsEnd: {
    bad: [
      async context => {
        const id = await createBatch(context)
        await context.send('GET', `/v1/batches/${id}`)
        await context.sleep(25 * 3_600_000)
      },
    ],
    good: [
      async context => {
        const id = await createBatch(context)
        for (;;) {
          const { body } = await context.send('GET', `/v1/batches/${id}`)
          if (['completed', 'failed', 'expired', 'cancelled'].includes(body.status)) return
          await context.sleep(60_000)
        }
      },
    ],
    words:
      /^The batch \S+ \(completed\) ended .+ after the start, and the client returned without having read this status\. Its last poll was request \d+ \(getBatch, 200\), sent 0s after the start\.$/,
  },
  honoursRetryAfter: {
    options: { faults: [LIMITED] },
    bad: [polling(2, 5_000)],
    good: [polling(2, 21_000)],
    words: /asked for a wait of 20s\. The client sent request \d+ \(listDeployments, 200\) after 5s\.$/,
  },
  backsOff: {
    options: { faults: [REFUSED] },
    bad: [retrying(1_000, 1_000, 1_000, 1_000)],
    good: [retrying(1_000, 2_000, 4_000, 8_000)],
    words:
      /^Request \d+ \(createChatCompletion, 500\) was sent again 4 times, from 0s after the start, with equal pauses of 1s\. The last one was request \d+ \(createChatCompletion, 200\)\.$/,
  },
  spreadsRetries: {
    options: { faults: [{ ...REFUSED, times: 8 }] },
    bad: [retrying(1_000, 2_000, 4_000, 8_000), retrying(1_000, 2_000, 4_000, 8_000)],
    good: [retrying(1_000, 2_000, 4_000, 8_000), retrying(800, 1_900, 3_300, 7_000)],
    words:
      /^The clients \S+ and \S+ retried at the same instant 4 times, first 1s after the start and last 15s after it\.$/,
  },
  noRepeatedRefusal: {
    bad: [
      async ({ send }) => {
        for (let i = 0; i < 3; i++) await send('POST', '/deploy/llm', { ...NEW, gpu: 'H100' })
      },
    ],
    good: [
      async context => {
        await context.send('POST', '/deploy/llm', { ...NEW, gpu: 'H100' })
        const { body } = await context.send('POST', '/deploy/llm', NEW)
        await remove(context, body.deploy_id)
        await context.sleep(60_000)
      },
    ],
    words:
      /^Request \d+ \(createLlmDeployment, 422\), sent 0s after the start, was refused\. The client sent it unchanged 2 times more, and got 422 each time\. The last one was request \d+ \(createLlmDeployment, 422\)\.$/,
  },
  pollsAtMost: {
    bad: [polling(20, 200)],
    good: [polling(20, 5_000)],
    words: /^The client read \/deploy\/list \d+ times within \S+, from 0s after the start: its limit is 1 a second\.$/,
  },
  usesLists: {
    options: { fixtures: 'default' },
    bad: [
      async ({ send }) => {
        const { body } = await send('GET', '/v1/voices')
        for (const { voice_id } of body.voices ?? body) await send('GET', `/v1/voices/${voice_id}`)
      },
    ],
    good: [
      async ({ send }) => {
        const { body } = await send('GET', '/v1/voices')
        const some = (body.voices ?? body).slice(0, 4)
        for (const { voice_id } of some) await send('GET', `/v1/voices/${voice_id}`)
      },
    ],
    words:
      /^The client read \d+ things one by one with getVoice at one instant, from 0s after the start\. One request to listVoices answers all of them\.$/,
  },
  finishesStreams: {
    options: { inferencePace: 'clock' },
    bad: [streaming(false)],
    good: [streaming(true)],
    words:
      /^Request \d+ \(createChatCompletion, 200\), sent 0s after the start, is a stream\. The client left it after \d+ tokens?, \S+ after it had asked\.$/,
  },
  usesCurrentModels: {
    bad: [
      async ({ send, sim }) => {
        sim.cluster.model.deprecate(CHAT_MODEL, '30d')
        await send('POST', '/v1/chat/completions', CHAT)
      },
    ],
    good: [
      async ({ send, sim }) => {
        await send('POST', '/v1/chat/completions', CHAT)
        sim.cluster.model.deprecate(CHAT_MODEL, '30d')
      },
    ],
    words:
      /^The model aurora-labs\/aurora-8b-instruct is deprecated from 2026-01-31 on\. The client asked for it once, first in request \d+ \(createChatCompletion, 200\), 0s after the start\.$/,
  },
  sendsKnownFields: {
    bad: [async ({ send }) => send('POST', '/v1/chat/completions', { ...CHAT, temprature: 0.2 })],
    good: [async ({ send }) => send('POST', '/v1/chat/completions', { ...CHAT, temperature: 0.2 })],
    words:
      /^Nothing reads the field 'body temprature' of createChatCompletion\. The client sent it once, first in request \d+ \(createChatCompletion, 200\)\.$/,
  },
}

/** A client that keeps a rule by one of its exceptions. */
export type RightfulCase = [rule: ConductRuleName, title: string, JudgedClient, options?: SimulatorOptions]

const failing = (fault: FaultRule['fault'], times: number): SimulatorOptions => ({
  faults: [{ on: 'createChatCompletion', fault, times }],
})

/** Creates a deployment, reads it once after `wait` milliseconds, and goes on until the account has ended it. */
export const readOnceAfter =
  (wait: number): JudgedClient =>
  async ({ send, sleep, sim }) => {
    const { body } = await send('POST', '/deploy/llm', NEW)
    await sleep(wait)
    await send('GET', `/deploy/${body.deploy_id}`)
    await sleep(600_000)
    sim.funds.set(0)
    await sleep(60 * 3_600_000)
  }

/** Polls a batch to its end, and reads it `further` times more. */
export const readOn =
  (further: number): JudgedClient =>
  async context => {
    const id = await createBatch(context)
    await context.sleep(25 * 3_600_000)
    for (let i = 0; i <= further; i++) {
      await context.send('GET', `/v1/batches/${id}`)
      await context.sleep(60_000)
    }
  }

const lost = (fault: FaultRule['fault']): SimulatorOptions => ({
  faults: [{ on: 'createLlmDeployment', fault, times: 1 }],
})

const createAfterWait: JudgedClient = async ({ send, sleep }) => {
  const { retryAfter } = await send('POST', '/deploy/llm', NEW)
  await sleep(retryAfter! * 1_000)
  await send('POST', '/deploy/llm', NEW)
}

const adaptAfterDelete: JudgedClient = async context => {
  const { body } = await context.send('POST', '/deploy/llm', NEW)
  const adapter = { base_model: 'acme/none', name: 'acme/adapter' }
  await context.send('GET', '/deploy/none')
  await context.send('GET', '/deploy/none')
  await context.send('POST', '/v1/lora/create', adapter)
  await remove(context, body.deploy_id)
  await context.send('POST', '/v1/lora/create', adapter)
}

const readOneVoice: JudgedClient = async ({ send }) => {
  const { body } = await send('GET', '/v1/voices')
  const [{ voice_id }] = body.voices ?? body
  for (let i = 0; i < 8; i++) await send('GET', `/v1/voices/${voice_id}`)
}

const asked = failing({ kind: 'rateLimit', retryAfter: '5s' }, 4)
const cutOff = { inferencePace: 'clock', ...failing({ kind: 'reset', effect: 'done' }, 1) } as const

export const RIGHTFUL: readonly RightfulCase[] = [
  ['readsEnd', 'reads its batch twice more after the end', readOn(2)],
  ['looksBeforeCreate', 'creates again after a look that shows nothing', createAfterLook, lost({ kind: 'reset' })],
  ['looksBeforeCreate', 'creates after a 503 and a wait', createAfterWait, lost({ kind: 'status', status: 503 })],
  ['noRepeatedRefusal', 'repeats a create after it has deleted what was in its way', adaptAfterDelete],
  ['backsOff', 'tries once a minute', retrying(...Array(4).fill(60_000)), failing({ kind: 'status', status: 500 }, 4)],
  ['backsOff', 'waits as long as each answer asks', retrying(5_000, 5_000, 5_000, 5_000), asked],
  ['readsEnd', 'has read its deployment as running', readOnceAfter(900_000)],
  ['finishesStreams', 'loses a stream to a fault', context => streaming(true)(context).catch(() => undefined), cutOff],
  ['usesLists', 'reads one thing many times', readOneVoice, { fixtures: 'default' }],
]
