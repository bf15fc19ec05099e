/** Headers and bodies of a recorded request and its answer, for people: bounded, and without credentials. */

import * as z from 'zod'
import { formatDuration } from '../../../kernel/duration.ts'
import { tryParseJson } from '../../../lib/json-text.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { formatCount } from '../../../lib/text/numbers.ts'
import { isTooDeep } from '../../../service/http/bodies/json-body.ts'
import type { WireOutcome } from '../../../simulator/faults/wire-faults.ts'
import { decodeBody } from '../../../simulator/history/bodies.ts'
import type { RecordedBody } from '../../../simulator/history/lines.ts'
import { hideSecretsIn } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator-interface.ts'

/** The headers and the body of one side of a request. */
export const ContentSchema = z.object({
  headers: z.record(z.string(), z.string()).describe('Credentials are hidden'),
  body: z.unknown().describe('JSON or text, without credentials; null without a body, or if it is not a text'),
  bytes: z.int().describe('The size of the body'),
  note: z.string().nullable().describe('Why body is not the whole body; null if it is'),
})
type ShownContent = Readonly<z.output<typeof ContentSchema>>

/** Returns headers and a body as they are shown. */
export function showContent(
  sim: Simulator,
  headers: Readonly<Record<string, string>>,
  body: RecordedBody | undefined,
): ShownContent {
  return { headers: hideSecretsIn(sim, headers), ...showBody(sim, body) }
}

function showBody({ world }: Simulator, body: RecordedBody | undefined): Omit<ShownContent, 'headers'> {
  if (body === undefined || body === null || body === '') return { body: null, bytes: 0, note: null }
  if (typeof body === 'string') {
    const bytes = new TextEncoder().encode(body).length
    const parsed = isTooDeep(body) ? undefined : tryParseJson(body)
    const text = world.apiTokens.hideSecrets(parsed === undefined ? body : JSON.stringify(parsed))
    const shownBody = LIMITS.shownBody
    if (text.length <= shownBody) return { body: parsed === undefined ? text : JSON.parse(text), bytes, note: null }
    return { body: text.slice(0, shownBody), bytes, note: `only the first ${formatCount(shownBody)} characters` }
  }
  if ('bytes' in body) return { body: null, bytes: body.bytes, note: 'a long answer is not kept, only its size' }
  return { body: null, bytes: decodeBody(body)!.length, note: 'it is not a text' }
}

const WIRE_WORDS: {
  readonly [Kind in WireOutcome['kind']]: (outcome: Extract<WireOutcome, { readonly kind: Kind }>) => string
} = {
  reset: () => 'the connection was reset before the answer',
  refused: () => 'the connection was refused',
  hang: () => 'the answer never came',
  delayed: ({ delay }) => `the answer came ${formatDuration(delay)} later`,
  cut: ({ after }) => `the connection broke after ${formatCount(after)} bytes of the body`,
  silent: () => 'nothing came after the body, and the connection stayed open',
  slow: ({ bytesPerSecond }) => `the body came with ${formatCount(bytesPerSecond)} bytes per second`,
}

/** Says what a fault did to an answer on its way; undefined if the client got it at once and whole. */
export function describeWire(outcome: WireOutcome | undefined): string | undefined {
  return outcome && WIRE_WORDS[outcome.kind](outcome as never)
}

/** Whether a fault left the client without an answer. */
export function isLost(outcome: WireOutcome | undefined): boolean {
  return outcome?.kind === 'reset' || outcome?.kind === 'refused' || outcome?.kind === 'hang'
}
