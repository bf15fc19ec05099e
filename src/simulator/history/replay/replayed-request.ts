/** A request of a recording that is sent again. Each of its steps waits for its line. */

import type { Micros } from '../../../kernel/duration.ts'
import { clearRealTimeout, eventLoopTurn, setRealTimeout } from '../../../lib/real-time.ts'
import type { IncomingRequest } from '../../../service/http/incoming-request.ts'
import { NoResponseError } from '../../../service/http/pipeline.ts'
import type { ResponseWaiter } from '../../../service/results.ts'
import type { InferenceHandle } from '../../../simulation/inference/request-row.ts'
import { decodeBody } from '../bodies.ts'
import type { RecordedBody, RequestLine } from '../lines.ts'
import type { WholeExchange } from '../timeline.ts'

/** Real milliseconds after which a request that does not act as recorded counts as diverged. */
const WAIT_LIMIT_MS = 20_000
/** Turns of the event loop in which a fault discards an answer. */
const DISCARD_TURNS = 3
/** How often a wait may begin again at one line: its request looks at its state, and waits on. */
const MAX_RELEASES = 3

/** The result of an attempt to bring a request forward. */
export type Progress = 'done' | 'waits' | 'stuck'

export type ReadResult = { readonly piece: Uint8Array } | { readonly body: 'over' | 'broken' }

/** Returns the request of a line. A `Request` of this process has no length, so that header is missing. */
export function createRequest(line: RequestLine, body: RecordedBody | undefined, signal: AbortSignal): Request {
  const { method, path } = line
  const content = method === 'GET' || method === 'HEAD' ? undefined : decodeBody(body)
  const { 'content-length': _, 'transfer-encoding': __, ...headers } = line.headers
  return new Request(`http://sim${path}`, { method, headers, signal, ...(content !== undefined && { body: content }) })
}

export class ReplayedRequest implements IncomingRequest {
  readonly line: RequestLine
  readonly clientAddress: string | undefined
  readonly path: string
  readonly request: Request
  readonly name: string
  /** The steps in the world so far. */
  steps = 0
  /** How often the service had an answer to it: a fault can repeat it. */
  answers = 0
  /** How often its client ended a request to a model. */
  ends = 0
  response: Response | undefined
  error: unknown
  isSettled = false
  /** Whether its client gave up. */
  hasLeft = false
  /** The time on the clock of its client; undefined for that of the world. */
  clientTime: Micros | undefined
  readonly #facts: WholeExchange
  readonly #elapsed: () => Micros
  readonly #abort = new AbortController()
  #gate: (() => void) | undefined
  #wait: ((isAborted: boolean) => void) | undefined
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #readResult: ReadResult | undefined
  #isReading = false
  /** Whether something from outside can end the request. */
  #mayEnd = false
  /** The ends that the recording has had so far. */
  #endLines = 0
  #onChange = () => {}

