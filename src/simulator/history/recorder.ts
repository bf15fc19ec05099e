/** Records what reaches a simulator from outside, in the order in which its world performs it. */

import { type IncomingRequest, LOCALHOST } from '../../service/http/incoming-request.ts'
import { toPathAndQuery } from '../../service/http/request-context.ts'
import { sourceOf } from '../../service/http/response-source.ts'
import { isOpenapiRequest } from '../../service/http/service.ts'
import type { World } from '../../simulation/world.ts'
import { isStreamed, WireFaultResponse } from '../faults/wire-faults.ts'
import {
  type AnswerRequest,
  alreadyRecordedError,
  assertQuiet,
  type ControlAction,
  type SimulatorObserver,
} from '../observer.ts'
import type { Simulator } from '../simulator-interface.ts'
import { encodeAnswer, encodeAnswerText } from './bodies.ts'
import { CredentialRecorder, type RequestTarget } from './credentials.ts'
import { encodeRecordedState } from './header.ts'
import type { AnswerLine, Position, RecordedBody, RequestLine, StepLines } from './lines.ts'
import { RequestTap } from './request-tap.ts'

/** Where the lines of a recorder go. */
export interface RecordingSink {
  readonly kind: 'recording' | 'past'
  /** Whether a reset leads to a state from before its first line, so that its line needs that state. */
  readonly needsResetState: boolean
  add(line: StepLines): void
}

/** Observes a simulator for one recording, for its past, or for both. */
export class Recorder implements SimulatorObserver {
  readonly #sim: Simulator
  readonly #credentials: CredentialRecorder
  readonly #detach: () => void
  #sinks: readonly RecordingSink[] = []
  /** The world of the last line, and the events that it had performed when the recorder or the world began. */
  #world: World
  #eventsBefore: number
  #requests = 0
  /** The position of the last line: many lines have the same. */
  #position: Position = [0, 0]
  /** The request that is being sent, until its first step. */
  #sending: RequestTap | undefined
  /** Other requests without a step so far. */
  readonly #arrived = new Set<RequestTap>()

  private constructor(sim: Simulator) {
    this.#sim = sim
    this.#credentials = new CredentialRecorder(sim)
    this.#world = sim.world
    this.#eventsBefore = sim.world.agenda.taken
    this.#detach = sim.observe(this)
    sim.api.keepSources()
    const { world } = sim
    for (const handle of world.inferenceRequests.handles.values()) {
      const { ordinal } = handle
      handle.onEnd = (state, tokens) => {
        // The request of another world is over with that world.
        if (sim.world === world) this.onAction({ do: 'endInference', ordinal, state, tokens })
      }
    }
  }

