/** The classes of faults that a client can see in the answer to one request. */

import type { AnyEndpoint } from '../../../service/endpoint.ts'
import { FAULT_KINDS } from '../../../simulator/faults/kinds/index.ts'
import type { FaultKind } from '../../../simulator/faults/kinds/kind.ts'
import type { Fault } from '../../../simulator/faults/rules.ts'

/** How a client sees a request that met a fault. `ok`: an answer that looks right. */
export type SeenAs = 'transient' | 'silence' | 'ok'

interface ClassDeclaration {
  readonly name: string
  readonly fault: Fault
  readonly seenAs: SeenAs
  /** Whether the service has carried out the request when the client meets the fault. */
  readonly effect: 'before' | 'after'
  /** Whether the fault can last: that of an outage. */
  readonly canLast?: true
  /** Why no client can survive it without help of the service. A violation after it is reported apart. */
  readonly maySurface?: string
}

/** The classes in the order of simplicity: a shrunk plan prefers the earlier one. */
const DECLARATIONS = [
  { name: 'status503', fault: { kind: 'status', status: 503 }, seenAs: 'transient', effect: 'before', canLast: true },
  {
    name: 'rateLimit',
    fault: { kind: 'rateLimit', retryAfter: '20s' },
    seenAs: 'transient',
    effect: 'before',
    canLast: true,
  },
  { name: 'reset', fault: { kind: 'reset' }, seenAs: 'transient', effect: 'before', canLast: true },
  { name: 'refused', fault: { kind: 'refused' }, seenAs: 'transient', effect: 'before', canLast: true },
  { name: 'html', fault: { kind: 'html', status: 502 }, seenAs: 'transient', effect: 'before', canLast: true },
  {
    name: 'status503Done',
    fault: { kind: 'status', status: 503, effect: 'done' },
    seenAs: 'transient',
    effect: 'after',
  },
  { name: 'resetDone', fault: { kind: 'reset', effect: 'done' }, seenAs: 'transient', effect: 'after' },
  { name: 'empty', fault: { kind: 'empty' }, seenAs: 'transient', effect: 'after' },
  { name: 'truncated', fault: { kind: 'truncated' }, seenAs: 'transient', effect: 'after' },
  { name: 'garbled', fault: { kind: 'garbled' }, seenAs: 'transient', effect: 'after' },
  { name: 'hang', fault: { kind: 'hang' }, seenAs: 'silence', effect: 'before', canLast: true },
  { name: 'hangDone', fault: { kind: 'hang', effect: 'done' }, seenAs: 'silence', effect: 'after' },
  { name: 'latency', fault: { kind: 'latency', delay: '30s' }, seenAs: 'ok', effect: 'after' },
  { name: 'stale', fault: { kind: 'stale', lag: '30s', reads: 'all' }, seenAs: 'ok', effect: 'after' },
  {
    name: 'duplicate',
    fault: { kind: 'duplicate' },
    seenAs: 'ok',
    effect: 'after',
    maySurface: 'the service has no idempotency key, so a client cannot prevent that a request is carried out twice',
  },
  {
    name: 'drift',
    fault: { kind: 'drift', change: 'missingField' },
    seenAs: 'ok',
    effect: 'after',
    maySurface: 'the answer breaks the interface document, so a client cannot know what it means',
  },
] as const satisfies readonly ClassDeclaration[]

export type FaultClassName = (typeof DECLARATIONS)[number]['name']

/** A class of faults. Its position in `FAULT_CLASSES` is its rank: simple classes come first. */
export interface FaultClass extends ClassDeclaration {
  readonly name: FaultClassName
}

export const FAULT_CLASSES: readonly FaultClass[] = DECLARATIONS

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

/** Returns the classes of an endpoint in the order of simplicity. */
export function classesOf(endpoint: AnyEndpoint, classes: readonly FaultClass[] = FAULT_CLASSES): FaultClass[] {
  return classes.filter(one => appliesTo(one, endpoint))
}
