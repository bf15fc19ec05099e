/** Performs a recording in a world: exactly its events, and each step of a request at its line. */

import type { Micros } from '../../../kernel/duration.ts'
import type { ControlAction } from '../../observer.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { AnswerLine, Position, ReadLine, StepLines } from '../lines.ts'
import { performAction } from './actions.ts'
import type { Difference } from './compare.ts'
import { type Progress, type ReadResult, ReplayedRequest, type RequestFacts } from './replayed-request.ts'

export class Mismatch extends Error {
  readonly difference: Difference
  readonly subject: string
  constructor(subject: string, difference: Difference) {
    super(subject)
    this.subject = subject
    this.difference = difference
  }
}

/** The clients of a replay: they get what comes of their requests. */
export interface ReplayClients {
  /** Takes an answer. Returns what differs from the recording. */
  takeAnswer(line: AnswerLine, request: ReplayedRequest, response: Response): Promise<Difference | undefined>
  /** Takes a piece of a body. Returns what differs from the recording. */
  takePiece(line: ReadLine, request: ReplayedRequest, result: ReadResult): Difference | undefined
  /** Called before an action, at its time. */
  onBeforeAction?(action: ControlAction): void
  /** Returns a turn of the event loop to await, if one is due. Default: a replay takes none between events. */
  turnIfDue?(): Promise<void> | undefined
}

/** Performs the lines of a recording in a world. */
export class ReplayedWorld {
  requestCount = 0
  readonly #sim: Simulator
  readonly #clients: ReplayClients
  readonly #requests = new Map<number, ReplayedRequest>()
  #eventsBefore: number

  constructor(sim: Simulator, start: Position, clients: ReplayClients) {
    this.#sim = sim
    this.#clients = clients
    this.#eventsBefore = sim.world.agenda.taken - start[1]
  }

  /** Ends the requests that still wait. */
  close(): void {
    for (const request of this.#requests.values()) request.leave()
  }

  /**
   * Performs a line.
   *
   * @param facts of its request, for the line of a request
   * @throws Mismatch if the world does something else
   */
  async perform(line: StepLines, facts: RequestFacts | undefined): Promise<void> {
    await this.#moveTo(line.at)
    if ('request' in line) await this.#begin(facts!)
    else if ('step' in line) await this.#step(this.#get(line.step))
    // The request was sent with that.
    else if ('waits' in line) return
    else if ('ready' in line) {
      const request = this.#get(line.ready)
      request.clientTime = line.now
      this.#expect(await request.ready(), request, 'it has its answer')
    } else if ('end' in line) {
      const request = this.#get(line.end)
      request.clientTime = line.now
      const what = line.state === 'served' ? 'its client has the whole answer' : 'its client leaves'
      this.#expect(await request.end(line.state), request, what)
    } else if ('read' in line) await this.#read(line)
    else if ('answer' in line) await this.#compare(line)
    else if ('action' in line) this.#perform(line.action)
    else if (this.#sim.digest !== line.digest) {
      throw new Mismatch('the digest of the world', { recorded: line.digest, replayed: this.#sim.digest })
    }
  }

  /** Performs exactly the recorded events, and sets the clock to the recorded time. */
  async #moveTo([time, events]: Position): Promise<void> {
    const { world } = this.#sim
    const count = () => world.agenda.taken - this.#eventsBefore
    const differs = (): Mismatch =>
      new Mismatch('the events of the world', {
        recorded: `${events} events up to ${world.clock.iso(time)}`,
        replayed: `${count()} events up to ${this.#sim.clock.iso}, the next at ${this.#nextTime}`,
      })
    if (count() > events || world.clock.now > time) throw differs()
    while (count() < events) {
      if (!world.next(time)) throw differs()
      const turn = this.#clients.turnIfDue?.()
      if (turn) await turn
    }
    if (world.clock.now === time) return
    if (world.agenda.nextTime <= time) throw differs()
    world.runTo(time)
  }

  get #nextTime(): string {
    const { agenda, clock } = this.#sim.world
    return agenda.size === 0 ? 'no time' : clock.iso(agenda.nextTime)
  }

  async #begin(facts: RequestFacts): Promise<void> {
    const sim = this.#sim
    const { line } = facts
    const request = new ReplayedRequest(facts, (): Micros => sim.clock.elapsed)
    this.#requests.set(line.request, request)
    this.requestCount++
    request.start((sent, incoming) => (line.look ? sim.look(sent, incoming) : sim.answer(sent, incoming)))
    if (!line.arrived) await this.#step(request)
  }

  async #step(request: ReplayedRequest): Promise<void> {
    this.#expect(await request.step(), request, 'it takes a step in the world')
  }

  async #read(line: ReadLine): Promise<void> {
    const request = this.#get(line.read)
    request.clientTime = line.now
    if (line.body === 'left') request.leave()
    if (line.body !== undefined && request.hasLeft) {
      // A body that its client has cancelled ends, and one whose wait was ended breaks.
      this.#requests.delete(line.read)
      return
    }
    const result = await request.read()
    const recorded = line.body === undefined ? 'a piece of the body' : `the body is ${line.body}`
    if (typeof result === 'string') {
      this.#expect(result, request, recorded)
      return
    }
    const replayed = 'body' in result ? `the body is ${result.body}` : 'a piece of the body'
    if (recorded !== replayed) throw new Mismatch(request.name, { recorded, replayed })
    const difference = this.#clients.takePiece(line, request, result)
    if (difference !== undefined) throw new Mismatch(request.name, difference)
    if ('body' in result) this.#requests.delete(line.read)
  }

  async #compare(line: AnswerLine): Promise<void> {
    const request = this.#get(line.answer)
    request.clientTime = line.now
    if (line.status === 0 && !request.isSettled) request.leave()
    this.#expect(await request.settle(), request, line.status === 0 ? 'no answer' : `an answer with ${line.status}`)
    const { response, error } = request
    if (response === undefined) {
      this.#requests.delete(line.answer)
      if (line.status === 0) return
      throw new Mismatch(request.name, { recorded: `status ${line.status}`, replayed: `no answer: ${String(error)}` })
    }
    if (line.status === 0) {
      throw new Mismatch(request.name, { recorded: 'no answer', replayed: `status ${response.status}` })
    }
    const difference = await this.#clients.takeAnswer(line, request, response)
    if (difference !== undefined) throw new Mismatch(request.name, difference)
    if (!line.streamed) this.#requests.delete(line.answer)
  }

  #perform(action: ControlAction): void {
    const { world } = this.#sim
    this.#clients.onBeforeAction?.(action)
    try {
      performAction(this.#sim, action)
    } catch (error) {
      const replayed = error instanceof Error ? error.message : String(error)
      throw new Mismatch(`the action ${action.do}`, { recorded: 'it is performed', replayed })
    }
    if (this.#sim.world !== world) this.#eventsBefore = this.#sim.world.agenda.taken
  }

  #get(number: number): ReplayedRequest {
    const request = this.#requests.get(number)
    if (request !== undefined) return request
    throw new Mismatch(`request ${number}`, { recorded: 'it is open', replayed: 'it has ended' })
  }

  #expect(progress: Progress, request: ReplayedRequest, recorded: string): void {
    if (progress === 'done') return
    throw new Mismatch(request.name, { recorded, replayed: progress === 'waits' ? 'it waits' : 'nothing happens' })
  }
}
