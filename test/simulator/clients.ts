/** Steps of clients for the tests of rules: each does one thing, without retries. */
import type { Observation } from '../../src/simulator/judge/observation.ts'
import type { Violation } from '../../src/simulator/judge/rule.ts'
import { RULES, type RuleName } from '../../src/simulator/judge/rules/index.ts'
import { batchFile, rowsOf } from '../setup/batches.ts'
import { sendTo } from '../setup/send-to.ts'
import type { ClientContext } from './observe.ts'

export const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
export const CHAT_MODEL = 'aurora-labs/aurora-8b-instruct'

// biome-ignore lint/suspicious/noExplicitAny: answers of the service are read as a client reads them.
export type Answer = any

/** Sends a request and returns its JSON. Throws for an error answer, with the method and path alone. */
export async function call(client: ClientContext, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await sendTo(client, `${method} ${path}`, body)
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
  return response.json()
}

/** Uploads an input file with one chat for each question. The ids are q1, q2 and so on. */
export async function upload(
  context: ClientContext,
  questions: readonly string[],
  model = CHAT_MODEL,
  fields: object = {},
): Promise<string> {
  const lines = questions.map((content, i) => {
    const body = { model, messages: [{ role: 'user', content }], max_tokens: 20, ...fields }
    return JSON.stringify({ custom_id: `q${i + 1}`, method: 'POST', url: '/v1/chat/completions', body })
  })
  return (await call(context, 'POST', '/v1/files', batchFile(lines.join('\n')))).id
}

export async function createBatch(context: ClientContext, input_file_id: string): Promise<string> {
  const spec = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  return (await call(context, 'POST', '/v1/batches', spec)).id
}

/** Polls every minute until the batch ends. */
export async function awaitBatch(context: ClientContext, id: string): Promise<Answer> {
  for (;;) {
    const batch = await call(context, 'GET', `/v1/batches/${id}`)
    if (['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) return batch
    await context.sleep(60_000)
  }
}

/** Downloads the rows of a file. */
export async function rows(client: ClientContext, fileId: string): Promise<Answer[]> {
  return rowsOf(await (await sendTo(client, `GET /v1/files/${fileId}/content`)).text())
}

/** Returns what a row answers. */
export const contentOf = (row: Answer): string => row.response.body.choices[0].message.content

/** Returns the violations of one rule. */
export function violationsOf(name: RuleName, observation: Observation): readonly Violation[] {
  return RULES[name].check(observation)
}

/** Returns the words of the only violation of a rule, and fails if it has more or fewer. */
export function onlyWords(name: RuleName, observation: Observation): string {
  const violations = violationsOf(name, observation)
  if (violations.length !== 1)
    throw new Error(`${violations.length} violations: ${JSON.stringify(violations.map(v => v.words))}`)
  return violations[0]!.words
}
