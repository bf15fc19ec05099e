/**
 * The environment of a scenario. The arguments of `play` are made from this interface alone, so the same script runs in
 * this process or on a server.
 */

import type { Duration, Micros } from '../../../kernel/duration.ts'
import type { Entry, EntryFields } from '../../../kernel/journal.ts'
import type { ScriptRule, ScriptRuleView } from '../../../service/openai/scripted-answers.ts'
import type { LedgerEntry } from '../../../simulation/account/ledger-types.ts'
import type { MoveResult } from '../../../simulator/clock/moves/result.ts'
import type { FaultView } from '../../../simulator/faults/fault-controls.ts'
import type { FaultRule } from '../../../simulator/faults/rules.ts'

/** The clock of an environment. Its times are those after the last awaited call. */
export interface ScenarioClock {
  /** The world's time. */
  readonly now: Date
  /** The world's time as the wire writes it. */
  readonly iso: string
  /** Microseconds since the epoch of the world. */
  readonly elapsed: Micros
  /** Moves time by a duration. Everything that is due on the way happens. */
  advance(duration: Duration): Promise<MoveResult>
  /** Moves time to a moment: ISO 8601 with offset, or a Date. */
  advanceTo(moment: string | Date): Promise<MoveResult>
  /**
   * Moves time to the next event; with `visible`, to the next change that a client could see. With `within`, time stops
   * there if nothing comes before.
   */
  next(options?: {
    readonly visible?: boolean | undefined
    readonly within?: Duration | undefined
  }): Promise<MoveResult>
  /** Moves time until the predicate holds. Rejects with UntilError if it does not hold `within` that time. */
  until(
    predicate: () => boolean | Promise<boolean>,
    options?: { readonly within?: Duration | undefined },
  ): Promise<MoveResult>
  /** Resolves when time has moved by `duration`: a sleep for clients that accept one. */
  sleep(duration: Duration): Promise<void>
}

/** The fault rules of an environment. */
export interface ScenarioFaults {
  /** Adds a rule. Rejects for an invalid rule. */
  add(rule: FaultRule): Promise<FaultView>
  list(): Promise<readonly FaultView[]>
  /** A rule with its matches and hits. */
  get(id: string): Promise<FaultView>
  remove(id: string): Promise<void>
  /** Removes every rule. */
  clear(): Promise<void>
}

/** The scripted answers of models in an environment. */
export interface ScenarioInference {
  /** Adds a rule. Rejects for an invalid rule, or a name that is taken. */
  add(rule: ScriptRule): Promise<ScriptRuleView>
  /** Removes the rule of this name. Rejects for an unknown name. */
  remove(name: string): Promise<void>
  /** Removes every rule. */
  clear(): Promise<void>
}

/**
 * One step to a command: `[{ name: 'nodeOf', args: [id] }, { name: 'crash', args: [] }]`. Without `args` a property.
 */
export interface CommandStep {
  readonly name: string
  readonly args?: readonly unknown[]
}

/** A command to the fleet as the script writes it. */
export type CommandPath = readonly CommandStep[]

/**
 * Lets time pass for an awaited answer, by at most this span. It may be less: to the next planned step, or to the end
 * of a move in progress.
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
  readonly inference: ScenarioInference
  /** Changes whenever time moves or something happens. A read of the world is not a change. */
  readonly revision: number
  /** The same for stuck detection: it also changes while a server is working. */
  readonly heartbeat: number
  /** The reason why the scenario waits. Undefined: unknown. */
  readonly waitReason: string | undefined
  /** The first exception that is a bug of the simulator. The scenario then fails in any case. */
  readonly bug: unknown
  /**
   * Sends a request to the service. A delayed answer comes when time has moved to it. Without an answer it rejects with
   * an error that has `broken: true`.
   *
   * @param pass lets time pass for the answer
   * @param timeout microseconds of the world after which the client gives up. Default: 60 s
   */
  send(request: Request, pass: PassTime, timeout?: Micros): Promise<Response>
  /** Waits for time that another call moves, until it has moved by `span` or `over` is settled. */
  waitForTime(span: Micros, over: Promise<unknown>): Promise<void>
  /** Executes a command, or reads the state of the fleet. */
  runCommand(path: CommandPath): Promise<unknown>
  /** Remaining funds in micro-cents, computed to now. */
  balance(): Promise<number>
  ledgerEntries(): Promise<readonly LedgerEntry[]>
  /** Records a note of the script, such as a check, after everything that has happened so far. */
  addNote(kind: string, subject: string, fields: EntryFields): void
  /** Returns what has happened since the start, in order, with the notes in their places. */
  journalEntries(): Promise<readonly Entry[]>
  digest(): Promise<string>
  close(): Promise<void>
}
