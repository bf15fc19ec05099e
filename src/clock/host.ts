/** What a clock belongs to. */
import type { World } from '../simulation/world.ts'
import type { RequestWait } from './waiting-requests.ts'

/** How a clock treats what it finds in its process. */
export interface ClockOptions {
  /** `ignore` leaves fake timers of a test runner alone; unless given they are driven in step with the world. */
  readonly timers?: 'drive' | 'ignore' | undefined
}

/** What the clock needs of the simulator it belongs to. */
export interface ClockHost {
  readonly world: World
  /** Loads what the world needs before it can move. */
  prepare(): Promise<void>
  /** Counts the signs of life of clients: requests that entered, bodies that were read. */
  readonly activity: number
  /** Requests that entered and are not answered yet, each as method and path. */
  readonly inFlight: readonly string[]
}

/** Who waits for an answer that is held back. */
export interface HoldOptions {
  readonly signal: AbortSignal
  /** What waits: it is listed, and told of on stderr when time stands. */
  readonly request?: RequestWait | undefined
  /** Whether its request is in flight meanwhile. */
  readonly isInFlight?: boolean
}
