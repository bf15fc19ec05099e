/** What one status of a lifecycle means. */
interface StatusDefinition<Status extends string> {
  /**
   * `inProgress`: it moves on by itself. `settled`: it stays until a request, a command or a failure changes it.
   * `terminal`: nothing runs, and only a request can start it again.
   */
  readonly phase: 'inProgress' | 'settled' | 'terminal'
  /** The statuses that can follow. */
  readonly next: readonly Status[]
  /** The meaning of its journal entry, as Markdown. Missing for a first status: the entry is that of the creation. */
  readonly entry?: string
  /** The fields of its journal entry, separated by spaces. Default: none. */
  readonly fields?: string
}

/**
 * The statuses of a kind of thing, in the order in which answers and documents list them. Records, checks, polls, the
 * journal and the documentation read this one table.
 */
export class Lifecycle<Status extends string> {
  readonly statuses: readonly Status[]
  readonly inProgress: ReadonlySet<Status>
  readonly terminal: ReadonlySet<Status>
  readonly #definitions: Readonly<Record<Status, StatusDefinition<Status>>>

  constructor(definitions: { readonly [Name in Status]: StatusDefinition<NoInfer<Status>> }) {
    this.#definitions = definitions
    this.statuses = Object.keys(definitions) as Status[]
    this.inProgress = new Set(this.statuses.filter(status => definitions[status].phase === 'inProgress'))
    this.terminal = new Set(this.statuses.filter(status => definitions[status].phase === 'terminal'))
  }

  phase(status: Status): StatusDefinition<Status>['phase'] {
    return this.#definitions[status].phase
  }

  /** Returns the statuses that can follow one. */
  next(status: Status): readonly Status[] {
    return this.#definitions[status].next
  }

  /** Returns the meaning and the fields of the journal entry of a status. */
  journalEntry(status: Status): Pick<StatusDefinition<Status>, 'entry' | 'fields'> {
    return this.#definitions[status]
  }

  /** Tells whether a word is one of the statuses. */
  has(word: string): word is Status {
    return Object.hasOwn(this.#definitions, word)
  }
}
