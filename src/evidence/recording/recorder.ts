/** Records what reaches a simulator from outside, in the order in which its world performs it. */

import { isStreamed, WireFaultResponse } from '../../faults/broken-response.ts'
import { encodeBase64 } from '../../lib/base64.ts'
import type { IncomingRequest } from '../../service/http/incoming-request.ts'
import { toPathAndQuery } from '../../service/http/request-context.ts'
import { sourceOf } from '../../service/http/responses.ts'
import type { World } from '../../simulation/world.ts'
import type { AnswerRequest, ControlAction, SimulatorObserver } from '../../simulator/observer.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import { encodeAnswer, encodeAnswerText, encodeBytes } from './bodies.ts'
import { HeaderRecorder } from './credentials.ts'
import { LineWriter } from './file.ts'
import { createHeader } from './header.ts'
import type { AnswerContent, AnswerLine, HeaderLine, Position, StepLines } from './lines.ts'
import { RecordedRequest } from './recorded-request.ts'

export class Recorder implements SimulatorObserver {
  readonly #sim: Simulator
  readonly #headers: HeaderRecorder
  readonly #writer: LineWriter
  readonly #detach: () => void
  readonly #header: HeaderLine
  /** The world of the last line, and the events that it had performed when the recording or the world began. */
  #world: World
  #eventsBefore: number
  #requests = 0
  /** Requests without a step so far. */
  readonly #arrived = new Set<RecordedRequest>()
  #isStopped = false

  /**
   * @param write writes whole lines
   * @param onPending called when there is something to flush, once for each flush
   */
  constructor(sim: Simulator, write: (text: string) => void, onPending: () => void) {
    this.#sim = sim
    const { world } = sim
    this.#headers = new HeaderRecorder(sim)
    this.#writer = new LineWriter(write, onPending)
    this.#world = sim.world
    this.#eventsBefore = sim.world.agenda.taken
    this.#detach = sim.observe(this)
    sim.api.keepSources()
    try {
      this.#header = createHeader(sim)
    } catch (error) {
      this.#detach()
      throw error
    }
    this.#writer.add(this.#header)
    for (const handle of sim.world.inferenceRequests.handles.values()) {
      const { ordinal } = handle
      handle.onEnd = (state, tokens) => {
        // The request of another world is over with that world.
        if (sim.world === world) this.onAction({ do: 'endInference', ordinal, state, tokens })
      }
    }
  }

  get #position(): Position {
    const { world } = this.#sim
    if (world !== this.#world) {
      this.#world = world
      this.#eventsBefore = 0
    }
    return [world.clock.now, world.agenda.taken - this.#eventsBefore]
  }

