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
