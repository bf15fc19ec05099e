import * as z from 'zod'
import { hideSecrets } from '../../evidence/requests/secrets.ts'
import { parseJsonOrText } from '../../lib/json-text.ts'
import { refuse } from '../../service/refusals.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { CONTROL_PROVENANCE, control } from '../endpoint.ts'
import { tokenRedactor } from '../token-redactor.ts'

/** The longest text of an answer, in characters. The rest is left out. */
const MAX_ANSWER = 1_000_000

export const sendRequest = control({
  ...CONTROL_PROVENANCE,
  route: 'POST /_sim/requests',
  summary:
    'Send a request to the service as a client of this world. client is the id of an API token. Default: the first token. ' +
    'A stream is answered as text when it ends',
  example: { body: { method: 'GET', path: '/deploy/list' } },
  refusals: { 400: 'a path of the control plane, an invalid method or header', 404: 'an unknown token' },
  body: z.strictObject({
    method: z.string().default('GET'),
    path: z.string(),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.unknown().optional(),
    client: z.string().optional(),
  }),
  returns: z.object({
    seq: z.int().nullable().describe('Position of its entry in the journal; null if no entry was kept'),
    status: z.int().describe('0: a fault left the client without a response'),
    headers: z.record(z.string(), z.string()),
    body: z.unknown().describe('JSON or text, without credentials'),
    now: z.string().describe('The time of the world after the answer'),
  }),
  handle: async ({ body: { method, path, headers = {}, body, client }, sim, actAsRequest }) => {
    if (!path.startsWith('/') || /^\/_sim([/?]|$)/.test(path)) {
      refuse(
        400,
        `Failed to send a request to '${path}': it is no path of the service. Give one, as in '/deploy/list'.`,
      )
    }
    const before = sim.world.journal.last
    const request = toRequest(sim, method, path, headers, body, client)
    const answer = await readResponse(() => actAsRequest(() => sim.fetch(request)))
    const sent = sim.world
      .journalEntries(before)
      .find(entry => entry.kind === 'request' && isSameRequest(entry, request))
    const redact = tokenRedactor(sim)
    const text = redact(answer.text)
    const parsed = parseJsonOrText(text)
    return {
      seq: sent?.seq ?? null,
      status: answer.status,
      headers: Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, redact(value)])),
      body: typeof parsed === 'string' ? cut(parsed) : hideSecrets(parsed),
      now: sim.clock.iso,
    }
  },
})

function toRequest(
  sim: Simulator,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  client: string | undefined,
): Request {
  const tokens = sim.world.store.tokens.all()
  const token =
    client === undefined ? tokens[0] : tokens.find(({ token_id, name }) => token_id === client || name === client)
  if (token === undefined && client !== undefined) {
    refuse(
      404,
      `Failed to send a request as '${client}': unknown API token. Give the id or the name of a token of this world.`,
    )
  }
  try {
    const sent = new Headers(headers)
    if (token !== undefined && !sent.has('authorization')) sent.set('authorization', `Bearer ${token.token}`)
    if (body !== undefined && !sent.has('content-type')) sent.set('content-type', 'application/json')
    const content = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
    return new Request(`http://sim${path}`, { method, headers: sent, ...(content !== undefined && { body: content }) })
  } catch (error) {
    return refuse(400, `Failed to send the request: ${(error as Error).message.replace(/\.*$/, '')}. Change it.`)
  }
}

/** Returns what a client gets. A fault that breaks the connection leaves it without a response. */
async function readResponse(send: () => Promise<Response>) {
  try {
    const response = await send()
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() }
  } catch (error) {
    return { status: 0, headers: {}, text: (error as Error).message }
  }
}

function isSameRequest({ subject }: { readonly subject: string }, request: Request): boolean {
  return subject.startsWith(`${request.method} ${new URL(request.url).pathname}`)
}

function cut(text: string): string {
  return text.length <= MAX_ANSWER ? text : `${text.slice(0, MAX_ANSWER)}…`
}
