/** What a client did in a world and what it left there: the input of every rule. */

import type { Micros } from '../../kernel/duration.ts'
import type { OpenName } from '../../lib/fields.ts'
import type { Exchange, faultOf } from '../../service/http/exchange.ts'
import type { Simulator } from '../simulator-interface.ts'
import type { AnswerBody } from './answers/answer-body.ts'
import type { Contents, Normalise } from './answers/contents.ts'
import type { Place, Teller } from './answers/leaves.ts'

/** How a request ended for its client. `unanswered`: the client still waited, gave up, or ended. */
export type RequestOutcome = 'answered' | 'failed' | 'unanswered'

type SeenField = 'operation' | 'method' | 'path' | 'sentAt' | 'status' | 'retryAfter' | 'decidedBy'

/** A request as its client saw it. Times are microseconds since the epoch of the world. Its status is 0 unless `answered`. */
export interface ObservedRequest extends Pick<Exchange, SeenField>, Partial<Pick<Exchange, 'seq' | 'client'>> {
  /** Its number in words and evidence: the position among the requests of a flow or of a world, from 1. */
  readonly index: number
  /**
   * The parsed JSON or the text; undefined for no body. Of a form, it is the fields and the hashes of `files`. In a request
   * log, it is undefined for an upload.
   */
  readonly body: unknown
  /** When the answer or the failure of the connection arrived; undefined if `unanswered`. */
  readonly endedAt: Micros | undefined
  /** The index of the last request that was sent before this one ended. Undefined if only the times are known. */
  readonly lastSentByEnd?: number | undefined
  readonly outcome: RequestOutcome
  /** The parsed JSON or the text of the answer; undefined if the client did not read it, and in a request log. */
  readonly answer: unknown
  /** What the client read of the body; undefined for nothing, and in a request log. */
  readonly read?: AnswerBody | undefined
  /** What the service answered, as far as a fault let it pass. Undefined without a fault that changes an answer. */
  readonly truth?: AnswerBody | undefined
  /** Why the client could not read the answer to its end, or parse it as JSON; undefined if it could. */
  readonly readError: string | undefined
  /** The fault rule that changed the answer; undefined for none. */
  readonly fault: ReturnType<typeof faultOf>
  /** Which start of the client sent it: 1, and one more after each crash. */
  readonly start: number
}

/** How the client ended. */
export type ClientEnd =
  /** `blobs`: those of the result, with their base64. */
  | { readonly kind: 'returned'; readonly result: unknown; readonly blobs?: ReadonlyMap<unknown, string> }
  /** `isUnhandled`: a rejection that nothing handled, or an error of a timer, ended its process. */
  | { readonly kind: 'threw'; readonly error: unknown; readonly isUnhandled?: true }
  /**
   * It did not end within the bound of the rule `settles`. It waits for nothing if it sent more requests than a run may
   * have. `bound` is the limit that ended it, if it is not one on the time of the world.
   */
  | { readonly kind: 'unsettled'; readonly waitsFor: string | undefined; readonly bound?: string }

/** A kind of thing of the provider, or the kind of a user's record table. */
export type CreatedKind = OpenName<'deployment' | 'adapter' | 'hosted' | 'container' | 'batch'>

/** A thing that costs money or may, which a request of the client created. */
export interface CreatedThing {
  readonly kind: CreatedKind
  readonly id: string
  readonly createdAt: Micros
  /** The request that created it. */
  readonly request: ObservedRequest
  readonly status: string
  /** Whether it runs, waits or works after the recovery of the world. */
  readonly isAlive: boolean
  /** Its cost so far in micro-cents. */
  readonly microcents: number
}

/** Settings of rules. */
export interface RuleSettings {
  /** The longest time that a client may take, in microseconds. */
  readonly settles: Micros
  /** Reads of one thing in a second of the world. */
  readonly pollsAtMost: number
  /** US dollars; undefined: no limit. */
  readonly spendsAtMost: number | undefined
  /** `always`: a client that gives up under one temporary fault breaks the rule `recovers`. */
  readonly recovers?: 'always' | undefined
}

/**
 * What the requests of a client and its world tell without a run of the client: the input of rules of conduct. An observation
 * of `explore` is one. A judgement makes one for each client of a request log.
 */
export interface Conduct {
  /** True in a judgement: the requests are those of a log, which has no answers. */
  readonly isFromLog?: boolean
  /** In the order in which they were sent. */
  readonly requests: readonly ObservedRequest[]
  readonly created: readonly CreatedThing[]
  /** The ids of things that may go on: those that the result or the error of the client names, or that `keep` names. */
  readonly owned: ReadonlySet<string>
  /** The simulator. In an observation it is that after the recovery: faults removed, failures ended, some time passed. */
  readonly sim: Simulator
  /** In a judgement, the client counts as one that returned. */
  readonly end: ClientEnd
  /** When the client started. In a judgement: the start of the world. */
  readonly startedAt: Micros
  /** When the client ended. In an observation, the recovery comes after it. */
  readonly endedAt: Micros
  /** Crashes of the client after which it started again. */
  readonly crashes: number
  readonly settings: Pick<RuleSettings, 'pollsAtMost'>
  /** The same client without faults; undefined if this is it, and in a judgement. */
  readonly base?: BaseObservation | undefined
}

