/** Small clients of explore's tests: their requests, the faults that they meet, and the invariants that they break. */
import { expect, onTestFinished } from 'vitest'
import type { FlowContext, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'
import { batchFile, batchLine, rowsOf } from '../../setup/batches.ts'
import { sendTo } from '../../setup/send-to.ts'

export type Run = (context: FlowContext) => Promise<unknown>

/** Returns a runner of a client. It is disposed at the end of the test. */
export function runnerOf(run: Run, options: FlowOptions = {}) {
  const runner = createFlowRunner({ name: 'client', options: { fixtures: 'empty', seed: 1, ...options }, run })
  onTestFinished(() => runner.dispose())
  return runner
}

/** Returns the names of the invariants that a client breaks in a run with a plan. */
export async function brokenBy(run: Run, plan: Plan, options: FlowOptions = {}): Promise<string[]> {
  const runner = runnerOf(run, options)
  expect((await runner.run([])).broken).toEqual([])
  return (await runner.run(plan)).broken.map(({ invariant }) => invariant)
}

export type Answer<T = unknown> = { readonly status: number; readonly wait: number; readonly value: T | undefined }

/** Sends one request. The status is 0 and the value undefined if it got no answer. */
export async function ask<T = unknown>(
  { fetch, url, token }: FlowContext,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const isForm = body instanceof FormData
  const headers = { authorization: `Bearer ${token}`, ...(!isForm && { 'content-type': 'application/json' }) }
  const sent = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }
  const init = { method, headers, signal: AbortSignal.timeout(30_000), ...sent }
  const answer = await fetch(url + path, init).catch(() => undefined)
  const value = answer?.ok ? ((await answer.json().catch(() => undefined)) as T | undefined) : undefined
  return { status: answer?.status ?? 0, wait: Number(answer?.headers.get('retry-after') ?? 0) * 1000, value }
}

/** Sends one request, and throws if it was not answered with a 2xx. */
export async function must<T>(context: FlowContext, method: string, path: string, body?: unknown): Promise<T> {
  const { status, value } = await ask<T>(context, method, path, body)
  if (value === undefined) throw new Error(`${method}: ${status}`)
  return value
}

export const status503 = { kind: 'status', status: 503 } as const
export const always503 = (on: string, nth = 1) => ({ fault: { on, nth, for: '60s', fault: status503 } }) as Plan[number]
export const first503 = (on: string) => ({ fault: { on, nth: 1, fault: status503 } }) as Plan[number]

export const complete = (context: FlowContext, model: string, prompt: string) =>
  ask(context, 'POST', '/v1/completions', { model, prompt, max_tokens: 4 })
export const MODELS = ['aurora-labs/aurora-8b-instruct', 'harbor-ai/harbor-12b-instruct'] as const

export type Token = { token_id: string; name: string }
export type Deployment = { deploy_id: string; model_name: string; status: string; type: string }
export type Batch = {
  id: string
  status: string
  output_file_id: string | null
  error_file_id: string | null
  metadata: { round: string } | null
}
type Row = {
  custom_id: string
  response: { body: { choices: [{ text: string }] } }
  error: { code: string } | null
}

/** Uploads a file with a completion for each id. Returns the id of the file. */
export async function uploadLines(context: FlowContext, prompts: Readonly<Record<string, string>>, model = MODELS[1]) {
  const lines = Object.entries(prompts).map(([id, prompt]) =>
    JSON.stringify(batchLine(id, { model, prompt, max_tokens: 8 }, '/v1/completions')),
  )
  return (await must<{ id: string }>(context, 'POST', '/v1/files', batchFile(lines.join('\n')))).id
}

/** The body of a create of a batch. */
export const batchOf = (input_file_id: string, more: object = {}) => ({
  ...{ input_file_id, endpoint: '/v1/completions', completion_window: '24h' },
  ...more,
})

/** Reads a batch every ten minutes until it has one of the statuses. */
export async function pollBatch(context: FlowContext, batch: Batch, ...ends: readonly string[]): Promise<Batch> {
  let last = batch
  while (!ends.includes(last.status)) {
    await context.sleep(600_000)
    last = await must<Batch>(context, 'GET', `/v1/batches/${batch.id}`)
  }
  return last
}

/** Downloads the rows of a file. */
export async function rowsIn(context: FlowContext, file: string | null): Promise<Row[]> {
  return file === null ? [] : rowsOf(await (await sendTo(context, `GET /v1/files/${file}/content`)).text())
}
