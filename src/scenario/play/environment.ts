/**
 * Where a scenario is played. What `play` gets is made from this interface alone, so the same script can be played in
 * this process or on a server.
 */

import type { MoveResult } from '../../clock/move-result.ts'
import type { FaultView } from '../../faults/faults.ts'
import type { FaultRule } from '../../faults/rules.ts'
import type { Duration, Micros } from '../../kernel/duration.ts'
import type { Entry, EntryFields } from '../../kernel/journal.ts'
import type { LedgerEntry } from '../../simulation/account/ledger.ts'

/** The clock of a stage; the times are those of the last thing that was awaited. */
export interface ScenarioClock {
  /** The world's time. */
  readonly now: Date
  /** The world's time as the wire writes it. */
  readonly iso: string
  /** Microseconds since the epoch of the world. */
  readonly elapsed: Micros
  /** Moves time on; everything due on the way happens. */
  advance(duration: Duration): Promise<MoveResult>
  /** Moves time to a moment: ISO 8601 with offset, or a Date. */
  advanceTo(moment: string | Date): Promise<MoveResult>
  /**
   * Moves time to the next event and lets it happen; with `visible`, to the next change that a client could see. With
   * `within`, time rests there when nothing comes before.
   */
  next(options?: {
    readonly visible?: boolean | undefined
    readonly within?: Duration | undefined
  }): Promise<MoveResult>
  /** Moves time until the predicate holds; fails when it does not hold `within` that time. */
  until(
    predicate: () => boolean | Promise<boolean>,
    options?: { readonly within?: Duration | undefined },
  ): Promise<MoveResult>
  /** A sleep on this clock, for clients that take one: it ends when time has been moved past it. */
  sleep(duration: Duration): Promise<void>
}

/** The faults of the wire of a stage. */
export interface ScenarioFaults {
  /** Adds a rule; fails for one that can not be. */
  add(rule: FaultRule): Promise<FaultView>
  list(): Promise<readonly FaultView[]>
  /** A rule with its matches and hits. */
  get(id: string): Promise<FaultView>
  remove(id: string): Promise<void>
  /** Removes every rule. */
  clear(): Promise<void>
}

/** One step to a verb: `[{ name: 'nodeOf', args: [id] }, { name: 'crash', args: [] }]`; without `args` a property. */
export interface CommandStep {
  readonly name: string
  readonly args?: readonly unknown[]
}

/** What is asked of the fleet. */
export type CommandPath = readonly CommandStep[]

/**
 * Lets time come so far for an answer that is awaited. It may be less: to the next step that is planned, or the end of a
 * move that is under way.
 */
export type PassTime = (span: Micros) => Promise<unknown>

/** A world that a scenario is played in. */
export interface ScenarioEnvironment {
  readonly seed: string
  /** Address of the service, and a token for it. */
  readonly baseUrl: string
  readonly token: string
  readonly clock: ScenarioClock
  readonly faults: ScenarioFaults
  /** Changes whenever the world does: time moved, something happened. A look at the world is no change. */
  readonly revision: number
  /** The same as a sign of life: it changes as well while a server is at work. */
  readonly heartbeat: number
  /** What the scenario waits for, as far as the stage knows: for the error of one that never ends. */
  readonly waitReason: string | undefined
  /** The first exception that is a bug of the simulator: whatever the script makes of it, it fails. */
  readonly bug: unknown
  /**
   * Hands a request to the service. What a fault delays comes when time has been moved to it, 60 s at most; where
   * nothing comes, it fails with an error that says `broken: true`.
   *
   * @param pass how the script lets time come for what it awaits
   */
  send(request: Request, pass: PassTime): Promise<Response>
  /** Waits for time that somebody else moves, until it has come so far or `over` is settled. */
  waitForTime(span: Micros, over: Promise<unknown>): Promise<void>
  /** Does something to the fleet, or looks at it. */
  runCommand(order: CommandPath): Promise<unknown>
  /** Remaining funds in micro-cents, computed to now. */
  balance(): Promise<number>
  ledgerEntries(): Promise<readonly LedgerEntry[]>
  /** Puts something of the script's own, a check, on record after all that has happened so far. */
  addNote(kind: string, subject: string, fields: EntryFields): void
  /** What happened since the curtain rose, in order, with the notes in their places. */
  journalEntries(): Promise<readonly Entry[]>
  digest(): Promise<string>
  close(): Promise<void>
}
