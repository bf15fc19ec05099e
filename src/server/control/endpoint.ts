import { createEndpointFactory, type Operations } from '../../service/endpoint.ts'
import { RefusalError, refuse } from '../../service/refusals.ts'
import type { MoneyView } from '../../simulator/explain/money-tracker.ts'
import type { Pasts } from '../../simulator/history/past/pasts.ts'
import { TooManyReaders } from '../../simulator/requests/event-reader.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { TimelineLibrary } from '../../simulator/timelines.ts'
import { TooManyWorlds, type Worlds } from '../worlds/worlds.ts'
import type { EventTexts } from './event-stream.ts'

/** Writes a page that runs recordings of worlds again. */
export type WritePage = (content: {
  readonly title: string
  readonly worlds: readonly { readonly title: string; readonly recording: string }[]
}) => string | Promise<string>

/** What handlers of the control plane get in addition to their input. */
export interface ControlScope {
  sim: Simulator
  /** The worlds of the server, including that of `sim`. */
  worlds: Worlds
  /** The scenarios whose timelines the server can play. */
  library: TimelineLibrary
  /** The texts of live events of `sim` that its readers share. */
  eventTexts(): EventTexts
  /** The pasts of the worlds. */
  pasts: Pasts
  /** Returns where the money of the account of `sim` goes. */
  lookAtMoney(): MoneyView
  /** Writes a saved page; undefined if the host cannot. */
  writePage: WritePage | undefined
  /** Every operation of the control plane. */
  operations: Operations
  /** Calls `act`. The journal names this request as the cause of its commands and fault rules. */
  actAsRequest<Result>(act: () => Result): Result
}

/** Declares an endpoint of the control plane; its export name is its operation id. */
export const control = createEndpointFactory<ControlScope, true>('assumed')

/** A value of JSON as the types of answers have it: its lists and fields may be changed. */
export type Answered<Value> = Value extends string
  ? Value
  : Value extends object
    ? { -readonly [Name in keyof Value]: Answered<Value[Name]> }
    : Value

/**
 * Calls the simulator, and turns its error about invalid input into a refusal, and that about too many worlds or
 * readers into a 429. Nothing has changed then.
 *
 * @example await refuseInvalid(() => sim.clock.advanceInSlices(body.by))
 */
export async function refuseInvalid<T>(command: () => T | Promise<T>, status = 400): Promise<T> {
  try {
    return await command()
  } catch (error) {
    if (error instanceof RefusalError) throw error
    if (error instanceof TooManyWorlds || error instanceof TooManyReaders) refuse(429, error.message)
    // The simulator throws a RangeError for invalid input, and an EventCapError for a move with too many events.
    if (error instanceof RangeError || (error as Error).name === 'EventCapError')
      refuse(status, (error as Error).message)
    throw error
  }
}
