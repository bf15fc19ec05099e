import * as z from 'zod'
import { LIMITS } from '../../../lib/limits.ts'
import { refuse } from '../../../service/refusals.ts'
import { type CodedRequest, writeCode } from '../../../simulator/history/export/request-code.ts'
import type { Past } from '../../../simulator/history/past/past.ts'
import { isControlRequest } from '../../../simulator/observer.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { DEFAULT_WORLD } from '../../worlds/served-world.ts'
import { control } from '../endpoint.ts'
import { toRequestView } from '../event-views.ts'
import { ContentSchema, describeWire, isLost, showContent } from './shown-content.ts'

export const getRequest = control({
  route: 'GET /_sim/requests/{seq}',
  summary:
    'Return the headers and the body of a request and of its answer, from the past of the world. `seq` is that of ' +
    'the list of requests. If the past does not have them, `reason` says why',
  example: { target: '/_sim/requests/2' },
  refusals: { 404: 'a seq that is not a request of a client' },
  returns: z.object({
    seq: z.int(),
    method: z.string().nullable(),
    path: z.string().nullable().describe('Path and query'),
    sent: ContentSchema.nullable().describe('null if the past does not have it'),
    answer: ContentSchema.extend({
      status: z.int().describe('0: a fault left the client without a response'),
      fault: z.string().nullable().describe('What a fault did to the answer on its way'),
    })
      .nullable()
      .describe('null if the past does not have it, or before there is one'),
    code: z
      .record(z.string(), z.string())
      .describe('The request as curl, fetch, vitest, pytest and scenario step. The token is a variable'),
    kept: z.boolean().describe('Whether the past of the world is kept'),
    reason: z.string().nullable().describe('Why sent or answer is null, and what to do'),
  }),
  handle: ({ params, sim, worlds, pasts, request }) => {
    const seq = requireRequest(sim, params.seq)
    const past = pasts.of(sim)
    const kept = past?.requestOf(seq)
    const world = worlds.findBySimulator(sim)?.name
    const { origin } = new URL(request.url)
    const address = world === undefined || world === DEFAULT_WORLD ? origin : `${origin}/_sim/worlds/${world}`
    if (kept === undefined) {
      const code = writeListed(sim, seq, { address })
      const reason = whyMissing(past, seq)
      return { seq, method: null, path: null, sent: null, answer: null, code, kept: past !== undefined, reason }
    }
    const { line, body, answer, content } = kept
    const sent = showContent(sim, line.headers, body)
    const shown = answer && {
      ...showContent(sim, answer.headers ?? {}, content),
      status: isLost(answer.wire) ? 0 : answer.status,
      fault: describeWire(answer.wire) ?? null,
    }
    return {
      ...{ seq, method: line.method, path: line.path },
      sent,
      answer: shown ?? null,
      code: sent.note === null ? writeListed(sim, seq, { address, content: sent }) : {},
      kept: true,
      reason: shown === undefined ? 'The request has no answer yet. Move the time of its world.' : null,
    }
  },
})

interface Given {
  readonly address: string
  /** What the past has of the request. */
  readonly content?: { readonly headers: Readonly<Record<string, string>>; readonly body: unknown }
}

/** Returns a received request as code. Nothing if it is no longer listed, or if its body is not whole. */
function writeListed(sim: Simulator, seq: number, { address, content }: Given): Record<string, string> {
  const received = sim.requests.find(request => request.seq === seq)
  if (received === undefined) return {}
  const { method, path, status, client, body: listed } = toRequestView(received, sim, LIMITS.requestBody)
  if (content === undefined && typeof listed === 'string' && listed.length >= LIMITS.requestBody) return {}
  const { headers = {}, body = listed ?? null } = content ?? {}
  // Without a past, the answer alone tells whether a token is missing: some are given before the token is read.
  const isAnonymous = client === '' && (status === 401 || status === 403)
  const hasToken = content === undefined ? !isAnonymous : 'authorization' in headers
  return writeCode({ address, method, path, status, headers, body, hasToken, world: beginOf(sim) })
}

/** Returns the fixture and the seed of a world, as far as they have a name and are not the default. */
function beginOf({ fixture, seed }: Simulator): CodedRequest['world'] {
  const isNamed = /^[A-Za-z0-9][\w-]*$/.test(fixture) && !['default', 'given'].includes(fixture)
  return { ...(isNamed && { fixtures: fixture }), ...(seed !== '1' && { seed }) }
}

/** Returns the position of a request of a client. Refuses another one. */
function requireRequest(sim: Simulator, text: string): number {
  const problem = `Failed to read the request '${text}'`
  const advice = 'Give a seq of GET /_sim/requests.'
  const { journal } = sim.world
  const seq = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (seq < 1 || seq > journal.last) refuse(404, `${problem}: unknown request. ${advice}`)
  const [entry] = journal.entries(seq - 1, seq)
  if (entry !== undefined && isControlRequest(entry)) {
    refuse(404, `${problem}: the control plane got it, not the service. ${advice}`)
  }
  if (entry !== undefined && entry.kind !== 'request') {
    refuse(404, `${problem}: the journal entry ${seq} is ${entry.kind}, no request. ${advice}`)
  }
  return seq
}

/** Says why the past does not have a request, and what to do. */
function whyMissing(past: Past | undefined, seq: number): string {
  if (past === undefined) {
    return 'The past of this world is not kept. Send POST /_sim/past: it keeps the requests that come later.'
  }
  const { state } = past
  if (state === undefined) return 'The past begins when the requests in progress have ended. Read a later request.'
  if (seq > state.entry) return 'The past does not have this request, because no client sent it.'
  const when = state.droppedInputs > 0 ? 'Its oldest part is dropped' : 'It began later'
  return (
    `The past of this world has the journal entries from ${state.entry + 1} on. ${when}. ` +
    'Read a later request, or start the server with --open: its past begins with the world.'
  )
}
