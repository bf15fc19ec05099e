/** What an explanation needs to know of a thing with an id or a name. */

import type { Entry } from '../../kernel/journal.ts'

/** What an id can name. */
export const THING_KINDS = [
  ...(['deployment', 'instance', 'hosted', 'container', 'batch', 'batch_line', 'file', 'node', 'token'] as const),
  ...(['account', 'fault', 'scenario', 'model', 'answer', 'gpu_type', 'zone', 'pool'] as const),
  ...(['voice', 'ssh_key', 'repository', 'other'] as const),
] as const
export type ThingKind = (typeof THING_KINDS)[number]

/** A thing with an id or a name. */
export interface Thing {
  readonly kind: ThingKind
  /** The id. A name gives the id of its thing. */
  readonly id: string
  /** What it is, and its state. */
  readonly sentences: readonly string[]
  /** Whether its state is final: no event changes it. */
  readonly isOver?: boolean
  /** Tells whether a journal entry is about it. */
  isOwn(entry: Entry): boolean
  /** Tells whether one of these entries decided its present state. Default: each of them. */
  decides?(entry: Entry): boolean
  /** Tells whether an entry began what it waits for, whatever that entry is about. */
  began?: ((entry: Entry) => boolean) | undefined
}
