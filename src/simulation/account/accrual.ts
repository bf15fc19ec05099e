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
    const rest = this.#remainder + restOf(rate, micros)
    this.#wholeMicrocents += wholeOf(rate, micros) + Math.floor(rest / HOUR)
    this.#remainder = rest - Math.floor(rest / HOUR) * HOUR
  }

  /** The whole micro-cents once `micros` more have passed at `rate`. */
  wholeMicrocentsAfter(rate: number, micros: Micros): number {
    const rest = this.#remainder + restOf(rate, micros)
    return this.#wholeMicrocents + wholeOf(rate, micros) + Math.floor(rest / HOUR)
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

  /** Returns a copy, but `NO_ACCRUAL` itself, which never changes. */
  copy(): Accrual {
    return this === NO_ACCRUAL ? this : new Accrual(this.#wholeMicrocents, this.#remainder)
  }
}

/** Before any time has passed: most meters of a new fleet. */
export const NO_ACCRUAL = new Accrual()

// A product of rate and time may take 64 bits. Its two parts are computed from 16 bits of the rate at a time, and
// separately, because a function that returned both would create an object at every look at the balance.

/** Returns the whole micro-cents of `rate` × `micros`, without those in `restOf`. */
function wholeOf(rate: number, micros: Micros): number {
  const hours = Math.floor(micros / HOUR)
  const partHour = micros - hours * HOUR
  const wholeRate = Math.floor(rate / HOUR)
  const restRateHigh = Math.floor((rate - wholeRate * HOUR) / 65_536)
  return rate * hours + wholeRate * partHour + Math.floor((partHour * restRateHigh) / HOUR) * 65_536
}

/** Returns the rest of `rate` × `micros` in micro-cents × microseconds an hour. It can be more than `HOUR`. */
function restOf(rate: number, micros: Micros): number {
  const partHour = micros - Math.floor(micros / HOUR) * HOUR
  const restRate = rate - Math.floor(rate / HOUR) * HOUR
  const restRateHigh = Math.floor(restRate / 65_536)
  const upper = partHour * restRateHigh
  return (upper - Math.floor(upper / HOUR) * HOUR) * 65_536 + partHour * (restRate - restRateHigh * 65_536)
}
