/** What one status of a lifecycle means. */
interface StatusDefinition<Status extends string> {
  /**
   * `inProgress`: it moves on by itself. `settled`: it stays until a request, a command or a failure changes it.
   * `terminal`: nothing runs, and only a request can start it again.
   */
  readonly phase: 'inProgress' | 'settled' | 'terminal'
  /** The statuses that can follow. */
  readonly next: readonly Status[]
}

/** The statuses of a kind of thing, with their order: one table for checks, for polls and for the documentation. */
export class Lifecycle<Status extends string> {
  readonly statuses: readonly Status[]
  readonly inProgress: ReadonlySet<Status>
  readonly terminal: ReadonlySet<Status>
  readonly #definitions: Readonly<Record<Status, StatusDefinition<Status>>>

  constructor(definitions: Readonly<Record<Status, StatusDefinition<Status>>>) {
    this.#definitions = definitions
    this.statuses = Object.keys(definitions) as Status[]
    this.inProgress = new Set(this.statuses.filter(status => definitions[status].phase === 'inProgress'))
    this.terminal = new Set(this.statuses.filter(status => definitions[status].phase === 'terminal'))
  }

  /** Returns the statuses that can follow one. */
  next(status: Status): readonly Status[] {
    return this.#definitions[status].next
  }

  /** Tells whether a word is one of the statuses. */
  has(word: string): word is Status {
    return Object.hasOwn(this.#definitions, word)
  }
}