  constructor(facts: WholeExchange, elapsed: () => Micros) {
    const { line, body, name } = facts
    this.name = name
    this.#facts = facts
    this.#elapsed = elapsed
    this.line = line
    this.path = line.path
    this.clientAddress = line.address
    this.request = createRequest(line, body, this.#abort.signal)
  }

  /** Reads the headers as recorded: a `Request` of this process has no length. */
  readonly header = (name: string): string | null => this.line.headers[name.toLowerCase()] ?? null

  /** Sends the request. */
  start(send: (request: Request, incoming: IncomingRequest) => Response | Promise<Response>): void {
    Promise.resolve(send(this.request, this))
      .then(
        response => {
          this.response = response
        },
        (error: unknown) => {
          this.error = error ?? new Error('no answer')
        },
      )
      .then(() => {
        this.isSettled = true
        this.#onChange()
      })
  }

  onAnswered(): void {
    this.answers++
    this.#onChange()
  }

  enter(): Promise<void> {
    const { signal } = this.#abort
    if (signal.aborted) return Promise.reject(new NoResponseError(signal.reason))
    return new Promise((resolve, reject) => {
      this.#gate = resolve
      signal.addEventListener('abort', () => reject(new NoResponseError(signal.reason)))
      this.#onChange()
    })
  }

  onStep(): void {
    this.steps++
    this.#onChange()
  }

  waiterFor(): ResponseWaiter {
    return {
      isInstant: !this.#facts.isPaced,
      now: () => this.clientTime ?? this.#elapsed(),
      onBegin: (call: InferenceHandle) => {
        call.onEnd = state => {
          // What the first step does is not a line of its own.
          if (state === 'served' && !this.#mayEnd) return
          this.ends++
          this.#onChange()
        }
      },
      wait: (_, signal) =>
        new Promise((resolve, reject) => {
          this.#mayEnd = true
          this.#wait = isAborted => {
            this.#wait = undefined
            if (isAborted || signal.aborted) reject(signal.reason)
            else resolve()
          }
          this.#onChange()
        }),
    }
  }

  /** Lets the request take one more step. */
  step(): Promise<Progress> {
    const target = this.steps + 1
    return this.#until(() => this.steps >= target || this.isSettled, { opensGate: true })
  }

  /** Lets the client end its request to a model: it reads on, or it leaves. */
  async end(state: 'served' | 'left'): Promise<Progress> {
    const target = ++this.#endLines
    if (state === 'left') {
      // A fault that discards an answer does it without the client.
      for (let turn = 0; turn < DISCARD_TURNS && this.ends < target; turn++) await eventLoopTurn()
      if (this.ends < target) this.leave()
    } else if (this.#reader !== undefined) this.#read()
    return this.#until(() => this.ends >= target, {})
  }

  /** Lets a wait end with an answer. */
  ready(): Promise<Progress> {
    const target = this.answers + 1
    return this.#until(() => this.answers >= target || this.isSettled, {})
  }

  /** Lets the answer come. */
  settle(): Promise<Progress> {
    return this.#until(() => this.isSettled, {})
  }

  /** Reads the next piece of the body. */
  async read(): Promise<ReadResult | Exclude<Progress, 'done'>> {
    this.#read()
    const progress = await this.#until(() => this.#readResult !== undefined, {})
    const result = this.#readResult
    this.#readResult = undefined
    return progress === 'done' ? result! : progress
  }

  /** Gives up: the client leaves. */
  leave(): void {
    this.hasLeft = true
    if (this.#reader !== undefined) this.#reader.cancel().catch(() => {})
    this.#abort.abort(new Error('the client left'))
    this.#gate = undefined
    this.#wait?.(true)
  }

  /** Begins to read a body that is sent while it is made. */
  beginReading(body: ReadableStream<Uint8Array>): void {
    this.#reader = body.getReader()
  }

  #read(): void {
    if (this.#isReading || this.#readResult !== undefined || this.#reader === undefined) return
    this.#isReading = true
    this.#mayEnd = true
    this.#reader
      .read()
      .then(
        ({ done, value }) => {
          this.#readResult = done ? { body: 'over' } : { piece: value }
        },
        () => {
          this.#readResult = { body: 'broken' }
        },
      )
      .then(() => {
        this.#isReading = false
        this.#onChange()
      })
  }

  /** Waits until the request has come to a state. Its waits end meanwhile. */
  async #until(isThere: () => boolean, { opensGate = false }): Promise<Progress> {
    let releases = 0
    let isOver = false
    const timer = setRealTimeout(
      () => {
        isOver = true
        this.#onChange()
      },
      WAIT_LIMIT_MS,
      'held',
    )
    try {
      for (;;) {
        if (isThere()) return 'done'
        if (isOver) return 'stuck'
        if (opensGate && this.#gate !== undefined) {
          const open = this.#gate
          this.#gate = undefined
          open()
        } else if (this.#wait !== undefined) {
          if (++releases > MAX_RELEASES) return 'waits'
          this.#wait(false)
        } else if (this.#gate !== undefined) return 'waits'
        await new Promise<void>(resolve => {
          this.#onChange = resolve
          if (isThere() || this.#wait !== undefined || (opensGate && this.#gate !== undefined)) resolve()
        })
      }
    } finally {
      this.#onChange = () => {}
      clearRealTimeout(timer)
    }
  }
}
