/** Brings a world from a checkpoint of its past to a moment, exactly as it went then. */

import type { Micros } from '../../../kernel/duration.ts'
import { eventLoopTurn, monotonicMs } from '../../../lib/real-time.ts'
import type { Simulator } from '../../simulator-interface.ts'
import type { Position, StepLines } from '../lines.ts'
import { collectRequests, type RequestFacts } from '../replay/replayed-request.ts'
import { Mismatch, type ReplayClients, ReplayedWorld } from '../replay/replayed-world.ts'
import type { Moment } from './checkpoint.ts'
import { isInput, OpenRequests, requestOf } from './past-lines.ts'

/** Longest real time without a turn of the event loop, in milliseconds. */
const SLICE_MS = 8

/** Clients that take every answer: what the past was is not in question. */
const CLIENTS: ReplayClients = {
  async takeAnswer(line, request, response) {
    if (line.streamed && response.body !== null) request.beginReading(response.body)
    return undefined
  },
  takePiece: () => undefined,
}

export class PastReplay {
  /** The lines that are performed. */
  performed = 0
  performedInputs = 0
  readonly open = new OpenRequests()
  readonly #sim: Simulator
  readonly #world: ReplayedWorld
  readonly #facts: ReadonlyMap<number, RequestFacts>
  readonly #lines: readonly StepLines[]
  readonly #eventsBefore: number
  #sliceStart = monotonicMs()
  /** The request whose answer is the moment that is looked for. */
  #awaited: number | undefined

  /** @param start the position of the checkpoint that `sim` continues from */
  constructor(sim: Simulator, start: Position, lines: readonly StepLines[]) {
    this.#sim = sim
    this.#lines = lines
    this.#eventsBefore = sim.world.agenda.taken - start[1]
    this.#facts = collectRequests(lines.map((line, index) => ({ ...line, line: index })))
    this.#world = new ReplayedWorld(sim, start, CLIENTS)
  }

  /** The time of the world, and the number of its events since the past began. */
  get position(): Position {
    const { world } = this.#sim
    return [world.clock.now, world.agenda.taken - this.#eventsBefore]
  }

  /**
   * Moves to a moment, at most to `end`, the position of the world whose past it is.
   *
   * @param stop the line before which the moment is, if it is right before a request
   * @throws Error if the replay does something else than the recorded past, which is a bug of the simulator
   */
  async moveTo(moment: Moment, end: Position, stop?: StepLines): Promise<void> {
    for (const line of this.#lines) {
      if ('time' in moment && line.at[0] > moment.time) break
      if (await this.#moveToPosition(line.at, moment)) return
      if (line === stop) return
      await this.#perform(line)
      if (this.#isThere(line, moment)) return
    }
    const isEnd = !('time' in moment) || moment.time >= end[0]
    // Not all events of the present time may have fired in the world.
    if (isEnd) await this.#moveToPosition(end, moment)
    else await this.#moveToTime(moment.time)
  }

  /** Ends the requests that are still open. */
  close(): void {
    this.#world.close()
  }

  async #perform(line: StepLines): Promise<void> {
    try {
      await this.#world.perform(line, 'request' in line ? this.#facts.get(line.request) : undefined)
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      const { recorded, replayed } = error.difference
      throw new Error(
        `Failed to go back: the replay of the past differs at ${error.subject}: then ${recorded}, now ${replayed}. ` +
          'This is a bug of the simulator.',
      )
    }
    if ('action' in line) this.#sim.world.webhooks.sender = undefined
    this.open.note(line)
    this.performed++
    if (isInput(line)) this.performedInputs++
  }

  #isThere(line: StepLines, moment: Moment): boolean {
    if ('time' in moment || 'before' in moment) return false
    const { last } = this.#sim.world.journal
    if ('entry' in moment) return last >= moment.entry
    if (last < moment.request) return false
    this.#awaited ??= requestOf(line) ?? Number.NaN
    // A request to the control plane is one line.
    return Number.isNaN(this.#awaited) || ('answer' in line && line.answer === this.#awaited)
  }

  /** Fires events up to a position. Returns true if the moment, a journal entry, is there before. */
  async #moveToPosition([time, events]: Position, moment: Moment): Promise<boolean> {
    const { world } = this.#sim
    while (this.position[1] < events && world.next(time)) {
      if ('entry' in moment && world.journal.last >= moment.entry) return true
      await this.#yieldIfDue()
    }
    // The line itself finds out whether events are missing.
    if (world.clock.now < time && world.agenda.nextTime > time) world.runTo(time)
    return false
  }

  async #moveToTime(time: Micros): Promise<void> {
    const { world } = this.#sim
    while (world.next(time)) await this.#yieldIfDue()
    world.runTo(time)
  }

  async #yieldIfDue(): Promise<void> {
    if (monotonicMs() - this.#sliceStart < SLICE_MS) return
    await eventLoopTurn()
    this.#sliceStart = monotonicMs()
  }
}
