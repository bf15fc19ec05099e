/** Options, jobs and results of a run of scenario files. */
import type { Result, RunOptions, StoppableOptions } from '../play/run-scenario.ts'
import type { LoadError } from './import-script.ts'

export interface RunFilesOptions extends Pick<RunOptions, 'seed' | 'names' | 'stuckTimeoutMs' | 'check'> {
  /** Plays each scenario with each of these seeds. Traces are compared only with the scenario's own seed. */
  readonly seeds?: readonly string[] | undefined
  /** Writes the traces instead of comparing with them. */
  readonly update?: boolean | undefined
  /** Only scenarios whose title, file name or tag contains this word. */
  readonly filter?: string | undefined
  /** Only scenarios with one of these tags. */
  readonly tags?: readonly string[] | undefined
  /** Stops at the first failure. */
  readonly bail?: boolean | undefined
  /** Number of processes. Default: 1, or one for each core if there are many plays and an `entry`. */
  readonly workers?: number | undefined
  /** The script of the command line, which starts workers. */
  readonly entry?: string | undefined
  /** Folder that patterns and file names are relative to. Default: the folder of the process. */
  readonly folder?: string | undefined
  /** Called for each file that cannot be loaded; the others are played. Default: the first such file ends the run. */
  readonly onLoadError?: ((error: LoadError) => void) | undefined
  /** Called for each scenario when it ends, in the order of the files. */
  readonly onResult?: ((result: FileResult) => void) | undefined
  /** Called before each scenario that this process plays. */
  readonly onPlay?: ((title: string, file: string) => void) | undefined
  /** Called with the number of finished plays and the number of all. */
  readonly onProgress?: ((done: number, of: number) => void) | undefined
  /** Called with the simulator of each world that this process plays, before its scenario begins. */
  readonly onWorld?: RunOptions['onWorld']
}

/** The result of a scenario in a file. */
export interface FileResult extends Result {
  /** Path of the script, relative to the folder of the run. */
  readonly file: string
  /** Outcome for its trace. Traces are not compared after a failure, or with another seed than its own. */
  readonly traceOutcome: 'equal' | 'different' | 'missing' | 'written' | 'not compared'
  /** Whether its file contains other scenarios. */
  readonly isOneOfMany?: boolean | undefined
  /** File of the names profile it was played with. */
  readonly names?: string | undefined
}

/** How one scenario is played. */
export interface PlayerOptions
  extends Pick<RunFilesOptions, 'names' | 'stuckTimeoutMs' | 'check' | 'update' | 'onWorld'>,
    Pick<StoppableOptions, 'onStep' | 'signal'> {
  readonly file: string
  readonly folder: string
}

/** One scenario to play with some seeds, the job of a worker. */
export interface PlayJob extends Omit<PlayerOptions, 'onWorld' | 'onStep' | 'signal'> {
  readonly title: string
  /** Undefined for the scenario's own seed. */
  readonly seeds: readonly (string | undefined)[]
  /** Stop at the first failure. */
  readonly bail: boolean
}