  /** Ends the recording with the digest of the world. Does nothing if it has ended. */
  stop(): void {
    if (this.#isStopped) return
    this.add(at => ({ digest: this.#sim.digest, at }))
    this.#isStopped = true
    this.#detach()
    this.flush()
  }

  /** Writes the lines so far. */
  flush(): void {
    this.#writer.flush()
  }

  /** Adds a line at the present position. */
  add(createLine: (at: Position) => StepLines): void {
    if (!this.#isStopped) this.#writer.add(createLine(this.#position))
  }

  addAnswer(request: number, content: AnswerContent): void {
    if (!this.#isStopped) this.#writer.addAnswer(request, this.#position, content)
  }

  onBegun(request: RecordedRequest): void {
    this.#arrived.delete(request)
  }

  /** Adds the requests that have arrived before an action: it may change what they meet at their first step. */
  #addArrived(): void {
    for (const request of this.#arrived) request.arrive()
    this.#arrived.clear()
  }

  onAction(action: ControlAction): void {
    this.#addArrived()
    this.add(at => ({ action, at }))
  }

  onBeforeAction(): (action: ControlAction) => void {
    this.#addArrived()
    // The world may be another one afterwards.
    const at = this.#position
    return action => {
      const isForeignReset = action.do === 'reset' && this.#header.snapshot !== undefined
      this.add(() => ({ action: isForeignReset ? this.#describeReset() : action, at }))
    }
  }

  /** Returns a reset to a state before the recording, with that state. */
  #describeReset(): ControlAction {
    const snapshot = encodeBase64(this.#sim.snapshot().toBytes())
    return { do: 'reset', snapshot, journal: this.#sim.world.journal.last }
  }

  answer(
    request: Request,
    incoming: IncomingRequest,
    answer: AnswerRequest,
    isLook: boolean,
  ): Response | Promise<Response> {
    const recorded: RecordedRequest = new RecordedRequest(this, ++this.#requests, incoming, (at, text) => ({
      request: recorded.number,
      at,
      method: request.method,
      path: incoming.path ?? toPathAndQuery(request.url),
      headers: this.#headers.record(request, incoming),
      ...(recorded.upload !== undefined ? { body: recorded.upload } : text !== undefined && { body: text }),
      ...(incoming.clientAddress !== undefined && { address: incoming.clientAddress }),
      ...(isLook && { look: true }),
    }))
    if (isUpload(request, incoming)) return this.#answerUpload(request, recorded, answer)
    return this.#perform(request, recorded, answer)
  }

  /** Reads the whole upload first: endpoints read its parts alone. */
  async #answerUpload(request: Request, recorded: RecordedRequest, answer: AnswerRequest): Promise<Response> {
    const bytes = await request.arrayBuffer()
    recorded.upload = encodeBytes(new Uint8Array(bytes))
    const { method, headers, signal } = request
    const sent = new Request(request.url, { method, headers, signal, body: bytes })
    return this.#perform(sent, recorded, answer)
  }

  /** Performs a request, and records its answer. */
  #perform(request: Request, recorded: RecordedRequest, answer: AnswerRequest): Response | Promise<Response> {
    this.#arrived.add(recorded)
    const answering = answer(request, recorded)
    if (!(answering instanceof Promise)) return this.#recordAnswer(answering, recorded)
    return answering.then(
      response => this.#recordAnswer(response, recorded),
      (error: unknown) => {
        recorded.end({ status: 0 })
        throw error
      },
    )
  }

  #recordAnswer(response: Response, recorded: RecordedRequest): Response | Promise<Response> {
    const source = recorded.isChanged ? undefined : sourceOf(response)
    if (source === undefined) return this.#recordReadAnswer(response, recorded)
    const { status } = response
    const { headers, text } = source
    recorded.end({ status, headers, body: encodeAnswerText(text) })
    return response
  }

  /** Records an answer that has to be read. */
  async #recordReadAnswer(response: Response, recorded: RecordedRequest): Promise<Response> {
    const { status } = response
    const headers = Object.fromEntries(response.headers)
    const outcome = response instanceof WireFaultResponse ? response.outcome : undefined
    const note = (content: Pick<AnswerLine, 'body' | 'streamed'>) =>
      recorded.end({ status, headers, ...content, ...(outcome !== undefined && { wire: outcome }) })
    const rebuild = (body: BodyInit | null) => {
      const rebuilt = new Response(body, { status, headers: response.headers })
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
    if (isText(response)) {
      const text = await response.text()
      note({ body: encodeAnswerText(text) })
      return rebuild(text)
    }
    const bytes = await response.arrayBuffer()
    note({ body: encodeAnswer(new Uint8Array(bytes)) })
    return rebuild(bytes)
  }
}

/** Whether the body of a request has to be kept as bytes: what the endpoint reads of it is no text. */
function isUpload(request: Request, { headerFields: headers }: IncomingRequest): boolean {
  const { method } = request
  if (method === 'GET' || method === 'HEAD') return false
  const type = headers === undefined ? request.headers.get('content-type') : headers['content-type']
  return typeof type === 'string' && !/^\s*(application\/json|text\/plain)/i.test(type) && request.body !== null
}

function isText({ headers }: Response): boolean {
  return /json|^text\//.test(headers.get('content-type') ?? '')
}
