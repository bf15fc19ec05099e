/** The part of a replay that a server does: its world performs the lines, and clients get the answers over HTTP. */

import { decodeBase64 } from '../../../lib/base64.ts'
import { realDelay } from '../../../lib/real-time.ts'
import type { IncomingRequest } from '../../../service/http/incoming-request.ts'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import { isStreamed, WireFaultResponse } from '../../faults/broken-response.ts'
import type { AnswerRequest, SimulatorObserver } from '../../observer.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { Position, StepLines } from '../lines.ts'
import type { Difference } from './compare.ts'
import type { ReplayedRequest } from './replayed-request.ts'
import { Mismatch, ReplayedWorld } from './replayed-world.ts'

/** The header with the number of a request of a recording. */
export const REPLAY_HEADER = 'x-sim-replay'
/** Real milliseconds after which a request that does not come counts as lost. */
const ARRIVAL_MS = 20_000

/** A request that has arrived and waits for its line. */
interface Arrival {
  readonly request: Request
  readonly incoming: IncomingRequest
  readonly answer: AnswerRequest
  readonly deliver: (response: Response) => void
  readonly fail: (error: unknown) => void
}

/** What a server says about a line: nothing, or what differs. */
export type LineOutcome = ({ readonly subject: string } & Difference) | undefined

export class ServedReplay implements SimulatorObserver {
  readonly #sim: Simulator
  readonly #world: ReplayedWorld
  readonly #arrivals = new Map<number, Arrival>()
  readonly #bodies = new Map<number, ReadableStreamDefaultController<Uint8Array>>()
  #onArrival = () => {}

  /** @throws RangeError if the simulator is recorded, or has another replay */
  constructor(sim: Simulator, start: Position) {
    this.#sim = sim
    sim.observe(this)
    this.#muteWebhooks()
    this.#world = new ReplayedWorld(sim, start, {
      send: async (request, { line }) => {
        if (line.look) return request.start((sent, incoming) => sim.look(sent, incoming))
        const arrival = await this.#waitForArrival(line.request, request)
        request.transport = arrival.incoming
        request.start(async (_, incoming) => {
          try {
            const response = await arrival.answer(arrival.request, incoming)
            arrival.deliver(this.#toDelivered(line.request, request, response))
            return response
          } catch (error) {
            arrival.fail(error)
            throw error
          }
        })
      },
      // The client has the answers, and compares them.
      takeAnswer: async () => undefined,
      takePiece: (line, _, result) => {
        const body = this.#bodies.get(line.read)
        if ('piece' in result) body?.enqueue(result.piece)
        else this.#endBody(line.read, result.body)
        return undefined
      },
    })
  }

  /** Begins with the state of a snapshot, given in Base64. */
  static begin(sim: Simulator, at: Position, snapshot: string | undefined, journal: number): ServedReplay {
    if (snapshot !== undefined) {
      sim.restore(decodeBase64(snapshot))
      sim.clock.set('manual')
      sim.world.journal.continueAfter(journal)
    }
    return new ServedReplay(sim, at)
  }

  /** Performs a line. Returns what the world did otherwise. */
  async perform(line: StepLines, isPaced: boolean): Promise<LineOutcome> {
    await loadTokenizer()
    const facts = 'request' in line ? { line: { ...line, line: 0 }, body: undefined, isPaced } : undefined
    try {
      await this.#world.perform(line, facts)
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      return { subject: error.subject, ...error.difference }
    }
    if ('action' in line) this.#muteWebhooks()
    if ('end' in line && line.state === 'left') this.#endBody(line.end, 'broken')
    if ('read' in line && line.body !== undefined) this.#endBody(line.read, line.body === 'over' ? 'over' : 'broken')
    return undefined
  }

  answer(request: Request, incoming: IncomingRequest, answer: AnswerRequest): Response | Promise<Response> {
    const number = Number(request.headers.get(REPLAY_HEADER) ?? Number.NaN)
    if (!Number.isInteger(number)) return answer(request, incoming)
    return new Promise((deliver, fail) => {
      this.#arrivals.set(number, { request, incoming, answer, deliver, fail })
      this.#onArrival()
    })
  }

  onBeforeAction(): () => void {
    return () => {}
  }

  onAction(): void {}

  /** Results of webhooks are not sent again: their outcomes are lines of the recording. */
  #muteWebhooks(): void {
    this.#sim.world.webhooks.sender = undefined
  }

  async #waitForArrival(number: number, request: ReplayedRequest): Promise<Arrival> {
    const deadline = realDelay(ARRIVAL_MS).then(() => 'late' as const)
    for (;;) {
      const arrival = this.#arrivals.get(number)
      if (arrival !== undefined) {
        this.#arrivals.delete(number)
        return arrival
      }
      const arrived = new Promise<void>(resolve => {
        this.#onArrival = resolve
      })
      if ((await Promise.race([arrived, deadline])) === 'late') {
        throw new Mismatch(request.name, { recorded: 'it arrives', replayed: 'it does not arrive' })
      }
    }
  }

  /** Returns the answer for the transport. The pieces of a stream follow with their lines. */
  #toDelivered(number: number, request: ReplayedRequest, response: Response): Response {
    if (!isStreamed(response) || response.body === null) return response
    request.beginReading(response.body)
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: controller => {
        this.#bodies.set(number, controller)
      },
      cancel: () => {
        this.#bodies.delete(number)
      },
    })
    const { status, headers } = response
    const delivered = new Response(body, { status, headers })
    return response instanceof WireFaultResponse ? new WireFaultResponse(response.outcome, delivered) : delivered
  }

  #endBody(number: number, end: 'over' | 'broken'): void {
    const body = this.#bodies.get(number)
    this.#bodies.delete(number)
    if (end === 'over') body?.close()
    else body?.error(new Error('the body broke off'))
  }
}
