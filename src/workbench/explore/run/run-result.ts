/** What remains of a run: no world, so that its memory is given back. */

import type { Micros } from '../../../kernel/duration.ts'
import type {
  BaseObservation,
  ClientEnd,
  CreatedThing,
  Grade,
  LearnedTelling,
  ObservedRequest,
} from '../../../simulator/judge/observation.ts'

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
  readonly time: Micros
  /** The node of an instance, the GPU type of a deployment: what commands need as their target. */
  readonly node?: string
  readonly gpu?: string
  /** The output file of a batch that has ended. */
  readonly file?: string
}

/** What a run shows of how a client tells of losses and ends. Other runs of the client are judged by it. */
export interface RunTelling {
  readonly grade: Grade
  /** Places that differ although nothing is lost. */
  readonly noise: readonly string[]
  /** Keys of places that tell, if nothing more certain does: other runs can show that they say nothing. */
  readonly trusted: readonly string[]
  /** The places that said of a loss, in words. */
  readonly said: string | undefined
  /** The places that may tell of a loss, in words. */
  readonly unclear: string | undefined
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
