/** Judgements: what the clients of a world did wrong. */

import type { ConductRule } from './rule.ts'
import type { ConductRuleName } from './rules/conduct/index.ts'

/** What `sim.judge` is asked. */
export interface JudgeOptions {
  /** `false` turns a rule off. An object with a check is a rule of your own, as `defineRule` declares it. */
  readonly rules?: JudgeRules | undefined
  /** Reads of one thing in a second of the world that are advised. Default: 1. */
  readonly pollsAtMost?: number | undefined
  /** Ids of things that may go on when the client has ended. */
  readonly keep?: readonly string[] | undefined
  /** The id or the name of the API token whose client is judged, `''` for requests without a token. Default: all clients. */
  readonly client?: string | undefined
}

export type JudgeRules = {
  readonly [Name in ConductRuleName]?: boolean
} & { readonly [own: string]: boolean | ConductRule | undefined }

/** A client that broke a rule. */
export interface JudgeFinding {
  /** The name of the rule. */
  readonly rule: string
  /** The id of the API token of the client; `''` for requests without a token, `*` for several clients. */
  readonly client: string
  /** What happened, in one to three sentences. */
  readonly words: string
  /** The operation at which the client went wrong; `''` for none. */
  readonly operation: string
  /** The id of the thing that it is about; missing if it is about no thing. */
  readonly subject?: string
  /** Requests, journal entries and postings, a line for each. */
  readonly evidence: readonly string[]
  /** Why it is a rule. */
  readonly source: string
  readonly advice: string
  /** The number of its world in a recording of several worlds, from 1. A reset or a restore begins the next one. */
  readonly world?: number
}

/** A client that was judged: the requests with one API token. */
export interface JudgedClient {
  /** The id of its API token; `''` for requests without one. */
  readonly client: string
  /** The name of its API token; `''` if it is unknown. */
  readonly name: string
  readonly requests: number
}

/** What the clients of a world did wrong. */
export interface Judgement {
  readonly findings: readonly JudgeFinding[]
  /** The names of the rules that were applied. */
  readonly rules: readonly string[]
  /** In the order of their first requests. */
  readonly clients: readonly JudgedClient[]
  /** Older requests that are no longer kept, so that nothing is said about them. */
  readonly dropped: number
  /** How many worlds a recording has, if it has several. A reset or a restore begins the next one. */
  readonly worlds?: number
}
