/** What reaches a simulator from outside, for an observer that records it. */

import type { Micros } from '../kernel/duration.ts'
import type { Entry, RequestEntry } from '../kernel/journal.ts'
import type { IncomingRequest } from '../service/http/incoming-request.ts'
import type { ScriptedAnswers, ScriptRule } from '../service/openai/scripted-answers.ts'
import type { WebhookOutcome } from '../simulation/inference/webhooks.ts'
import type { Command, Repetition } from '../simulation/operations/commands.ts'
import type { World } from '../simulation/world.ts'
import type { ClockSetting } from './clock/settings.ts'
import type { UserWrite } from './collection-sync.ts'
import type { FaultRule } from './faults/rules.ts'
import type { TimelineAction } from './timelines.ts'

/** A change of a simulator that no request makes, as data. It takes effect at once. */
export type ControlAction =
  | {
      readonly do: 'command'
      readonly command: Command
      readonly delay?: Micros | undefined
      readonly repetition?: Repetition | undefined
    }
  | { readonly do: 'addFault'; readonly rule: FaultRule }
  | { readonly do: 'removeFault'; readonly id: string }
  | { readonly do: 'addAnswer'; readonly rule: ScriptRule }
  | { readonly do: 'removeAnswer'; readonly name: string }
  | { readonly do: 'clearAnswers' }
  | TimelineAction
  | { readonly do: 'setClock'; readonly clock: ClockSetting }
  /** `snapshot` has the state after the reset in Base64, if it is not that of the options; `journal` its entries. */
  | { readonly do: 'reset'; readonly snapshot?: string; readonly journal?: number }
  /** `snapshot` has the bytes of the snapshot in Base64. */
  | { readonly do: 'restore'; readonly snapshot: string }
  /** The outcome of an attempt to deliver a webhook. */
  | {
      readonly do: 'settleWebhook'
      readonly attempt: { readonly ordinal: number; readonly use: number; readonly attempt: number }
      readonly outcome: WebhookOutcome
    }
  /** The end of a request to a model that was in progress when the recording began. */
  | {
      readonly do: 'endInference'
      readonly ordinal: number
      readonly state: 'served' | 'left'
      readonly tokens: number
    }
  | ({ readonly do: 'writeData' } & UserWrite)
  /** A request to the control plane that the journal lists. Its effects are actions of their own. */
  | { readonly do: 'listControlRequest'; readonly operation: string; readonly method: string; readonly path: string }

export type AnswerRequest = (request: Request, incoming: IncomingRequest) => Response | Promise<Response>

/** Sees everything that reaches a simulator from outside, in the order in which its world performs it. */
export interface SimulatorObserver {
  /**
   * Answers a request with `answer`, possibly with another `incoming`.
   *
   * @param isLook whether no client sent the request: a move of the clock looks at an answer
   */
  answer(
    request: Request,
    incoming: IncomingRequest,
    answer: AnswerRequest,
    isLook: boolean,
  ): Response | Promise<Response>
  /** Called before an action that may replace the world. Returns the function to call when it has been performed. */
  onBeforeAction(): (action: ControlAction) => void
  /** Called right after each other action. */
  onAction(action: ControlAction): void
}

/** Performs an action and reports it. Actions within it are part of it. */
export type PerformAction = <Result>(describe: () => ControlAction, perform: () => Result) => Result

/** @internal */
type ScriptChange = Parameters<NonNullable<ScriptedAnswers['onChange']>>[0]

/**
 * Returns the action of a change of scripted answers.
 *
 * @internal
 */
export function toAnswerAction(change: ScriptChange): ControlAction {
  if (change === 'cleared') return { do: 'clearAnswers' }
  return 'added' in change ? { do: 'addAnswer', rule: change.added } : { do: 'removeAnswer', name: change.removed }
}

/** Adds a request to the control plane to the journal. It is closed at once: it causes no later event. */
export function listControlRequest(world: World, operation: string, method: string, path: string): RequestEntry {
  const entry = world.openRequest(operation, method, path)
  world.closeRequest(entry, 0)
  return entry
}

/** Records a write of the user to the reference data. */
export function recordUserWrite(world: World, { kind, key, action }: UserWrite): void {
  world.recordCommand(world.ledger.account, `data.${action}d`, { kind, key })
}

/** Throws RangeError if requests are in progress: an observer would miss their first steps. */
export function assertQuiet(open: number): void {
  if (open === 0) return
  throw new RangeError(
    `Failed to record: ${open === 1 ? 'a request is' : `${open} requests are`} in progress. Await the answers first, with their bodies.`,
  )
}

export function alreadyRecordedError(): RangeError {
  return new RangeError('Failed to record: a recording of this simulator is in progress. Stop it first.')
}

/** The observer of a simulator, and its reports. */
export class ObserverSlot {
  observer: SimulatorObserver | undefined
  #isPerforming = false

  /**
   * Attaches an observer. Returns the function that detaches it.
   *
   * @throws RangeError if there is one
   */
  attach(observer: SimulatorObserver): () => void {
    if (this.observer !== undefined) throw alreadyRecordedError()
    this.observer = observer
    return () => {
      if (this.observer === observer) this.observer = undefined
    }
  }

  readonly perform: PerformAction = (describe, perform) => {
    if (this.observer === undefined || this.#isPerforming) return perform()
    const action = describe()
    const onPerformed = this.observer.onBeforeAction()
    this.#isPerforming = true
    let result: ReturnType<typeof perform>
    try {
      result = perform()
    } finally {
      this.#isPerforming = false
    }
    onPerformed(action)
    return result
  }

  /** Reports an action that has happened, unless it is part of another. */
  readonly report = (action: ControlAction): void => {
    if (!this.#isPerforming) this.observer?.onAction(action)
  }
}

/** Below this path are the requests to the simulator itself. */
const CONTROL_PATH = /^\S+ \/_sim(?:\/|$)/

/** Tells whether a request went to the control plane: an entry that the action `listControlRequest` wrote. */
export function isControlRequest({ kind, subject }: Entry): boolean {
  return kind === 'request' && CONTROL_PATH.test(subject)
}
