import { HOUR, type Micros } from '../../kernel/duration.ts'

/**
 * An exact sum of rates × times, as the ledger meters it: the rate in micro-cents an hour, the time in microseconds.
 *
 * Such a product passes 2^53 after an hour of four GPUs, so it is kept as whole micro-cents and a rest, and multiplied in
 * parts that stay below it. BigInt says the same and costs eight times as much, at every start and stop of an instance.
 */
export class Accrual {
  #wholeMicrocents: number
  #remainder: number

  constructor(initialMicrocents = 0, initialRemainder = 0) {
    this.#wholeMicrocents = initialMicrocents
    this.#remainder = initialRemainder
  }

  /** Whole micro-cents, rounded down. */
  get wholeMicrocents(): number {
    return this.#wholeMicrocents
  }

  /** What is missing of one more, in micro-cents × microseconds an hour: below `HOUR`. */
  get remainder(): number {
    return this.#remainder
  }

  /** All of it, in micro-cents × microseconds an hour. */
  get exact(): bigint {
    return BigInt(this.#wholeMicrocents) * BigInt(HOUR) + BigInt(this.#remainder)
  }

  /** Lets `micros` pass at `rate`; both are integers of at least 0. */
  add(rate: number, micros: Micros): void {
    const hours = Math.floor(micros / HOUR)
    const partHour = micros - hours * HOUR
    const wholeRate = Math.floor(rate / HOUR)
    const restRate = rate - wholeRate * HOUR
    // `part × fine` may take 64 bits: 16 of `fine` at a time.
    const restRateHigh = Math.floor(restRate / 65_536)
    const upper = partHour * restRateHigh
    const wholeUpper = Math.floor(upper / HOUR)
    const rest = (upper - wholeUpper * HOUR) * 65_536 + partHour * (restRate - restRateHigh * 65_536) + this.#remainder
    const carry = Math.floor(rest / HOUR)
    this.#wholeMicrocents += rate * hours + wholeRate * partHour + wholeUpper * 65_536 + carry
    this.#remainder = rest - carry * HOUR
  }

  /** The whole micro-cents once `micros` more have passed at `rate`. */
  wholeMicrocentsAfter(rate: number, micros: Micros): number {
    const later = this.copy()
    later.add(rate, micros)
    return later.#wholeMicrocents
  }

  /** The fewest microseconds at `rate` until it holds `whole` micro-cents; Infinity when nothing runs. */
  timeUntil(whole: number, rate: number): Micros {
    if (this.#wholeMicrocents >= whole) return 0
    if (rate === 0) return Number.POSITIVE_INFINITY
    // The division may be a rounding off; beyond 285 years so is every microsecond.
    let micros = Math.floor(((whole - this.#wholeMicrocents) * HOUR - this.#remainder) / rate)
    if (micros > Number.MAX_SAFE_INTEGER) return micros
    while (this.wholeMicrocentsAfter(rate, micros) < whole) micros++
    while (micros > 0 && this.wholeMicrocentsAfter(rate, micros - 1) >= whole) micros--
    return micros
  }

  copy(): Accrual {
    return new Accrual(this.#wholeMicrocents, this.#remainder)
  }
}