/** What a client did in a world and what it left there, with what only the one who ran it knows. */
export interface Observation extends Conduct {
  /** What the flow says are the results of its batch lines. Default: the whole result is searched. */
  readonly lines?: readonly unknown[] | undefined
  /** What the client printed. */
  readonly output: string
  readonly settings: RuleSettings
  /** The micro-cents per hour that each thing cost before the client. */
  readonly ratesBefore: ReadonlyMap<string, number>
  /** What its requests changed, by key. */
  readonly effects: ReadonlyMap<string, Effect>
  /** What the flow itself says of the result: whether it tells that something is missing. Default: the result shows it. */
  readonly tells?: boolean | undefined
  /** Whether people read what the client prints, so that it can tell of a loss. */
  readonly isRead?: boolean | undefined
  /** What earlier runs of the client showed. */
  readonly learned?: LearnedTelling | undefined
  /** How it ended, if the run had one fault, which passes. */
  readonly recovery?: Recovery | undefined
}

/** What rules compare with: the run of the same client without faults. */
export interface BaseObservation {
  readonly end: ClientEnd
  /** The things, and a text for each that is equal for things of equal creates. */
  readonly created: readonly (CreatedThing & { readonly work: string })[]
  /** The time from the start of the client to its end. */
  readonly duration: Micros
  readonly requests: readonly ObservedRequest[]
  readonly effects: ReadonlyMap<string, Effect>
  readonly output: string
  /** The micro-cents per hour of each thing that was there before the client: before it or after it, whichever is more. */
  readonly rates: ReadonlyMap<string, number>
  /** The ids of the deployments that have failed or were stopped. */
  readonly ended: ReadonlySet<string>
  /** What the service said. */
  readonly answers: AnswersOfRun
  /** The lines of batches with an answer, by `custom_id`. */
  readonly answered: ReadonlySet<string>
}

/** A question and its answers in one run. Two requests with one question ask for one answer. */
export interface Question {
  readonly key: string
  readonly operation: string
  /** The last request that asked it. */
  last: ObservedRequest
  /** The last request without a whole answer, unless later ones got as many as the result without faults has. */
  open: ObservedRequest | undefined
  /** The last request without a whole answer, even if a later one got it. */
  failed: ObservedRequest | undefined
  /** What its whole answers have, as far as the client read them. */
  readonly contents: Contents
  /** Without faults, the contents of each answer that is unlike the one before it. */
  readonly answers: Contents[]
  /** How many whole answers it got. */
  whole: number
}

/** What the service said in one run. */
export interface AnswersOfRun {
  readonly questions: ReadonlyMap<string, Question>
  readonly normalise: Normalise
  /** The texts of all whole answers. */
  readonly texts: ReadonlySet<string>
  /** The names of the fields of all whole answers. */
  readonly fields: ReadonlySet<string>
}

/** A value that the client lost. */
export interface Loss {
  readonly place: Place
  /** The value without faults. */
  readonly usual: unknown
  /** What is there in place of the value, as in `only a part of it`. */
  readonly instead: string
  /** The request that was not answered whole, or that showed the bad end. */
  readonly cause: ObservedRequest
  readonly verdict: 'said' | 'unsaid' | 'unclear'
  readonly tellers: readonly Teller[]
}

/** What the runs of an exploration so far show of a client. */
export interface LearnedTelling {
  /** Keys of places that differ also in runs in which nothing is lost. */
  readonly noise: ReadonlySet<string>
  /** Whether enough runs were seen to trust that other places differ by a loss alone. */
  readonly isSettled: boolean
}

export interface LossReport {
  readonly losses: readonly Loss[]
  /** Whether the service did not say something that the client asked for, so that it could lose it. */
  readonly isJudged: boolean
  /** Keys of places that differ although nothing is lost. */
  readonly noise: readonly string[]
  /** Whether a number differs because the service says another one now. */
  readonly showsState: boolean
  /** Operations that never gave their answer, which the result shows neither without faults nor now: a loss cannot be seen. */
  readonly unseen: readonly string[]
}

/** What requests did to one thing, one setting or the funds. */
export interface Effect {
  /** The kind of thing or setting, as in `token` or `spendingLimit.set`. */
  readonly what: string
  /** Its name, if the journal tells. */
  readonly name: string
  /** How often it was created, or the cents that were paid. */
  made: number
  deleted: number
  /** How often it was made, deleted or set. */
  changes: number
  /** The last value of a setting, or the last order. */
  value: string | undefined
  /** What a file has, and its hash; undefined if it is deleted. */
  hash?: string
  chunks?: readonly Uint8Array[]
  /** The last request that changed it. */
  request: ObservedRequest
  /** The id of the thing. */
  id: string
}

/**
 * `usual`: as without faults. `said`: it returned less, or something else, and said so. `gaveUp`: it threw an error of its
 * own. `raw`: it let an error of the platform through. `crash`: its own code failed, or an error was not handled.
 * `endless`: it did not end.
 */
export const GRADES = ['usual', 'said', 'gaveUp', 'raw', 'crash', 'endless'] as const
export type Grade = (typeof GRADES)[number]

/** What the rule `recovers` looks at. */
export interface Recovery {
  readonly grade: Grade
  /** Whether the client ends as usual after nearly all other faults. */
  readonly isUneven: boolean
}
