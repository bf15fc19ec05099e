/** Runs of one flow under plans. Every other part of explore uses this interface alone. */

import type { Micros } from '../../../kernel/duration.ts'
import { stableJson } from '../../../lib/json-values.ts'
import type { Operations } from '../../../service/endpoint.ts'
import type {
  BaseObservation,
  ClientEnd,
  CreatedThing,
  Grade,
  LearnedTelling,
  ObservedRequest,
} from '../../../simulator/judge/observation.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { WorldChange } from '../flow-world.ts'
import type { InputValues } from '../input.ts'
import type { Plan } from '../plan/plan.ts'

/** The world and the inputs of a run. */
export interface RunSetting {
  /** What is in place of parts of the world of the flow. */
  readonly world?: WorldChange | undefined
  /** The inputs of the flow. Default: the simplest ones. */
  readonly inputs?: InputValues | undefined
}

/** Returns whether a run has the world and the inputs of its flow. */
export function isOwnSetting({ world, inputs }: RunSetting): boolean {
  return inputs === undefined && Object.values(world ?? {}).every(value => value === undefined)
}

/** Returns a text that equal settings share. */
export function settingKey({ world = {}, inputs }: RunSetting): string {
  return `${stableJson(world)} ${stableJson(inputs)}`
}

export interface RunOptions extends RunSetting {
  /**
   * Ends all faults and failures before this request, as if the service recovered there. It answers from which moment
   * on nothing could save the client.
   */
  readonly healAt?: { readonly request: number }
  /** Called with the simulator of the run before anything happens in its world. */
  readonly onWorld?: ((sim: Simulator) => void) | undefined
}

/** A run that was stopped before its end. It says nothing about the client. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped'

  constructor() {
    super('Failed to run the client: its runner was stopped. Create another one.')
  }
}

/** Resolves as a promise does, or to undefined if a run in it was stopped. */
export async function unlessStopped<Value>(promise: Promise<Value>): Promise<Value | undefined> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof RunStopped) return undefined
    throw error
  }
}

/** How many runs can be in progress. One that waits for an answer that never comes needs no room. */
export interface RunRoom {
  readonly isFree: boolean
  /** Resolves when there is room again. */
  changed(): Promise<void>
}

export interface FlowRunner {
  /**
   * Runs the flow once in a world of its own. Rejects only for a defect of the tool or an invalid plan, and with
   * RunStopped.
   */
  run(plan: Plan, options?: RunOptions): Promise<RunResult>
  /** The operations that its world serves. */
  readonly operations: Operations
  /** A run takes real time, so what needs many of them is left out. Default: false. */
  readonly isSlow?: boolean
  /** What to change in a client whose runs differ. Default: advice for a flow that is a function. */
  readonly advice?: string
  /** What its user should know of the runs, in sentences. Default: nothing. */
  readonly notes?: readonly string[]
  /** What its runs showed so far. An exploration adds to it. */
  readonly learned?: Learned
  /** Runs so far. */
  readonly runs: number
  /** Whether there is room for a further run at the same time. Default: one run after the other. */
  readonly room?: RunRoom
  dispose(): Promise<void>
}

/** A violation of a run, as text. */
export interface BrokenInvariant {
  readonly invariant: string
  /**
   * Names the root cause: `invariant@operation/class`. The message is not part of it. The class is that of the request
   * with which the client ended (`error` or `ok`), or `crash`. Rules about single requests have no class.
   */
  readonly signature: string
  /** What happened, in one or two sentences. */
  readonly words: string
  /** Lines of evidence: requests, journal entries, postings. */
  readonly evidence: readonly string[]
  readonly subject: string | undefined
  /** What the client did wrong, if it is one line that acts at several places. */
  readonly cause?: string | undefined
  /** Why no client can prevent it; undefined if one can. */
  readonly maySurface?: string | undefined
}

/** A change of the world that a client can see. */
export interface Boundary {
  readonly kind: string
  readonly subject: string
  /** Which entry of this kind and subject it is, from 1. */
  readonly nth: number
  /** The node of an instance, the GPU type of a deployment: what commands need as their target. */
  readonly node?: string
  readonly gpu?: string
  /** The number of lines of a batch that begins. */
  readonly lines?: number
  /** The output file of a batch that has ended. */
  readonly file?: string
}

/** What a run shows of how a client tells of losses and ends. Other runs of the client are judged by it. */
export interface RunTelling {
  readonly grade: Grade
  /** The error of the code of the client, with its place; undefined without a crash. */
  readonly crash?: string | undefined
  /** The kinds of things that a command left running without need, whose ids it only printed. */
  readonly printedOnly?: readonly string[] | undefined
  /** Places that differ although nothing is lost. */
  readonly noise: readonly string[]
  /** Keys of places that tell, if nothing more certain does: other runs can show that they say nothing. */
  readonly trusted: readonly string[]
  /** The places that said of a loss, in words. */
  readonly said: string | undefined
  /** The places that may tell of a loss, in words. */
  readonly unclear: string | undefined
  /** Operations whose answers never came, and are not seen in the result in any case. */
  readonly unseen?: readonly string[] | undefined
  /** The names of the invariants that the run could break. */
  readonly judged: readonly string[]
}

/** Among the trusted keys of a run: a number differs, and nothing is known yet of the runs in which nothing is lost. */
export const UNSETTLED = 'unsettled'

/** What the runs of an exploration so far show of a client. Each run is judged by it. */
export class Learned implements LearnedTelling {
  readonly noise = new Set<string>()
  isSettled = false
  /** Operations at which the client gives up, although it ends as usual after other faults. */
  readonly uneven = new Set<string>()
  /** Loops that it never left: it reads what nothing can change any more. */
  readonly loops = new Set<string>()
}

export interface RunResult {
  readonly telling?: RunTelling
  readonly digest: string
  readonly requests: readonly ObservedRequest[]
  readonly end: ClientEnd['kind']
  /** The loop that the client never left; undefined for none. */
  readonly loop?: string | undefined
  readonly broken: readonly BrokenInvariant[]
  /** The invariants that the waits of the client do not let judge, since they are not in simulated time. */
  readonly unjudged?: readonly string[]
  /** Positions of the items of the plan that changed something. */
  readonly fired: ReadonlySet<number>
  /** Positions of the items in the chain of causes of each violation, by signature. */
  readonly lineage: ReadonlyMap<string, ReadonlySet<number>>
  readonly boundaries: readonly Boundary[]
  /** The fields of records of own tables that have a status. */
  readonly statusFields?: readonly string[] | undefined
  /** Features of coverage: pairs of journal kinds, pairs of requests and statuses. */
  readonly features: ReadonlySet<string>
  /** Virtual time of the flow in microseconds. */
  readonly duration: Micros
  /** The things that the client created. */
  readonly created: readonly Pick<CreatedThing, 'id' | 'isAlive'>[]
  /** For the rules of later runs. Undefined unless this is a base run. */
  readonly base: BaseObservation | undefined
}
