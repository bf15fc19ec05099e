/** The holds of a clock. Several owners may hold it. Time moves again when the last hold has ended. */
import { monotonicMs } from '../../lib/real-time.ts'
import { warn } from './fake-timers.ts'

/** Real milliseconds after which a request to a held clock warns about its owners. */
const LONG_HOLD_MS = 5000

interface ClockHold {
  readonly owner: string
  readonly since: number
}

export class ClockHolds {
  isHeld = false
  #holds: readonly ClockHold[] = []
  #warnings: readonly string[] = []

  /** Names of the owners. */
  get owners(): readonly string[] {
    return this.#holds.map(({ owner }) => owner)
  }

  /**
   * Adds a hold under a name. Returns a function that ends it, and returns whether it was the last one.
   *
   * @throws RangeError for an empty name
   */
  hold(owner: string): () => boolean {
    if (typeof owner !== 'string' || owner.trim() === '') {
      throw new RangeError("Failed to pause the clock: the owner is missing. Give its name, as in pause('debugger').")
    }
    const hold = { owner, since: monotonicMs() }
    this.#set([...this.#holds, hold])
    return () => this.#remove(hold)
  }

  /** Replaces all holds by those of `owners`. */
  replace(owners: readonly string[]): void {
    this.#set([])
    for (const owner of owners) this.hold(owner)
  }

  /**
   * Ends a hold of `owner`. Returns whether it was the last one, and warns if it was not.
   *
   * @throws RangeError if `owner` has no hold
   */
  release(owner: string): boolean {
    const hold = this.#holds.find(({ owner: name }) => name === owner)
    if (hold === undefined) {
      throw new RangeError(
        `Failed to resume the clock: '${owner}' does not hold it. ` +
          (this.isHeld ? `It is held by ${this.#ownerNames}: give one of these names.` : 'It has no owner.'),
      )
    }
    if (this.#remove(hold)) return true
    this.#warnOnce('was resumed by one owner')
    return false
  }

  /** Warns about a long hold: a forgotten pause looks like a hang. */
  warnIfLong(): void {
    if (monotonicMs() - this.#holds[0]!.since > LONG_HOLD_MS) this.#warnOnce('has been asked for the time')
  }

  #remove(hold: ClockHold): boolean {
    if (!this.#holds.includes(hold)) return false
    this.#set(this.#holds.filter(other => other !== hold))
    return !this.isHeld
  }

  #set(holds: readonly ClockHold[]): void {
    this.#holds = holds
    this.isHeld = holds.length > 0
  }

  get #ownerNames(): string {
    return this.owners.map(name => `'${name}'`).join(', ')
  }

  #warnOnce(what: string): void {
    const message = `The clock ${what} and is still held by ${this.#ownerNames}: time does not move until they resume it.`
    if (this.#warnings.includes(message)) return
    this.#warnings = [...this.#warnings, message]
    warn(message)
  }
}
