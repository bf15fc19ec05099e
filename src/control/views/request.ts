import * as z from 'zod'
import { isControlRequest } from '../../evidence/explain/kind-sentences.ts'
import type { Past } from '../../evidence/past/past.ts'
import { describeWire, isLost, type ShownContent, showContent } from '../../evidence/requests/shown-content.ts'
import { formatCount } from '../../lib/format-count.ts'
import { LIMITS } from '../../limits.ts'
import { refuse } from '../../service/refusals.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { CONTROL_PROVENANCE, control } from '../endpoint.ts'
import { tokenRedactor } from '../token-redactor.ts'

const ContentSchema = z.object({
  headers: z.record(z.string(), z.string()).describe('Foreign credentials are hashes, and tokens are shortened'),
  body: z.unknown().describe('JSON or text, without credentials; null without a body, or if it is no text'),
  bytes: z.int().describe('The size of the body'),
  note: z.string().nullable().describe('Why body is not the whole body; null if it is'),
})

export const getRequest = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/requests/{seq}',
  summary:
    'Return the headers and the body of a request and of its answer, from the past of the world. seq is that of ' +
    'GET /_sim/requests. If the past does not have them, reason says why',
  example: { target: '/_sim/requests/2' },
  refusals: { 404: 'a seq that is no request of a client' },
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
    kept: z.boolean().describe('Whether the past of the world is kept'),
    reason: z.string().nullable().describe('Why sent or answer is null, and what to do'),
  }),
  handle: ({ params, sim, pasts }) => {
    const seq = requireRequest(sim, params.seq)
    const past = pasts.of(sim)
    const kept = past?.requestOf(seq)
    if (kept === undefined) {
      const reason = whyMissing(past, seq)
      return { seq, method: null, path: null, sent: null, answer: null, kept: past !== undefined, reason }
    }
    const redact = tokenRedactor(sim)
    const { line, body, isWhole, answer, content } = kept
    const sent = copy(showContent(line.headers, body, redact))
    const shown = answer && {
      ...copy(showContent(answer.headers ?? {}, content, redact)),
      status: isLost(answer.wire) ? 0 : answer.status,
      fault: describeWire(answer.wire) ?? null,
    }
    return {
      ...{ seq, method: line.method, path: redact(line.path) },
      sent: isWhole ? sent : { ...sent, note: BEGIN_ONLY },
      answer: shown ?? null,
      kept: true,
      reason: shown === undefined ? 'The request has no answer yet. Move the time of its world.' : null,
    }
  },
})

/** A body that no endpoint has read. */
const BEGIN_ONLY = `only the first ${formatCount(LIMITS.requestBody)} characters are kept`

/** Returns the position of a request of a client. Refuses another one. */
function requireRequest(sim: Simulator, text: string): number {
  const problem = `Failed to read the request '${tokenRedactor(sim)(text)}'`
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

function copy({ headers, ...content }: ShownContent) {
  return { ...content, headers: { ...headers } }
}
