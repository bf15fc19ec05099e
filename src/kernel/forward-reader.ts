import type { Micros } from './duration.ts'

/** Lines in order of time, of which the newest that holds is asked for at ever later moments. */
export class ForwardReader<Line extends { readonly at: Micros }> {
  readonly #lines: readonly Line[]
  #next = 0

  constructor(lines: readonly Line[]) {
    this.#lines = lines
  }

  readAt(at: Micros): Line | undefined {
    while (this.#next < this.#lines.length && this.#lines[this.#next]!.at <= at) this.#next++
    return this.#lines[this.#next - 1]
  }
}
