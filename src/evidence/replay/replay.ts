/** Replays a recording in this process: the same world performs the same steps, and its answers are compared. */

import type { Micros } from '../../kernel/duration.ts'
import { formatTraceLine } from '../../kernel/journal.ts'
import { loadTokenizer } from '../../service/openai/tokenizer.ts'
import type { ControlAction } from '../../simulator/observer.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import type { ParsedRecording } from '../recording/file.ts'
import { createRecordedSimulator } from '../recording/header.ts'
import type { AnswerLine, Numbered, Position, ReadLine } from '../recording/lines.ts'
import { performAction } from './actions.ts'
import { compareAnswer, comparePiece, type Difference } from './compare.ts'
import { type Progress, ReplayedRequest } from './replayed-request.ts'
import { collectRequests, type RequestFacts } from './request-facts.ts'

/** The first place where a replay differs from its recording. */
export interface Divergence extends Difference {
  /** Line of the file. */
  readonly line: number
  /** Time of the world, ISO 8601. */
  readonly at: string
  /** What differs, as in `GET /deploy/list (request 7)`. */
  readonly subject: string
  /** The last entries of the journal before it, the newest last. */
  readonly before: readonly string[]
}

export interface ReplayResult {
  readonly lines: number
  readonly requests: number
  /** Undefined: the replay is the same. */
  readonly divergence: Divergence | undefined
  /** Why the recording has no end; undefined if it is complete. */
  readonly cut: string | undefined
}

/** Replays a recording. @throws RecordingError if this build makes another world of it */
export async function replayRecording(recording: ParsedRecording, what: string): Promise<ReplayResult> {
  const { header, lines, cut } = recording
  // Time that moves while the tokenizer is loaded would be another time.
  await loadTokenizer()
  const sim = createRecordedSimulator(header, what)
  const replay = new Replay(sim, header.at, collectRequests(lines))
  try {
    const divergence = await replay.run(lines)
    return { lines: lines.length + 1, requests: replay.requestCount, divergence, cut }
  } finally {
    replay.close()
    await sim[Symbol.asyncDispose]()
  }
}

class Mismatch extends Error {
  readonly difference: Difference
  readonly subject: string
  constructor(subject: string, difference: Difference) {
    super(subject)
    this.subject = subject
    this.difference = difference
  }
}

export class Replay {
  requestCount = 0
  readonly #sim: Simulator
  readonly #facts: ReadonlyMap<number, RequestFacts>
  readonly #requests = new Map<number, ReplayedRequest>()
  #eventsBefore: number

  constructor(sim: Simulator, start: Position, facts: ReadonlyMap<number, RequestFacts>) {
    this.#sim = sim
    this.#facts = facts
    this.#eventsBefore = sim.world.agenda.taken - start[1]
  }

  /** Plays the lines up to the first divergence. */
  async run(lines: readonly Numbered[]): Promise<Divergence | undefined> {
    for (const line of lines) {
      try {
        await this.#play(line)
      } catch (error) {
        if (!(error instanceof Mismatch)) throw error
        const entries = this.#sim.journal.entries().slice(-3)
        const { subject, difference } = error
        const at = this.#sim.clock.iso
        return { line: line.line, at, subject, ...difference, before: entries.map(formatTraceLine) }
      }
    }
    return undefined
  }

  /** Ends the requests that still wait. */
  close(): void {
    for (const request of this.#requests.values()) request.leave()
  }

  async #play(line: Numbered): Promise<void> {
    this.#moveTo(line.at)
    if ('request' in line) await this.#begin(line.request)
    else if ('step' in line) await this.#step(this.#get(line.step))
    // The request was sent with that.
    else if ('waits' in line) return
    else if ('end' in line) {
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
  #moveTo([time, events]: Position): void {
    const { world } = this.#sim
    const count = () => world.agenda.taken - this.#eventsBefore
    const differs = (): Mismatch =>
      new Mismatch('the events of the world', {
        recorded: `${events} events up to ${world.clock.iso(time)}`,
        replayed: `${count()} events up to ${this.#sim.clock.iso}, the next at ${this.#nextTime}`,
      })
    if (count() > events || world.clock.now > time) throw differs()
    while (count() < events) if (!world.next(time)) throw differs()
    if (world.clock.now === time) return
    if (world.agenda.nextTime <= time) throw differs()
    world.runTo(time)
  }

  get #nextTime(): string {
    const { agenda, clock } = this.#sim.world
    return agenda.size === 0 ? 'no time' : clock.iso(agenda.nextTime)
  }

  async #begin(number: number): Promise<void> {
    const facts = this.#facts.get(number)!
    const elapsed = (): Micros => this.#sim.clock.elapsed
    const request = new ReplayedRequest({ ...facts, elapsed })
    this.#requests.set(number, request)
    this.requestCount++
    request.start((sent, incoming) =>
      facts.line.look ? this.#sim.look(sent, incoming) : this.#sim.answer(sent, incoming),
    )
    if (!facts.line.arrived) await this.#step(request)
  }

  async #step(request: ReplayedRequest): Promise<void> {
    this.#expect(await request.step(), request, 'it takes a step in the world')
  }

  async #read(line: Numbered<ReadLine>): Promise<void> {
    const request = this.#get(line.read)
    request.clientTime = line.now
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
    const difference = 'piece' in result ? comparePiece(line.piece, result.piece) : undefined
    if (difference !== undefined) throw new Mismatch(request.name, difference)
    if ('body' in result) this.#requests.delete(line.read)
  }

  async #compare(line: Numbered<AnswerLine>): Promise<void> {
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
    const difference = await compareAnswer(line, response)
    if (difference !== undefined) throw new Mismatch(request.name, difference)
    if (line.streamed) request.beginReading(response.body!)
    else this.#requests.delete(line.answer)
  }

  #perform(action: ControlAction): void {
    const { world } = this.#sim
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
