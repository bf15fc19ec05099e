import type { Entry, Journal } from '../kernel/journal.ts'

type Listener = (entry: Entry) => void
type Watcher = (seq: number) => void

/** The listeners to the journal of a simulator. They outlive the world: after a reset they hear the journal of the next one. */
export class JournalListeners {
  readonly #currentJournal: () => Journal
  readonly #onError: (error: unknown) => void
  #listeners: readonly Listener[] = []
  #watchers: readonly Watcher[] = []
  #journal: Journal | undefined
  #unsubscribe: (() => void) | undefined

  /** @param onError called with what a listener throws: it must not end the change in which the listener is called */
  constructor(currentJournal: () => Journal, onError: (error: unknown) => void) {
    this.#currentJournal = currentJournal
    this.#onError = onError
  }

  /** Adds a listener, and returns the function that removes it. */
  add(listener: Listener): () => void {
    this.#listeners = [...this.#listeners, listener]
    this.subscribe()
    return () => {
      this.#listeners = this.#listeners.filter(other => other !== listener)
    }
  }

  /** Adds a listener to the positions of entries, and returns the function that removes it. */
  watch(watcher: Watcher): () => void {
    this.#watchers = [...this.#watchers, watcher]
    this.subscribe()
    return () => {
      this.#watchers = this.#watchers.filter(other => other !== watcher)
    }
  }

  /**
   * Subscribes to the current journal, once and only if there are listeners. The journal before is left: a request that
   * was in progress at a reset may still write to it.
   */
  subscribe(): void {
    const journal = this.#currentJournal()
    if (this.#journal === journal || this.#listeners.length + this.#watchers.length === 0) return
    this.#journal = journal
    this.#unsubscribe?.()
    this.#unsubscribe = journal.watch(seq => {
      for (const watcher of this.#watchers) this.#call(watcher, seq)
      if (this.#listeners.length === 0) return
      // Read before any of them, since a listener can change the world.
      const entry = journal.read(seq)
      for (const listener of this.#listeners) this.#call(listener, entry)
    })
  }

  #call<Heard>(listener: (heard: Heard) => void, heard: Heard): void {
    try {
      listener(heard)
    } catch (error) {
      this.#onError(error)
    }
  }
}
