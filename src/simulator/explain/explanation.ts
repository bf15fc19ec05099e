import type { Entry } from '../../kernel/journal.ts'

/** Explanations: what a thing is, what decided it, what came of it, and what happens to it next. */

/** A journal entry with its sentences. */
export interface ExplainedEntry {
  /** Position in the journal. */
  readonly seq: number
  /** The time of the world, ISO 8601. */
  readonly at: string
  readonly kind: string
  readonly subject: string
  /** What happened, in one to three sentences. */
  readonly sentence: string
}

/** What happens next if no further request and no command changes it. */
export interface NextEvent {
  /** The time of the world, ISO 8601. */
  readonly at: string
  /** The time from now, as in `2m 5s`. */
  readonly in: string
  readonly sentence: string
}

/** The explanation of a thing, a request or a journal entry. */
export interface Explanation {
  /** The id or name; `request 4` for the fourth request, `entry 12` for a position in the journal. */
  readonly subject: string
  /** What it is and its state, what decided that, and who or what began the chain of causes. */
  readonly sentences: readonly string[]
  /** The entry that decided its state, then its causes back to the first. Repeated steps of a long chain are left out. */
  readonly chain: readonly ExplainedEntry[]
  /** What came of it, oldest first: at most 20 entries. */
  readonly effects: readonly ExplainedEntry[]
  /** Missing if nothing is planned that changes it. */
  readonly next?: NextEvent
}

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

/** Formats an explanation: its sentences, then its causes, its effects and what comes next. */
export function formatExplanation({ subject, sentences, chain, effects, next }: Explanation): string {
  const lines = [subject, ...sentences.map(sentence => `  ${sentence}`)]
  if (chain.length > 0) lines.push('Causes, the nearest first:', ...chain.map(formatEntry))
  if (effects.length > 0) lines.push('Effects:', ...effects.map(formatEntry))
  if (next !== undefined) lines.push(`Next, in ${next.in} at ${next.at}:`, `  ${next.sentence}`)
  return `${lines.join('\n')}\n`
}

function formatEntry({ seq, at, sentence }: ExplainedEntry): string {
  return `  ${at} #${seq} ${sentence}`
}
