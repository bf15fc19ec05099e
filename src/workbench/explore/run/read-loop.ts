/** Loops of reads: a client that asks again and again for a thing that only a request can change. */

import type { Micros } from '../../../kernel/duration.ts'
import { isTerminalStatus, kindFor, lastSegment, statusInAnswer } from '../../../simulator/judge/facts.ts'
import type { CreatedKind, ObservedRequest } from '../../../simulator/judge/observation.ts'
import type { Simulator } from '../../../simulator/simulator.ts'

/** Equal answers after which a client is stopped that never left such a loop in another run. */
const ENOUGH = 60

/** The reads at the end of a run that have equal answers after equal waits. */
export class ReadLoop {
  #count = 0
  #wait: Micros = 0

  /** Looks at the last two requests before a new one. */
  add(before: ObservedRequest | undefined, last: ObservedRequest | undefined): void {
    if (before === undefined || last === undefined) return
    const wait = last.sentAt - before.sentAt
    const isEqual =
      last.path === before.path && last.method === 'GET' && isWhole(last) && last.read!.text === before.read?.text
    this.#count = isEqual && wait === this.#wait ? this.#count + 1 : 0
    this.#wait = wait
  }

  /** Names the loop equally in each run: by the operation and the wait. Undefined if something can change. */
  nameOf(sim: Simulator, last: ObservedRequest | undefined): string | undefined {
    if (this.#count < ENOUGH || last === undefined) return undefined
    const kind = kindFor({ sim }, last, 'read') as CreatedKind | undefined
    const status = statusInAnswer(last.answer, lastSegment(last))
    const isOver = kind !== undefined && status !== undefined && isTerminalStatus(kind, status)
    return isOver ? `${last.operation} ${this.#wait}` : undefined
  }
}

function isWhole({ fault, outcome, read }: ObservedRequest): boolean {
  return outcome === 'answered' && fault === undefined && read !== undefined
}
