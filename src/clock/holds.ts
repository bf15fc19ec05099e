/** Who holds a world's time: several may, and it moves again when the last of them has let go. */
import { monotonicMs } from '../lib/real-time.ts'
import { warn } from './fake-timers.ts'

/** Real time after which whoever asks a paused clock is told who holds it. */
const LONG_HOLD_MS = 5000

interface ClockHold {
  readonly owner: string
  readonly since: number
}

export class ClockHolds {
  #holds: readonly ClockHold[] = []
  #warnings: readonly string[] = []

  get isHeld(): boolean {
    return this.#holds.length > 0
  }

  /** Who holds it, by name. */
  get owners(): readonly string[] {
    return this.#holds.map(({ owner }) => owner)
  }

  /**
   * Holds it under a name. What is returned lets go, and says whether nobody holds it any more because of that.
   *
   * @throws RangeError when nobody is named
   */
  hold(owner: string): () => boolean {
    if (typeof owner !== 'string' || owner.trim() === '') {
      throw new RangeError("Failed to pause the clock: nobody is named. Say who holds it, as in pause('debugger').")
    }
    const hold = { owner, since: monotonicMs() }
    this.#holds = [...this.#holds, hold]
    return () => this.#remove(hold)
  }

  /** Whoever holds it does so no longer, and others do. */
  replace(owners: readonly string[]): void {
    this.#holds = []
    for (const owner of owners) this.hold(owner)
  }

  /**
   * Lets go of what `owner` holds; whether nobody holds it any more. Says so when somebody else still does.
   *
   * @throws RangeError when they hold nothing
   */
  release(owner: string): boolean {
    const hold = this.#holds.find(one => one.owner === owner)
    if (hold === undefined) {
      throw new RangeError(
        `Failed to resume the clock: '${owner}' does not hold it. ` +
          (this.isHeld ? `It is held by ${this.#ownerNames}: give one of these names.` : 'Nobody does.'),
      )
    }
    if (this.#remove(hold)) return true
    this.#warnOnce('was let go by one')
    return false
  }

  /** Somebody asks for the time meanwhile: a pause that was forgotten looks like a hang. */
  warnIfLong(): void {
    if (monotonicMs() - this.#holds[0]!.since > LONG_HOLD_MS) this.#warnOnce('has been asked for the time')
  }

  #remove(hold: ClockHold): boolean {
    if (!this.#holds.includes(hold)) return false
    this.#holds = this.#holds.filter(other => other !== hold)
    return !this.isHeld
  }

  get #ownerNames(): string {
    return this.owners.map(name => `'${name}'`).join(', ')
  }

  #warnOnce(what: string): void {
    const message = `The clock ${what} and is still held by ${this.#ownerNames}: time stands until they let go.`
    if (this.#warnings.includes(message)) return
    this.#warnings = [...this.#warnings, message]
    warn(message)
  }
}
