import type { Micros } from '../kernel/duration.ts'

/** What becomes of an answer on its way to the client. */
export type WireOutcome =
  /** The connection is cut before anything of an answer. */
  | { readonly kind: 'reset' }
  /** Nobody takes the connection. */
  | { readonly kind: 'refused' }
  /** Nothing comes, and the connection stays. */
  | { readonly kind: 'hang' }
  /** It comes, later. */
  | { readonly kind: 'delayed'; readonly delay: Micros }
  /** The connection is cut after so many bytes of the body. */
  | { readonly kind: 'cut'; readonly after: number; readonly chunked: boolean }
  /** The body comes at this rate. */
  | { readonly kind: 'slow'; readonly bytesPerSecond: number }

/** An answer that no HTTP answer can say: each door looks at its fate and brings that about as well as it can. */
export class WireFaultResponse extends Response {
  readonly outcome: WireOutcome

  /** @param answer what the client would have got, or gets in the end */
  constructor(fate: WireOutcome, answer?: Response) {
    super(answer?.body ?? null, answer ?? { status: 200 })
    this.outcome = fate
  }

  /** The answer without its fate. */
  get withoutFault(): Response {
    return new Response(this.body, this)
  }
}

/** Whether its body comes as the world's time goes, so that nothing on its way may wait for its end. */
export function isEventStream(answer: Response): boolean {
  return answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
}

/** How a slow body is cut: the bytes of a piece, and how long each takes. */
export function chunkSchedule(
  bytes: number,
  bytesPerSecond: number,
): { readonly size: number; readonly interval: Micros } {
  // Ten pieces a second, and never more than a hundred, or a slow megabyte would be ten thousand wakings.
  const size = Math.max(1, Math.ceil(bytesPerSecond / 10), Math.ceil(bytes / 100))
  return { size, interval: Math.round((size / bytesPerSecond) * 1_000_000) }
}

/** How long a body takes at a rate. */
export function transferTime(bytes: number, bytesPerSecond: number): Micros {
  const { size, interval } = chunkSchedule(bytes, bytesPerSecond)
  return Math.ceil(bytes / size) * interval
}
