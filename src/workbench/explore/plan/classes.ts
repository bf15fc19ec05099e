/** The classes of faults that a client can see in the answer to one request. */

import type { AnyEndpoint, Operations } from '../../../service/endpoint.ts'
import { FAULT_KINDS } from '../../../simulator/faults/kinds/index.ts'
import type { FaultKind } from '../../../simulator/faults/kinds/kind.ts'
import type { Fault, FaultRule } from '../../../simulator/faults/rules.ts'
import type { Coordinate } from './coordinates.ts'
import { WHOLE_RUN } from './plan.ts'

/** How a client sees a request that met a fault. `refusal`: to ask again does not help. `ok`: an answer that looks right. */
export type SeenAs = 'transient' | 'refusal' | 'silence' | 'ok'

/** Why no client can survive a fault without help of the service. A violation after it is reported apart. */
export interface Surface {
  readonly reason: string
  /** The rules that the reason is about. Default: all. */
  readonly rules?: ReadonlySet<string>
}

interface ClassDeclaration {
  readonly name: string
  readonly fault: Fault
  readonly seenAs: SeenAs
  /** Whether the service has carried out the request when the client meets the fault. */
  readonly effect: 'before' | 'after'
  /** Whether the fault can last: that of an outage. */
  readonly canLast?: true
  /**
   * It strikes the first request of an operation alone: of a stream, of a model, one that is read for its answer, one whose
   * answer is text, or any.
   */
  readonly firstOf?: 'stream' | 'model' | 'answer' | 'text' | 'any'
  /** Whether it strikes a stream after two thirds of its events. */
  readonly isLate?: true
  /** False: no temporary fault, so the client may end with an error. */
  readonly passes?: false
  /** Tried only if the option `classes` names it: many careful clients do not know this form. */
  readonly isByName?: true
  readonly maySurface?: Surface
}

const REFUSED = { seenAs: 'transient', effect: 'before', canLast: true } as const
const DONE = { seenAs: 'transient', effect: 'after' } as const
const FIRST = { seenAs: 'ok', effect: 'after', firstOf: 'any' } as const
const LATE_IN_STREAM = { ...FIRST, firstOf: 'stream', isLate: true } as const
const REFUSED_FIRST = { seenAs: 'transient', effect: 'before', firstOf: 'any' } as const
const LABELLED_JSON = { 'content-type': 'application/json' }

/** The classes in the order of simplicity: a shrunk plan prefers the earlier one. */
const DECLARATIONS = [
  { name: 'status503', fault: { kind: 'status', status: 503 }, ...REFUSED },
  { name: 'rateLimit', fault: { kind: 'rateLimit', retryAfter: '20s' }, ...REFUSED },
  { name: 'reset', fault: { kind: 'reset' }, ...REFUSED },
  { name: 'refused', fault: { kind: 'refused' }, ...REFUSED },
  { name: 'html', fault: { kind: 'html', status: 502 }, ...REFUSED },
  { name: 'status503Done', fault: { kind: 'status', status: 503, effect: 'done' }, ...DONE },
  { name: 'resetDone', fault: { kind: 'reset', effect: 'done' }, ...DONE },
  { name: 'empty', fault: { kind: 'empty' }, ...DONE },
  { name: 'truncated', fault: { kind: 'truncated' }, ...DONE },
  { name: 'garbled', fault: { kind: 'garbled' }, ...DONE },
  { name: 'hang', fault: { kind: 'hang' }, seenAs: 'silence', effect: 'before', canLast: true },
  { name: 'hangDone', fault: { kind: 'hang', effect: 'done' }, seenAs: 'silence', effect: 'after' },
  { name: 'latency', fault: { kind: 'latency', delay: '30s' }, seenAs: 'ok', effect: 'after' },
  { name: 'stale', fault: { kind: 'stale', lag: '30s', reads: 'all' }, seenAs: 'ok', effect: 'after' },
  {
    name: 'rateLimitDate',
    fault: { kind: 'rateLimit', retryAfter: '20s', as: 'date' },
    ...REFUSED_FIRST,
    isByName: true,
  },
  {
    name: 'html200',
    fault: { kind: 'html', status: 200, headers: LABELLED_JSON },
    ...REFUSED_FIRST,
    firstOf: 'answer',
  },
  { name: 'forbidden', fault: { kind: 'status', status: 403 }, ...REFUSED_FIRST, seenAs: 'refusal', passes: false },
  { name: 'endsEarly', fault: { kind: 'truncated', end: 'close' }, ...DONE, firstOf: 'text' },
  { name: 'slowBody', fault: { kind: 'slowBody', bytesPerSecond: 50 }, ...FIRST },
  { name: 'silentBody', fault: { kind: 'truncated', bytes: 0, end: 'silence' }, ...FIRST, seenAs: 'silence' },
  { name: 'coldStart', fault: { kind: 'latency', delay: '90s' }, ...FIRST, firstOf: 'model' },
  { name: 'streamError', fault: { kind: 'stream' }, ...FIRST, firstOf: 'stream' },
  { name: 'streamEnd', fault: { kind: 'stream', end: 'close' }, ...LATE_IN_STREAM },
  { name: 'streamSilence', fault: { kind: 'stream', end: 'silence' }, ...LATE_IN_STREAM, seenAs: 'silence' },
  {
    name: 'duplicate',
    fault: { kind: 'duplicate' },
    seenAs: 'ok',
    effect: 'after',
    maySurface: {
      reason: 'the service has no idempotency key, so a client cannot prevent that a request is carried out twice',
    },
  },
  {
    name: 'drift',
    fault: { kind: 'drift', change: 'missingField' },
    seenAs: 'ok',
    effect: 'after',
    maySurface: { reason: 'the answer breaks the interface document, so a client cannot know what it means' },
  },
] as const satisfies readonly ClassDeclaration[]

