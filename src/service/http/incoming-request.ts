/** What a transport knows of a request, and what it learns of its answer. */

import type { Micros } from '../../kernel/duration.ts'
import type { CancelSignal } from '../../lib/cancellation.ts'
import type { AnswerPart, PulledBody, ResponseWaiter } from '../results.ts'
import type { HeaderReader } from './authentication.ts'
import type { Exchange } from './exchange.ts'

/** The default waiter of a simulator, which can also hold a request until time is moved. */
export interface HoldingWaiter extends ResponseWaiter {
  /** @param skipNotice do not report that the request waits: its client moves time itself */
  hold(
    delay: Micros,
    signal: CancelSignal,
    part: AnswerPart,
    call: Parameters<ResponseWaiter['wait']>[3],
    skipNotice?: boolean,
  ): Promise<void>
}

/** The clock that a request waits on. */
export interface WaiterClock {
  readonly elapsed: Micros
  /** Simulated seconds in a real one; undefined unless the clock is scaled. */
  readonly speed: number | undefined
}

/** The address of a client whose transport knows none. */
export const LOCALHOST = '127.0.0.1'

/** What a transport knows of a request beside the `Request` itself. */
export interface IncomingRequest {
  /** The address of the caller, which `allowed_ips` of a token restricts. Default: 127.0.0.1. */
  readonly clientAddress?: string | undefined
  /**
   * Path and query below a base address, if the URL of the request has a prefix.
   *
   * @internal
   */
  readonly path?: string | undefined
  /**
   * Reads a header, if the transport rewrites some.
   *
   * @internal
   */
  readonly header?: HeaderReader | undefined
  /**
   * Path of the control plane of the world, for messages that explain how to move time.
   *
   * @internal
   */
  readonly controlPath?: string | undefined
  /**
   * Called when the request has its answer, or ended without one.
   *
   * @internal
   */
  onAnswered?(exchange: Exchange): void
  /**
   * Called with the answer of the endpoint to a request that a fault changes. Returns what the fault gets.
   *
   * @internal
   */
  onTruth?(answer: Response): Response
  /**
   * Called before the answer with the form of a request, also if a fault answers in place of the endpoint.
   *
   * @param parts its fields, and the hashes of `files`; undefined for another body
   * @internal
   */
  onForm?(parts: Readonly<Record<string, unknown>> | undefined): void
  /**
   * All headers by their names in lower case, if the transport has them as an object.
   *
   * @internal
   */
  readonly headerFields?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
  /**
   * Names and values of all headers in turn, as they came, if the transport has them so.
   *
   * @internal
   */
  readonly rawHeaders?: readonly string[] | undefined
  /**
   * The body as text, if the transport has read it whole. The request can be read too.
   *
   * @internal
   */
  readonly text?: string | undefined
  /**
   * Called before the request enters its world, once for the fault rules and once for the endpoint. A promise delays it.
   *
   * @internal
   */
  enter?(): void | Promise<void>
  /**
   * Called at each step of the request in its world: the choice of a fault rule, or the endpoint.
   *
   * @param body the body as text; its bytes if they are not UTF-8; undefined if it is not read, or an upload
   * @internal
   */
  onStep?(body: string | Uint8Array | undefined): void
  /**
   * Creates the waiter of a client that waits in its own way. Called only if the response may have to be waited for.
   *
   * @internal
   */
  waiterFor?(defaultWaiter: HoldingWaiter, clock: WaiterClock): ResponseWaiter
  /**
   * Called before the response, if its body is a stream that follows the clock of the world.
   *
   * @internal
   */
  onStreamed?(): void
  /**
   * Takes the body of a stream, which the transport sends without a `ReadableStream`. The response has no body then.
   *
   * @param headers those of the response; one may be added until it is returned
   * @returns false if the response shall have the body
   * @internal
   */
  takeBody?(body: PulledBody, headers: Readonly<Record<string, string>>): boolean
}

export const NO_INCOMING: IncomingRequest = Object.freeze({})
