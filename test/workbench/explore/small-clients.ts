/** Small clients of explore's tests: their requests, the faults that they meet, and the invariants that they break. */
import { expect } from 'vitest'
import type { FlowContext, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'

export type Run = (context: FlowContext) => Promise<unknown>

/** Returns the names of the invariants that a client breaks in a run with a plan. */
export async function brokenBy(run: Run, plan: Plan, options: FlowOptions = {}): Promise<string[]> {
  const runner = createFlowRunner({ name: 'client', options: { fixtures: 'empty', seed: 1, ...options }, run })
  try {
    expect((await runner.run([])).broken).toEqual([])
    return (await runner.run(plan)).broken.map(({ invariant }) => invariant)
  } finally {
    await runner.dispose()
  }
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
