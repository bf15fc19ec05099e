/** A world with its API, as the tests of this folder ask it. */
import { expect } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import type { Profile } from '../../src/data/profiles/load.ts'
import type { FixturePatch } from '../../src/data/records/fixture.ts'
import { BatchLineAnswerer } from '../../src/service/batch-line-answerer.ts'
import { type Client, createClient } from '../../src/service/client/client.ts'
import { Refusal } from '../../src/service/client/refusal.ts'
import { createApi } from '../../src/service/http/service.ts'
import { ScriptedAnswers } from '../../src/service/openai/scripted-answers.ts'
import { World } from '../../src/simulation/world.ts'

export const SECOND = 1_000_000

export interface Service {
  world: World
  client: Client
  /** Sends a request; a body that is not a string is sent as JSON. */
  ask(request: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
}

export interface Answered {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers
  body: any
  headers: Headers
}

export function service(
  fixture = 'default',
  patch?: FixturePatch,
  options: { maxStorageBytes?: number; profile?: Profile } = {},
): Service {
  const lineAnswers = new BatchLineAnswerer(new ScriptedAnswers(), false)
  const world = new World({
    fixture: loadFixture(fixture, patch && { patch }),
    seed: 1,
    lineAnswerer: lineAnswers,
    ...options,
  })
  const { token } = world.store.tokens.all()[0]!
  const api = createApi({
    onBug: error => {
      throw error
    },
  })
  const send = async (request: Request): Promise<Response> => {
    const before = world.digest
    const response = await api.answer(world, request)
    const operation = api.findOperationId(request.method, new URL(request.url).pathname)
    if (response.status >= 400) {
      expect(world.digest, 'a refused request changes nothing').toBe(before)
      const known = operation === undefined ? [404, 405] : [401, 403, 413, 415, 422]
      const declared = operation === undefined ? {} : (api.operations[operation]?.refusals ?? {})
      expect([...known, ...Object.keys(declared).map(Number)], 'a refusal is declared').toContain(response.status)
    } else if (operation !== undefined && request.method !== 'HEAD') {
      const { returns, produces } = api.operations[operation]!
      if (produces === 'application/json') returns.parse(await response.clone().json())
    }
    return response
  }
  return {
    world,
    client: createClient(send, { baseUrl: 'http://sim', token }),
    async ask(request, body, headers = { authorization: `Bearer ${token}` }) {
      const space = request.indexOf(' ')
      const [method, path] = [request.slice(0, space), request.slice(space + 1)]
      const content = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
      const init = { method, headers, ...(content !== undefined && { body: content }) }
      const response = await send(new Request(`http://sim${path}`, init))
      const text = await response.text()
      return { status: response.status, body: text === '' ? '' : JSON.parse(text), headers: response.headers }
    },
  }
}

/** Status and body of what a call of the client is refused with. */
export async function refusal(call: Promise<unknown>): Promise<[number, unknown]> {
  const outcome = await call.then(
    value => value,
    (error: unknown) => error,
  )
  if (outcome instanceof Refusal) return [outcome.status, outcome.body]
  throw outcome instanceof Error ? outcome : new Error(`expected a refusal, got ${JSON.stringify(outcome)}`)
}

/** Status and message of a refusal in any error shape. */
export async function refused(call: Promise<unknown>): Promise<[number, string]> {
  type Body = { error?: string | { message: string }; detail?: { error: string } }
  const [status, { error, detail }] = (await refusal(call)) as [number, Body]
  const message = typeof error === 'object' ? error.message : error
  return [status, message ?? detail?.error ?? JSON.stringify({ detail })]
}

/** Locations and types of a 422. */
export async function issues(call: Promise<unknown>): Promise<string[]> {
  const [status, body] = (await refusal(call)) as [number, { detail: { loc: string[]; type: string }[] }]
  expect(status).toBe(422)
  return body.detail.map(issue => `${issue.loc.join('/')} ${issue.type}`)
}
