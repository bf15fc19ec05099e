/** Requests to a running server. */

import { tryParseJson } from '../lib/json-text.ts'
import { CONTROL_TOKEN_HEADER } from '../server/control/guards.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../server/http/server.ts'
import { UsageError } from './command.ts'
import { type ArgumentsOf, flag } from './flags.ts'
import { filledText } from './values.ts'

/** The flags with the address of the server. */
export const SERVER_FLAGS = {
  url: flag(
    'URL of the server, or the base_url of one of its worlds',
    filledText,
    `http://${DEFAULT_HOST}:${DEFAULT_PORT}`,
  ),
  'control-token': flag('Token of the control plane; required by a server that listens beyond loopback'),
}

export type ServerArguments = Pick<ArgumentsOf<typeof SERVER_FLAGS>, 'url'> & Partial<ArgumentsOf<typeof SERVER_FLAGS>>

/**
 * Sends a request to the control plane of a running server.
 *
 * @param what the requested thing, for errors: `a report`
 * @param type expected content type of the answer
 * @throws UsageError if no server answers, the request is refused, or another program answers
 */
export async function requestServer(
  { url, controlToken }: ServerArguments,
  path: string,
  what: string,
  init: RequestInit = {},
  type = 'application/json',
): Promise<Response> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(
      `Failed to read --url '${url}': invalid URL. Give the URL of a server, as in --url http://${DEFAULT_HOST}:${DEFAULT_PORT}.`,
    )
  }
  const headers = new Headers(init.headers)
  if (controlToken !== undefined) headers.set(CONTROL_TOKEN_HEADER, controlToken)
  let answer: Response
  try {
    answer = await fetch(`${url.replace(/\/+$/, '')}/_sim/${path}`, { ...init, headers })
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } }
    throw new UsageError(
      `Failed to ask ${url} for ${what}: no server answers there${cause?.code ? ` (${cause.code})` : ''}. ` +
        'Start one with modelhost-sim serve, or give its address with --url.',
    )
  }
  if (answer.ok && answer.headers.get('content-type')?.split(';', 1)[0] === type) return answer
  const { error } = (tryParseJson(await answer.text()) ?? {}) as { error?: unknown }
  throw typeof error === 'string' && error.startsWith('Failed to ')
    ? new UsageError(error)
    : notSimulatorError(url, what, answer.status)
}

/**
 * Asks the control plane of a running server for a JSON object.
 *
 * @param what the requested thing, for errors: `a report`
 * @param field a field that the object has: another program may answer something else
 * @throws UsageError as `requestServer` does
 */
export async function askServer<Body>(
  server: ServerArguments,
  path: string,
  what: string,
  field: keyof Body & string,
): Promise<Body> {
  const answer = await requestServer(server, path, what)
  const body = tryParseJson(await answer.text())
  if (typeof body === 'object' && body !== null && field in body) return body as Body
  throw notSimulatorError(server.url, what, answer.status)
}

/** Returns the error for an answer of another program. */
export function notSimulatorError(url: string, what: string, status: number): UsageError {
  return new UsageError(
    `Failed to ask ${url} for ${what}: the server there (${status}) is not a modelhost-sim of this version. ` +
      'Give the address of one with --url.',
  )
}
