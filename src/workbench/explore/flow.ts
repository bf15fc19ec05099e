/** Flows: the client code that is explored. */

import type { Duration } from '../../kernel/duration.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { FlowWorld } from './flow-world.ts'
import type { InputDeclarations, InputValues } from './input.ts'
import type { InvariantSettings } from './invariants.ts'
import type { OwnFault } from './plan/own-faults.ts'

/** What a flow gets for one run. */
export interface FlowContext<Inputs = InputValues> {
  /** A `fetch` that reaches the world. A request that is not answered within 300 s of the world fails. */
  readonly fetch: typeof globalThis.fetch
  /** The base address of the service. */
  readonly url: string
  /** An API token of the world. */
  readonly token: string
  /** Waits for time of the world, in milliseconds. */
  sleep(ms: number): Promise<void>
  /** Returns the time of the world in milliseconds since 1970. */
  now(): number
  readonly sim: Simulator
  /** What the client is asked to do in this run: the values of the declared inputs. */
  readonly inputs: Inputs
}

/** The client code under test. Its result names what it keeps. */
export type FlowFunction<Result = unknown, Inputs = InputValues> = (
  context: FlowContext<Inputs>,
) => Result | Promise<Result>

/** Options of a flow: its world, the invariants, and the budget. */
export interface FlowOptions<Result = unknown, Declared extends InputDeclarations = InputDeclarations>
  extends FlowWorld {
  /** What differs between the uses of the client. Single faults are tried with the simplest values, random plans with others. */
  readonly inputs?: Declared | undefined
  /**
   * Maximum number of searching runs, or real time as in '60s'. Runs that shrink or explain a finding are extra.
   * Default: 2,000 runs.
   */
  readonly budget?: number | Duration
  readonly invariants?: InvariantSettings
  /** Faults besides the built-in ones, for single faults, pairs and random plans. */
  readonly faults?: readonly OwnFault[]
  /** Returns the ids that the result keeps. Default: every id of the world in the result. */
  readonly own?: (result: Result) => readonly string[]
  /** Returns whether the result says that something is missing, or what it says is. Default: it is found in the result. */
  readonly tells?: (result: Result) => boolean | readonly string[]
  /** `output`: people read what the client prints, so that it can say there what is missing. Default: `result`. */
  readonly tellsBy?: 'result' | 'output'
  /** Returns the results of batch lines, with their ids. Default: they are searched in the whole result. */
  readonly lines?: (result: Result) => readonly unknown[]
}

/** A flow with its name and options. */
export interface NamedFlow<Result = unknown> {
  readonly name: string
  readonly options: FlowOptions<Result>
  readonly run: FlowFunction<Result>
}

/** A client that is a command in any language. Each run starts its process. */
export interface CommandFlow {
  readonly name: string
  readonly options: Omit<FlowOptions, 'own' | 'lines' | 'tells' | 'inputs'>
  /** The program and its arguments. */
  readonly command: readonly string[]
  /** Real time after which a run is ended, with its process. Default: '60s'. */
  readonly timeout?: Duration | undefined
  /** Processes at once, from 1 to 256. Default: the processors of the machine. */
  readonly processes?: number | undefined
  /** The folder in which it runs. Default: that of this process. */
  readonly cwd?: string | undefined
}

export type ExplorableFlow = NamedFlow | CommandFlow
