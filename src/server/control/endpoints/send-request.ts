import * as z from 'zod'
import { parseJsonOrText } from '../../../lib/json-text.ts'
import type { IncomingRequest } from '../../../service/http/incoming-request.ts'
import { refuse } from '../../../service/refusals.ts'
import { encodeBytes } from '../../../simulator/history/bodies.ts'
import type { RecordedBody } from '../../../simulator/history/lines.ts'
import { createRequest } from '../../../simulator/history/replay/replayed-request.ts'
import type { WholeExchange } from '../../../simulator/history/timeline.ts'
import { restoreSecrets } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { type ControlScope, control, requireWorld } from '../endpoint.ts'
import { ContentSchema, showContent } from '../views/shown-content.ts'

export const sendRequest = control({
  route: 'POST /_sim/requests',
  summary:
    'Send a request to the service as a client of this world. `client` is the id of an API token. Default: the first ' +
    'token. `repeat` names a request of the past by its `seq`, and the `world` of that past (default: this one). ' +
    'That request is sent as it was then, with its token. The fields beside `repeat` change it. A header or a body ' +
    'that is null is left out. A stream is answered as text when it ends',
  example: { body: { method: 'GET', path: '/deploy/list' } },
  refusals: {
    400: 'a missing path, a path of the control plane, an invalid method or header, or client beside repeat',
    404: 'an unknown token or world',
    409: 'a past that does not have the request to repeat',
  },
  body: z.strictObject({
    method: z.string().optional(),
    path: z.string().optional(),
    headers: z.record(z.string(), z.string().nullable()).optional(),
    body: z.unknown().optional(),
    client: z.string().optional(),
    repeat: z.strictObject({ seq: z.int(), world: z.string().optional() }).optional(),
  }),
  returns: z.object({
    seq: z.int().nullable().describe('Position of its entry in the journal; null if no entry was kept'),
    status: z.int().describe('0: a fault left the client without a response'),
    ...ContentSchema.shape,
    now: z.string().describe('The time of the world after the answer'),
  }),
  handle: async ({ body: given, sim, worlds, pasts, actAsRequest, request: { signal } }) => {
    const kept = given.repeat && requireKept({ sim, worlds, pasts }, given.repeat)
    const sent = kept === undefined ? describeNew(sim, given) : describeRepeated(sim, given, kept)
    if (!sent.path.startsWith('/') || /^\/_sim([/?]|$)/.test(sent.path)) {
      refuse(
        400,
        `Failed to send a request to '${sent.path}': it is not a path of the service. Give one, as in '/deploy/list'.`,
      )
    }
    if (/^(GET|HEAD)$/i.test(sent.method) && given.body !== undefined && given.body !== null) {
      refuse(400, `Failed to send the request: a ${sent.method} has no body. Leave body or method out.`)
    }
    const request = toRequest(sent, signal)
    let seq: number | undefined
    const incoming: IncomingRequest = {
      path: sent.path,
      header: name => sent.headers[name.toLowerCase()] ?? null,
      ...(sent.address !== undefined && { clientAddress: sent.address }),
      // A fault can repeat a request.
      onAnswered: answered => {
        seq ??= answered.seq
      },
    }
    const answer = await readResponse(() => actAsRequest(() => sim.fetch(request, incoming)))
    const content = showContent(sim, answer.headers, answer.body)
    return { seq: seq ?? null, status: answer.status, ...content, now: sim.clock.iso }
  },
})

type GivenRequest = NonNullable<Parameters<typeof sendRequest.handle>[0]['body']>

/** A request as it is sent. Its headers have names in lower case. */
interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RecordedBody | undefined
  readonly address?: string | undefined
}

function describeNew(sim: Simulator, { method = 'GET', path, headers = {}, body, client }: GivenRequest): SentRequest {
  if (path === undefined) {
    refuse(400, "Failed to send a request: path is missing. Give a path, as in '/deploy/list', or repeat.")
  }
  const content = toContent(body)
  const token = findToken(sim, client)
  const defaults = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(content !== undefined && { 'content-type': 'application/json' }),
  }
  return { method, path, headers: withHeaders(defaults, headers), body: content }
}

/** Returns a request of the past with the given changes. */
function describeRepeated(
  sim: Simulator,
  { method, path, headers = {}, body, client }: GivenRequest,
  kept: WholeExchange,
): SentRequest {
  if (client !== undefined) {
    refuse(400, 'Failed to repeat a request: it has the token of its client. Leave client or repeat out.')
  }
  const { line } = kept
  const { 'content-length': length, 'transfer-encoding': encoding, ...others } = line.headers
  const isSameBody = body === undefined
  const own = isSameBody ? line.headers : others
  const original = typeof kept.body === 'string' ? parseJsonOrText(kept.body) : undefined
  return {
    ...{ method: method ?? line.method, path: path ?? line.path, headers: withHeaders(own, headers) },
    ...{ body: isSameBody ? kept.body : toContent(restoreSecrets(sim, body, original)), address: line.address },
  }
}

function requireKept(
  { sim, worlds, pasts }: Pick<ControlScope, 'sim' | 'worlds' | 'pasts'>,
  { seq, world }: NonNullable<GivenRequest['repeat']>,
): WholeExchange {
  const origin = world === undefined ? sim : requireWorld(worlds, world).sim
  const kept = pasts.of(origin)?.requestOf(seq)
  if (kept !== undefined) return kept
  const where = world === undefined ? '' : ` of '${world}'`
  return refuse(
    409,
    `Failed to repeat the request ${seq}: the past${where} does not have it. GET /_sim/requests/${seq} says why.`,
  )
}

/** Returns the token of a client; undefined if the world has none. */
function findToken(sim: Simulator, client: string | undefined): string | undefined {
  const tokens = sim.world.store.tokens.all()
  if (client === undefined) return tokens[0]?.token
  const found = tokens.find(({ token_id, name }) => token_id === client || name === client)
  if (found !== undefined) return found.token
  return refuse(
    404,
    `Failed to send a request as '${client}': unknown API token. Give the id or the name of a token of this world.`,
  )
}

/** Returns headers with changes to them. `null` leaves one out. */
function withHeaders(
  headers: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const all = {
    ...headers,
    ...Object.fromEntries(Object.entries(changes).map(([name, value]) => [name.toLowerCase(), value])),
  }
  return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, value]])))
}

function toContent(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function toRequest({ method, path, headers, body }: SentRequest, signal: AbortSignal): Request {
  try {
    return createRequest({ request: 0, at: [0, 0], method, path, headers }, body, signal)
  } catch (error) {
    return refuse(400, `Failed to send the request: ${(error as Error).message.replace(/\.*$/, '')}. Change it.`)
  }
}

/** Returns what a client gets. A fault that breaks the connection leaves it without a response. */
async function readResponse(send: () => Promise<Response>) {
  try {
    const response = await send()
    const bytes = new Uint8Array(await response.arrayBuffer())
    return { status: response.status, headers: Object.fromEntries(response.headers), body: encodeBytes(bytes) }
  } catch (error) {
    return { status: 0, headers: {}, body: (error as Error).message }
  }
}