  /**
   * Returns the recorder of a simulator with one more sink.
   *
   * @param createSink gets the present position
   * @throws RangeError if requests are in progress, or if there is another observer or a sink of the same kind
   */
  static attach(sim: Simulator, createSink: (at: Position) => RecordingSink): Recorder {
    if (!(sim.observer instanceof Recorder)) {
      const recorder = new Recorder(sim)
      try {
        recorder.#sinks = [createSink(recorder.position)]
      } catch (error) {
        recorder.#detach()
        throw error
      }
      return recorder
    }
    const recorder = sim.observer
    assertQuiet(sim.openRequests)
    const sink = createSink(recorder.position)
    if (recorder.#sinks.some(({ kind }) => kind === sink.kind)) throw alreadyRecordedError()
    recorder.#sinks = [...recorder.#sinks, sink]
    return recorder
  }

  /** The time of the world, and the number of its events since the recorder or the world began. */
  get position(): Position {
    const { world } = this.#sim
    if (world !== this.#world) {
      this.#world = world
      this.#eventsBefore = 0
    }
    const { now } = world.clock
    const events = world.agenda.taken - this.#eventsBefore
    const last = this.#position
    if (last[0] !== now || last[1] !== events) this.#position = [now, events]
    return this.#position
  }

  /** Removes a sink. Does nothing if it is removed already. */
  remove(sink: RecordingSink): void {
    if (!this.#sinks.includes(sink)) return
    this.#sinks = this.#sinks.filter(other => other !== sink)
    if (this.#sinks.length === 0) this.#detach()
  }

  /** Adds a line. */
  add(line: StepLines): void {
    for (const sink of this.#sinks) sink.add(line)
  }

  /** Adds the line of a request at its first step, or when it has arrived. */
  addRequest(recorded: RequestTap, body: RecordedBody | undefined, isArrived: boolean): void {
    if (this.#sending === recorded) this.#sending = undefined
    else if (!isArrived) this.#arrived.delete(recorded)
    const { request, incoming, clientAddress } = recorded
    const line: { -readonly [Key in keyof RequestLine]: RequestLine[Key] } = {
      request: recorded.number,
      at: this.position,
      method: request.method,
      path: this.#credentials.hide(targetOf(recorded).target),
      headers: this.#credentials.recordHeaders(request, incoming),
    }
    if (body !== undefined) line.body = body
    if (clientAddress !== undefined && clientAddress !== LOCALHOST) line.address = clientAddress
    if (recorded.isLook) line.look = true
    if (isArrived) line.arrived = true
    this.add(line)
  }

  keepBody(recorded: RequestTap, body: string | Uint8Array): RecordedBody {
    if (typeof body !== 'string') return this.#credentials.recordRefusedBytes(body)
    return this.#credentials.recordBody(targetOf(recorded), body)
  }

  /** Adds the requests that have arrived before an action: it may change what they meet at their first step. */
  #addArrived(): void {
    for (const request of this.#arrived) request.arrive()
    this.#arrived.clear()
    this.#sending?.arrive()
  }

  onAction(action: ControlAction): void {
    this.#addArrived()
    this.add({ action: this.#credentials.recordAction(action), at: this.position })
  }

  onBeforeAction(): (action: ControlAction) => void {
    this.#addArrived()
    // The world may be another one afterwards.
    const at = this.position
    return action => {
      const kept = this.#credentials.recordAction(action)
      for (const sink of this.#sinks) {
        const needsState = action.do === 'reset' && sink.needsResetState
        sink.add({ action: needsState ? this.#describeReset() : kept, at })
      }
    }
  }

  /** Returns a reset to a state before the recording, with that state. */
  #describeReset(): ControlAction {
    const snapshot = encodeRecordedState(this.#sim)
    return { do: 'reset', snapshot, journal: this.#sim.world.journal.last }
  }

  answer(
    request: Request,
    incoming: IncomingRequest,
    answer: AnswerRequest,
    isLook: boolean,
  ): Response | Promise<Response> {
    // It does not reach the world, and logs and judgements do not count it.
    if (isOpenapiRequest(request, incoming)) return answer(request, incoming)
    const recorded = new RequestTap(this, ++this.#requests, request, incoming, isLook)
    const type = uploadType(request, incoming)
    if (type !== undefined) return this.#answerUpload(request, type, recorded, answer)
    return this.#perform(request, recorded, answer)
  }

  /** Reads the whole upload first: endpoints read its parts alone. */
  async #answerUpload(request: Request, type: string, recorded: RequestTap, answer: AnswerRequest): Promise<Response> {
    const bytes = await request.arrayBuffer()
    recorded.upload = this.#credentials.recordUpload(targetOf(recorded), type, new Uint8Array(bytes))
    const { method, headers, signal } = request
    const sent = new Request(request.url, { method, headers, signal, body: bytes })
    return this.#perform(sent, recorded, answer)
  }

  /** Performs a request, and records its answer. */
  #perform(request: Request, recorded: RequestTap, answer: AnswerRequest): Response | Promise<Response> {
    // Another one can be on its way to its first step, when the clock looks at an answer.
    if (this.#sending !== undefined) this.#arrived.add(this.#sending)
    this.#sending = recorded
    const answering = answer(request, recorded)
    if (this.#sending === recorded) {
      this.#sending = undefined
      this.#arrived.add(recorded)
    }
    if (!(answering instanceof Promise)) return this.#recordAnswer(answering, recorded)
    return answering.then(
      response => this.#recordAnswer(response, recorded),
      (error: unknown) => {
        // A request that its client aborted before its first step was never in the world.
        if (recorded.hasBegun) recorded.end({ status: 0 })
        else this.#arrived.delete(recorded)
        throw error
      },
    )
  }

  #recordAnswer(response: Response, recorded: RequestTap): Response | Promise<Response> {
    const source = recorded.isChanged ? undefined : sourceOf(response)
    if (source === undefined) return this.#recordReadAnswer(response, recorded)
    const { headers, text } = source
    const body = encodeAnswerText(this.#credentials.recordAnswer(targetOf(recorded).target, text))
    recorded.end({ status: response.status, headers: this.#credentials.hideIn(headers), body })
    return response
  }

  /** Records an answer that has to be read. */
  async #recordReadAnswer(response: Response, recorded: RequestTap): Promise<Response> {
    const { status } = response
    const headers = Object.fromEntries(response.headers)
    const recordedHeaders = this.#credentials.hideIn(headers)
    const outcome = response instanceof WireFaultResponse ? response.outcome : undefined
    const note = (content: Pick<AnswerLine, 'body' | 'streamed'>) =>
      recorded.end({ status, headers: recordedHeaders, ...content, ...(outcome !== undefined && { wire: outcome }) })
    const rebuild = (body: BodyInit | null) => {
      // A server in a process of its own gives an answer without a type one when its body is read.
      const rebuilt = new Response(body, { status, headers })
      return outcome === undefined ? rebuilt : new WireFaultResponse(outcome, rebuilt)
    }
    if (response.body === null) {
      note({ body: null })
      return response
    }
    if (isStreamed(response)) {
      note({ streamed: true })
      return rebuild(recorded.recordStream(response.body))
    }
    // The type of an answer does not say whether its bytes are text: a fault can make them invalid.
    const bytes = await response.arrayBuffer()
    const body = encodeAnswer(new Uint8Array(bytes))
    note({ body: typeof body === 'string' ? this.#credentials.hide(body) : body })
    return rebuild(bytes)
  }
}

function targetOf({ request, incoming }: RequestTap): RequestTarget {
  return { method: request.method, target: incoming.path ?? toPathAndQuery(request.url) }
}

/** Returns the type of a body that has to be kept as bytes: what the endpoint reads of it is not a text. Default: none. */
function uploadType(request: Request, { headerFields: headers }: IncomingRequest): string | undefined {
  const { method } = request
  if (method === 'GET' || method === 'HEAD') return undefined
  const type = headers === undefined ? request.headers.get('content-type') : headers['content-type']
  const isBytes = typeof type === 'string' && !/^\s*(application\/json|text\/plain)/i.test(type)
  return isBytes && request.body !== null ? type : undefined
}