export type FaultClassName = (typeof DECLARATIONS)[number]['name'] | 'variations'

/**
 * Forms that the service may always have, each in a run of its own. CRLF is left out: no reader of streams that was tried
 * takes it. All events of a stream come in one read anyway.
 */
const VARIATIONS = ['comments', 'usage', 'pieces', 'retryDate', 'fields', 'keys', 'rows'] as const

/** Returns the faults that vary the answers to some requests from their first one on. */
export function variationsOf(coordinates: readonly Coordinate[], endpoints: Operations): Omit<FaultRule, 'name'>[] {
  const { appliesTo } = FAULT_KINDS.variation
  return VARIATIONS.flatMap(form => {
    const fault = { kind: 'variation', form } as const
    const varied = coordinates.filter(({ operation, isStream, seen, method }) => {
      const endpoint = endpoints[operation]! as AnyEndpoint
      if (form === 'retryDate') return /^(?:429|503)/.test(seen)
      if (form === 'rows' && method !== 'GET') return false
      const needsStream = ['comments', 'usage', 'pieces'].includes(form) && endpoint.streamEvent !== undefined
      return (isStream || !needsStream) && appliesTo!(fault, endpoint)
    })
    const on = [...new Set(varied.map(({ operation }) => operation))]
    return on.length === 0 ? [] : [{ on, nth: 1, for: WHOLE_RUN, fault }]
  })
}

/** Returns the fault that fails a line in the middle of the first batch. Of two lines, it is the second. */
export function failedLineOf(lines: number): Omit<FaultRule, 'name'> & { readonly nth: number } {
  return { on: '*', in: 'batch', nth: (lines >> 1) + 1, fault: { kind: 'status', status: 500 } }
}

/** Returns the fault that lets each page of the lists that were read say that there is more; undefined without such a list. */
export function endlessPagesOf(
  coordinates: readonly Coordinate[],
  endpoints: Operations,
): Omit<FaultRule, 'name'> | undefined {
  const fault = { kind: 'drift', change: 'trueBoolean', field: 'has_more' } as const
  const paged = coordinates.filter(({ operation }) => FAULT_KINDS.drift.appliesTo!(fault, endpoints[operation]!))
  const on = [...new Set(paged.map(({ operation }) => operation))]
  return on.length === 0 ? undefined : { on, nth: 1, for: WHOLE_RUN, fault }
}

/** A class of faults. Its position in `FAULT_CLASSES` is its rank: simple classes come first. */
export interface FaultClass extends ClassDeclaration {
  readonly name: FaultClassName
}

export const FAULT_CLASSES: readonly FaultClass[] = DECLARATIONS

/** The classes that are tried by default. */
export const DEFAULT_CLASSES = FAULT_CLASSES.filter(({ isByName }) => isByName !== true)

/**
 * Returns whether a class differs, for a client, from the simpler classes at this endpoint. The work of a read leaves
 * nothing, so a fault after it is the fault before it.
 */
export function appliesTo({ fault, effect }: FaultClass, endpoint: AnyEndpoint): boolean {
  const isRead = endpoint.method === 'GET'
  if (isRead && effect === 'after' && ('effect' in fault || fault.kind === 'duplicate')) return false
  const kind = FAULT_KINDS[fault.kind] as unknown as FaultKind
  return kind.appliesTo === undefined || kind.appliesTo(kind.schema.parse(fault), endpoint)
}

/** Returns the classes that can strike a request, in the order of simplicity. */
export function classesOf(
  endpoint: AnyEndpoint,
  { isStream, nthOfOperation }: Pick<Coordinate, 'isStream' | 'nthOfOperation'>,
  classes: readonly FaultClass[],
): FaultClass[] {
  const isModel = endpoint.acceptsScopedTokens
  // Of a write, the status says enough.
  const answer = isModel || endpoint.method === 'GET'
  // Sound without a length does not tell that it is a part.
  const text = answer && !isStream && (endpoint.produces === 'application/json' || endpoint.fileLine !== undefined)
  const isOf = { stream: isStream, model: isModel, answer, text, any: true }
  return classes.filter(
    one => (one.firstOf === undefined || (nthOfOperation === 1 && isOf[one.firstOf])) && appliesTo(one, endpoint),
  )
}
