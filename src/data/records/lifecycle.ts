/** What one status of a lifecycle means. */
interface UnrecordedStatus<Status extends string> {
  /**
   * `inProgress`: it moves on by itself. `settled`: it stays until a request, a command or a failure changes it.
   * `terminal`: nothing runs, and only a request can start it again.
   */
  readonly phase: 'inProgress' | 'settled' | 'terminal'
  /** The statuses that can follow. */
  readonly next: readonly Status[]
}

/** A status whose begin has a journal entry of its own. */
interface RecordedStatus<Status extends string> extends UnrecordedStatus<Status> {
  /** The meaning of its journal entry, as Markdown. */
  readonly entry: string
  /** What explanations say of its journal entry: `{id}` is the subject, and `{name}` a field of the entry. */
  readonly sentence: string
  /** The fields of its journal entry, separated by spaces. Default: those of the lifecycle. */
  readonly fields?: string
}

type Definitions<Status extends string, Unrecorded extends string> = {
  readonly [Name in Status]: Name extends NoInfer<Unrecorded>
    ? UnrecordedStatus<NoInfer<Status>>
    : RecordedStatus<NoInfer<Status>>
}

/**
 * The statuses of a kind of thing, in the order in which answers and documents list them. Records, checks, polls, the
 * journal and the documentation read this one table.
 */
export class Lifecycle<Status extends string, Unrecorded extends Status = never> {
  readonly statuses: readonly Status[]
  readonly inProgress: ReadonlySet<Status>
  readonly terminal: ReadonlySet<Status>
  /** The statuses whose begin has a journal entry of its own. */
  readonly recorded: readonly Exclude<Status, Unrecorded>[]
  readonly #definitions: Readonly<Record<Status, UnrecordedStatus<Status>>>
  readonly #fields: string | undefined

  /**
   * @param options `unrecorded`: the status of a new subject, if the creation has an entry of its own. `fields`: the
   *   fields of the journal entries, separated by spaces. Default: none
   */
  constructor(
    definitions: Definitions<Status, Unrecorded>,
    { unrecorded, fields }: { readonly unrecorded?: Unrecorded; readonly fields?: string } = {},
  ) {
    this.#definitions = definitions
    this.#fields = fields
    this.statuses = Object.keys(definitions) as Status[]
    this.recorded = this.statuses.filter(status => status !== unrecorded) as Exclude<Status, Unrecorded>[]
    this.inProgress = new Set(this.statuses.filter(status => definitions[status].phase === 'inProgress'))
    this.terminal = new Set(this.statuses.filter(status => definitions[status].phase === 'terminal'))
  }

  phase(status: Status): UnrecordedStatus<Status>['phase'] {
    return this.#definitions[status].phase
  }

  /** Returns the statuses that can follow one. */
  next(status: Status): readonly Status[] {
    return this.#definitions[status].next
  }

  /** Returns the meaning, the sentence and the fields of the journal entry of a status. */
  journalEntry(status: Exclude<Status, Unrecorded>): Pick<RecordedStatus<Status>, 'entry' | 'sentence' | 'fields'> {
    const { entry, sentence, fields = this.#fields } = this.#definitions[status] as RecordedStatus<Status>
    return { entry, sentence, ...(fields !== undefined && { fields }) }
  }

  /** Tells whether a word is one of the statuses. */
  has(word: string): word is Status {
    return Object.hasOwn(this.#definitions, word)
  }
}
