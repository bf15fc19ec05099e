import { HOUR, type Micros } from '../kernel/duration.ts'

/**
 * An exact sum of rates × times, as the ledger meters it: the rate in micro-cents an hour, the time in microseconds.
 *
 * Such a product passes 2^53 after an hour of four GPUs, so it is kept as whole micro-cents and a rest, and multiplied in
 * parts that stay below it. BigInt says the same and costs eight times as much, at every start and stop of an instance.
 */
export class Accrual {
  #whole: number
  #rest: number

  constructor(whole = 0, rest = 0) {
    this.#whole = whole
    this.#rest = rest
  }

  /** Whole micro-cents, rounded down. */
  get whole(): number {
    return this.#whole
  }

  /** What is missing of one more, in micro-cents × microseconds an hour: below `HOUR`. */
  get rest(): number {
    return this.#rest
  }

  /** All of it, in micro-cents × microseconds an hour. */
  get exact(): bigint {
    return BigInt(this.#whole) * BigInt(HOUR) + BigInt(this.#rest)
  }

  /** Lets `micros` pass at `rate`; both are integers of at least 0. */
  add(rate: number, micros: Micros): void {
    const hours = Math.floor(micros / HOUR)
    const part = micros - hours * HOUR
    const eachMicro = Math.floor(rate / HOUR)
    const fine = rate - eachMicro * HOUR
    // `part × fine` may take 64 bits: 16 of `fine` at a time.
    const high = Math.floor(fine / 65_536)
    const upper = part * high
    const wholeUpper = Math.floor(upper / HOUR)
    const rest = (upper - wholeUpper * HOUR) * 65_536 + part * (fine - high * 65_536) + this.#rest
    const carried = Math.floor(rest / HOUR)
    this.#whole += rate * hours + eachMicro * part + wholeUpper * 65_536 + carried
    this.#rest = rest - carried * HOUR
  }

  /** The whole micro-cents once `micros` more have passed at `rate`. */
  after(rate: number, micros: Micros): number {
    const later = this.copy()
    later.add(rate, micros)
    return later.#whole
  }

  /** The fewest microseconds at `rate` until it holds `whole` micro-cents; Infinity when nothing runs. */
  until(whole: number, rate: number): Micros {
    if (this.#whole >= whole) return 0
    if (rate === 0) return Number.POSITIVE_INFINITY
    // The division may be a rounding off; beyond 285 years so is every microsecond.
    let micros = Math.floor(((whole - this.#whole) * HOUR - this.#rest) / rate)
    if (micros > Number.MAX_SAFE_INTEGER) return micros
    while (this.after(rate, micros) < whole) micros++
    while (micros > 0 && this.after(rate, micros - 1) >= whole) micros--
    return micros
  }

  copy(): Accrual {
    return new Accrual(this.#whole, this.#rest)
  }
}
