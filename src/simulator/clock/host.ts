/** The simulator as its clock sees it. */
import type { Micros } from '../../kernel/duration.ts'
import type { CancelSignal } from '../../lib/cancellation.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import type { World } from '../../simulation/world.ts'
import type { ClockSetting } from './settings.ts'

/** Options of a clock in the process of a test runner. */
export interface ClockOptions {
  /** `drive` moves the fake timers of a test runner in step with the world; `ignore` does not. Default: `drive`. */
  readonly timers?: 'drive' | 'ignore' | undefined
}

/** The requests that are not answered yet. */
export interface RequestsInFlight {
  /** How many there are. */
  readonly count: number
  /** Each as method and path. */
  readonly names: readonly string[]
  /** Grows with each activity of a client: a request that arrives or is answered. */
  readonly activity: number
  /** Whether one of them waits for code that is loaded on first use. */
  readonly isLoading: boolean
}

/** The simulator that a clock belongs to. */
export interface ClockHost {
  readonly world: World
  /** Loads what the world needs before it can move. */
  prepare(): Promise<void>
  /** Resolves when no webhook is being delivered: its receiver is a client too. */
  whenWebhooksSettled(): Promise<void>
  readonly inFlight: RequestsInFlight
  /** Called with each setting that the user gives. */
  onSet?(setting: ClockSetting): void
}

/** A request whose answer waits for time. It remains one wait when it checks the time again. */
export interface RequestWait {
  /** Method and path. */
  readonly request: string
  readonly operation: string | undefined
  /** The inference request that waits for an instance; undefined if a wire fault delays the answer. */
  readonly call?: InferenceHandle | undefined
  /** Of an answer of a model: the part that its client waits for now. */
  readonly part?: 'turn' | 'head' | 'body' | undefined
  /** Address of the control plane of its world, if it has one. */
  readonly controlUrl?: string | undefined
  /** Start of the wait by the world's clock, and by the real one. */
  readonly since: Micros
  readonly sinceMs: number
  /** The request, kept while it waits: the signal of one with a form only weakly follows that of its client. */
  readonly source?: Request
  /** Whether a notice has reported it. */
  isReported: boolean
}

/** The wait for a held answer. */
export interface HoldOptions {
  readonly signal: CancelSignal
  /** The request that waits. It is listed, and reported on stderr if time does not move. */
  readonly request?: RequestWait | undefined
  /** Whether its request is in flight meanwhile. */
  readonly isInFlight?: boolean
  /** Whether a client waits, which is then idle. Default: true. */
  readonly isClient?: boolean
}
