import type { Entry, Journal } from '../kernel/journal.ts'

type Listener = (entry: Entry) => void

/** The listeners to the journal of a simulator. They outlive the world: after a reset they hear the journal of the next one. */
export class JournalListeners {
  readonly #currentJournal: () => Journal
  readonly #onError: (error: unknown) => void
  #listeners: readonly Listener[] = []
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

  /**
   * Subscribes to the current journal, once and only if there are listeners. The journal before is left: a request that
   * was in progress at a reset may still write to it.
   */
  subscribe(): void {
    const journal = this.#currentJournal()
    if (this.#listeners.length === 0 || this.#journal === journal) return
    this.#journal = journal
    this.#unsubscribe?.()
    this.#unsubscribe = journal.listen(entry => {
      for (const listener of this.#listeners) {
        try {
          listener(entry)
        } catch (error) {
          this.#onError(error)
        }
      }
    })
  }
}
