import type { FaultRule } from './rules.ts'

/** A fault rule and its counts. */
export interface FaultView {
  readonly id: string
  readonly rule: FaultRule
  /** Requests that it matched while it was armed and in its window. */
  readonly matches: number
  /** Requests that it changed. */
  readonly hits: number
}

/** The handle of an added rule. */
export interface FaultHandle extends FaultView {
  remove(): void
}

/**
 * The fault rules of a simulator. They are tried in the order in which they were added. Only the first rule whose trigger
 * fires acts; every rule counts its own matches.
 *
 * @example
 * const lost = sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })
 * lost.hits // 0, until it has happened
 * lost.remove()
 */
export interface FaultControls {
  /** Adds a rule. Throws FaultError for an invalid rule, before anything has changed. */
  add(rule: FaultRule): FaultHandle
  list(): FaultView[]
  /** Returns the rule of this id. Throws FaultError for an unknown id. */
  get(id: string): FaultView
  /** Removes a rule. Throws FaultError for an unknown id. */
  remove(id: string): void
  /** Removes every rule. */
  clear(): void
}
