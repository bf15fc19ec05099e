/** Plays recorded lines in a world: exactly their events, and each step of a request at its line. */

import type { Micros } from '../../../kernel/duration.ts'
import { Slices } from '../../../lib/slices.ts'
import type { World } from '../../../simulation/world.ts'
import type { ControlAction } from '../../observer.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { AnswerLine, Numbered, Position, ReadLine } from '../lines.ts'
import { collectExchanges, type WholeExchange } from '../timeline.ts'
import { performAction } from './actions.ts'
import { compareAnswer, comparePiece, type Difference } from './compare.ts'
import { type Progress, ReplayedRequest } from './replayed-request.ts'

export class Mismatch extends Error {
  readonly difference: Difference
  readonly subject: string
  constructor(subject: string, difference: Difference) {
    super(subject)
    this.subject = subject
    this.difference = difference
  }
}

export interface PlayerOptions {
  /** Whether each answer has to be that of the line. Default: false. */
  readonly compares?: boolean
  /** Called before an action, at its time. */
  onBeforeAction?(action: ControlAction): void
  /** Called after each line with the number of lines so far. */
  onLine?(done: number, line: Numbered): void
}

/** Where a play stops. Default: after the last line. */
export interface PlayEnd {
  /** The line at whose position it stops, before the line. */
  readonly stop?: Numbered | undefined
  /** The last time of a line. */
  readonly time?: Micros
  /** Returns whether the end is there, after an event or after a line. */
  isThere?(line: Numbered | undefined): boolean
}

/** Plays the lines of a recording, or of a past, in a simulator. Webhooks are not sent: their outcomes are lines. */
export class Player {
  /** The requests of clients so far. */
  requestCount = 0
  /** The lines that are performed. */
  performed = 0
  readonly #sim: Simulator
  readonly #lines: readonly Numbered[]
  readonly #options: PlayerOptions
  readonly #facts: ReadonlyMap<number, WholeExchange>
  readonly #requests = new Map<number, ReplayedRequest>()
  #eventsBefore: number
  readonly #slices = new Slices()
  #sender: World['webhooks']['sender']

  /** @param start the position of `sim` in the recording */
  constructor(sim: Simulator, start: Position, lines: readonly Numbered[], options: PlayerOptions) {
    this.#sim = sim
    this.#lines = lines
    this.#options = options
    this.#facts = collectExchanges(lines)
    this.#eventsBefore = sim.world.agenda.taken - start[1]
    this.#muteWebhooks()
  }

  /** The time of the world, and the number of its events since the recording began. */
  get position(): Position {
    const { world } = this.#sim
    return [world.clock.now, world.agenda.taken - this.#eventsBefore]
  }

  /** Ends the requests that still wait. */
  close(): void {
    for (const request of this.#requests.values()) request.leave()
  }

  /** Sends the results of webhooks from now on. */
  restoreWebhooks(): void {
    this.#sim.world.webhooks.sender = this.#sender
  }

  /** Mutes the present world, which an action may have replaced. */
  #muteWebhooks(): void {
    const { webhooks } = this.#sim.world
    this.#sender = webhooks.sender ?? this.#sender
    webhooks.sender = undefined
  }

  /**
   * Performs the lines. Returns whether it stopped at the end that was given.
   *
   * @throws Mismatch if the world does something else
   */
  async play({ stop, time = Number.POSITIVE_INFINITY, isThere = () => false }: PlayEnd = {}): Promise<boolean> {
    for (const line of this.#lines) {
      if (line.at[0] > time) return false
      if (await this.moveTo(line.at, isThere)) return true
      if (line === stop) return true
      this.#requirePosition(line.at)
      await this.#performLine(line)
      if ('action' in line) this.#muteWebhooks()
      this.#options.onLine?.(++this.performed, line)
      if (isThere(line)) return true
      const turn = this.#slices.turnIfDue()
      if (turn) await turn
    }
    return false
  }

  /**
   * Performs events up to a position, and sets the clock to its time. Stops early if `isThere` after an event, and returns
   * true then. If events are missing, it stays behind.
   */
  async moveTo([time, events]: Position, isThere: NonNullable<PlayEnd['isThere']> = () => false): Promise<boolean> {
    const { world } = this.#sim
    while (this.position[1] < events && world.next(time)) {
      if (isThere(undefined)) return true
      const turn = this.#slices.turnIfDue()
      if (turn) await turn
    }
    const isWhole = events === Number.POSITIVE_INFINITY || this.position[1] === events
    if (isWhole && world.clock.now < time && world.agenda.nextTime > time) world.runTo(time)
    return false
  }

  #requirePosition([time, events]: Position): void {
    const { clock, agenda } = this.#sim.world
    const [now, count] = this.position
    if (count === events && now === time) return
    const next = agenda.size === 0 ? 'no time' : clock.iso(agenda.nextTime)
    throw new Mismatch('the events of the world', {
      recorded: `${events} events up to ${clock.iso(time)}`,
      replayed: `${count} events up to ${clock.iso()}, the next at ${next}`,
    })
  }

  async #performLine(line: Numbered): Promise<void> {
    if ('request' in line) await this.#begin(this.#facts.get(line.request)!)
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

  async #begin(facts: WholeExchange): Promise<void> {
    const sim = this.#sim
    const { line } = facts
    const request = new ReplayedRequest(facts, (): Micros => sim.clock.elapsed)
    this.#requests.set(line.request, request)
    if (!line.look) this.requestCount++
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
    const compares = this.#options.compares && 'piece' in result
    const difference = compares ? comparePiece(line.piece, result.piece) : undefined
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
    const difference = this.#options.compares ? await compareAnswer(line, response) : undefined
    if (difference !== undefined) throw new Mismatch(request.name, difference)
    if (line.streamed && response.body !== null) request.beginReading(response.body)
    if (!line.streamed) this.#requests.delete(line.answer)
  }

  #perform(action: ControlAction): void {
    const { world } = this.#sim
    this.#options.onBeforeAction?.(action)
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
    const name = this.#facts.get(number)?.name ?? 'a request'
    throw new Mismatch(name, { recorded: 'it is open', replayed: 'it has ended' })
  }

  #expect(progress: Progress, request: ReplayedRequest, recorded: string): void {
    if (progress === 'done') return
    throw new Mismatch(request.name, { recorded, replayed: progress === 'waits' ? 'it waits' : 'nothing happens' })
  }
}
