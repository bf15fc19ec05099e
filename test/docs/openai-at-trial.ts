/** The `openai` package at its defaults, with each failure that its retries are for: what docs/judge.md judges. */
import OpenAI, { toFile } from 'openai'
import { createSimulator, type ExplorableSimulator } from '../../src/index.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const ENDPOINT = '/v1/chat/completions' as const

/**
 * Sends chats, a stream and a batch, and returns the world. The caller has installed fake timers, which the clock of the
 * world follows.
 */
export async function tryOpenai(): Promise<ExplorableSimulator> {
  const sim = createSimulator({ fixtures: 'empty', seed: 1, inferencePace: 'clock' })
  const openai = new OpenAI({ baseURL: 'https://sim.test/v1', apiKey: sim.token, fetch: sim.fetch as typeof fetch })
  const messages = [{ role: 'user' as const, content: 'How is tea made?' }]
  const chat = () => openai.chat.completions.create({ model: MODEL, messages, max_tokens: 40 })
  const inTime = async <Value>(work: Promise<Value>): Promise<Value | undefined> => {
    let isOver = false
    const settled = work.catch(() => undefined).finally(() => (isOver = true))
    await sim.clock.until(() => isOver, { within: '1h' })
    return settled
  }
  const failing = async (fault: Parameters<typeof sim.faults.add>[0]['fault'], times: number) => {
    sim.faults.add({ on: 'createChatCompletion', times, fault })
    await inTime(chat())
  }

  await failing({ kind: 'status', status: 503 }, 2)
  await failing({ kind: 'rateLimit', retryAfter: '20s' }, 1)
  await failing({ kind: 'rateLimit', retryAfter: '90s' }, 1)
  await failing({ kind: 'status', status: 500 }, 3)
  await failing({ kind: 'reset' }, 1)
  await failing({ kind: 'status', status: 400 }, 1)
  const leave = async () => {
    const stream = await openai.chat.completions.create({ model: MODEL, messages, max_tokens: 40, stream: true })
    for await (const _ of stream) break
  }
  await inTime(leave())

  const line = { custom_id: 'q1', method: 'POST', url: ENDPOINT, body: { model: MODEL, messages, max_tokens: 40 } }
  const file = await inTime(
    (async () =>
      openai.files.create({
        purpose: 'batch',
        file: await toFile(Buffer.from(JSON.stringify(line)), 'questions.jsonl'),
      }))(),
  )
  sim.faults.add({ on: 'createBatch', times: 1, fault: { kind: 'reset', effect: 'done' } })
  const spec = { input_file_id: file!.id, endpoint: ENDPOINT, completion_window: '24h' as const }
  const batch = await inTime(openai.batches.create(spec))
  for (;;) {
    const read = await inTime(openai.batches.retrieve(batch!.id))
    if (read === undefined || ['completed', 'failed', 'expired', 'cancelled'].includes(read.status)) return sim
    await sim.clock.advance('1m')
  }
}
