/** Who holds a world's time: several may, and it moves again when the last of them has let go. */
import { monotonicMs } from '../kernel/pacer.ts'
import { warn } from './lockstep.ts'

/** Real time after which whoever asks a paused clock is told who holds it. */
const LONG_MS = 5000

interface Pause {
  readonly owner: string
  readonly since: number
}

export class Pauses {
  #held: readonly Pause[] = []
  #said: readonly string[] = []

  get isHeld(): boolean {
    return this.#held.length > 0
  }

  /** Who holds it, by name. */
  get owners(): readonly string[] {
    return this.#held.map(({ owner }) => owner)
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
    const pause = { owner, since: monotonicMs() }
    this.#held = [...this.#held, pause]
    return () => this.#letGo(pause)
  }

  /** Whoever holds it does so no longer, and others do. */
  replace(owners: readonly string[]): void {
    this.#held = []
    for (const owner of owners) this.hold(owner)
  }

  /**
   * Lets go of what `owner` holds; whether nobody holds it any more. Says so when somebody else still does.
   *
   * @throws RangeError when they hold nothing
   */
  release(owner: string): boolean {
    const pause = this.#held.find(one => one.owner === owner)
    if (pause === undefined) {
      throw new RangeError(
        `Failed to resume the clock: '${owner}' does not hold it. ` +
          (this.isHeld ? `It is held by ${this.#names}: give one of these names.` : 'Nobody does.'),
      )
    }
    if (this.#letGo(pause)) return true
    this.#say('was let go by one')
    return false
  }

  /** Somebody asks for the time meanwhile: a pause that was forgotten looks like a hang. */
  asked(): void {
    if (monotonicMs() - this.#held[0]!.since > LONG_MS) this.#say('has been asked for the time')
  }

  #letGo(pause: Pause): boolean {
    if (!this.#held.includes(pause)) return false
    this.#held = this.#held.filter(other => other !== pause)
    return !this.isHeld
  }

  get #names(): string {
    return this.owners.map(name => `'${name}'`).join(', ')
  }

  #say(what: string): void {
    const message = `The clock ${what} and is still held by ${this.#names}: time stands until they let go.`
    if (this.#said.includes(message)) return
    this.#said = [...this.#said, message]
    warn(message)
  }
}
