/** Runs the code of the editor against a simulator. */

import { parseJsonOrText } from '../../lib/json-text.ts'
import { shellQuote } from '../../lib/quote.ts'
import type { Connection } from '../page/store/connection.ts'
import { PAGE_ORIGIN } from '../saved-page/connect.ts'

export interface CodeRun {
  /** Called with each line that the code prints. */
  onPrint(line: string): void
  /** Called with each request, as a command line for a server with the same world. */
  onCurl(curl: string): void
}

/** The names that the code can use. */
const NAMES = ['get', 'post', 'send', 'print'] as const

/**
 * Runs code as the body of an async function. Its requests have the token of the world.
 *
 * @throws SyntaxError for code that is not JavaScript, and the errors of the code
 */
export async function runCode(code: string, connection: Connection, token: string, run: CodeRun): Promise<void> {
  const send = async (method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> => {
    const isControl = /^\/_sim(?!\/worlds\/\w+\/(?!_sim))/.test(path)
    const json = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      ...(!isControl && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
    }
    run.onCurl(curlOf(method, path, json, isControl ? undefined : token))
    const response = await connection.send(path, { method, headers, ...(json !== undefined && { body: json }) })
    return { status: response.status, body: parseJsonOrText(await response.text()) }
  }
  const sendAndRequire = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await send(method, path, body)
    if (answer.status < 400) return answer.body
    throw new Error(`${method} ${path} is answered with ${answer.status}: ${format(answer.body)}`)
  }
  const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<void>
  const play = new AsyncFunction(...NAMES, `'use strict'\n${code}`)
  const get = (path: string) => sendAndRequire('GET', path)
  const post = (path: string, body?: unknown) => sendAndRequire('POST', path, body)
  await play(get, post, send, (...values: readonly unknown[]) => run.onPrint(values.map(format).join(' ')))
}

function format(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? String(value))
}

function curlOf(method: string, path: string, json: string | undefined, token: string | undefined): string {
  const flags = [
    ...(method === 'GET' || (method === 'POST' && json !== undefined) ? [] : [`-X ${method}`]),
    ...(token === undefined ? [] : [`-H ${shellQuote(`authorization: Bearer ${token}`)}`]),
    ...(json === undefined ? [] : [`--json ${shellQuote(json)}`]),
  ]
  return ['curl', ...flags, shellQuote(PAGE_ORIGIN + path)].join(' ')
}
