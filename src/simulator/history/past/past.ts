/** The past of a world: what came from outside since it is kept, and checkpoints to go on from. */

import { LIMITS } from '../../../lib/limits.ts'
import { eventLoopTurn } from '../../../lib/real-time.ts'
import type { Steps } from '../../../lib/slices.ts'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import type { ClockSetting } from '../../clock/settings.ts'
import { isControlRequest } from '../../observer.ts'
import type { Simulator } from '../../simulator.ts'
import { createHeader, describeSource, isPristine } from '../header.ts'
import { LineWriter } from '../line-writer.ts'
import type { HeaderLine, StepLines } from '../lines.ts'
import { Recorder, type RecordingSink } from '../recorder.ts'
import { Mismatch, type PlayEnd, Player } from '../replay/player.ts'
import { listExchanges, type WholeExchange } from '../timeline.ts'
import {
  type Checkpoint,
  createFromCheckpoint,
  entryOf,
  isInput,
  isReached,
  isStep,
  type Moment,
  OpenRequests,
  requestOf,
  sizeOf,
} from './checkpoint.ts'

/** Inputs and journal entries after which the next quiet moment becomes a checkpoint. */
const CHECKPOINT_AFTER = { inputs: 200, entries: 10_000 } as const

export interface PastOptions {
  /** The bytes beyond which the oldest part is dropped. Default: 64 MiB. */
  readonly maxBytes?: number
  /** Inputs and journal entries after which the next quiet moment becomes a checkpoint. Default: 200 and 10,000. */
  readonly checkpointAfter?: { readonly inputs: number; readonly entries: number }
}

/** A past cannot be kept, or has no such moment. */
export class PastError extends RangeError {
  override readonly name = 'PastError'
}

/** A line that is kept. */
interface PastLine {
  readonly line: StepLines
  readonly size: number
  /** Position of the journal entry of its request, if the request got it with this step. */
  seq?: number
}

/**
 * Keeps the past of a simulator in memory, at most 64 MiB. A reset and a restore replace the world, so its past begins
 * again there.
 */
export class Past implements RecordingSink {
  readonly kind = 'past'
  readonly needsResetState = false
  readonly #sim: Simulator
  readonly #maxBytes: number
  readonly #checkpointAfter: { readonly inputs: number; readonly entries: number }
  readonly #recorder: Recorder
  readonly #stopListening: () => void
  /** The first line of a recording from the start of the world. */
  #header: HeaderLine | undefined
  #lines: PastLine[] = []
  /** The newest step of a request, until its journal entry is there: it comes with the step or not at all. */
  #step: PastLine | undefined
  #droppedLines = 0
  #droppedInputs = 0
  #bytes = 0
  #inputs = 0
  #open = new OpenRequests()
  /** Oldest first; empty while the past waits for a quiet moment to begin. */
  #checkpoints: readonly Checkpoint[] = []
  #isSettling = false

  /** @throws RangeError if requests are in progress, or if something else records or replays the simulator */
  constructor(sim: Simulator, { maxBytes = LIMITS.pastBytes, checkpointAfter = CHECKPOINT_AFTER }: PastOptions = {}) {
    this.#sim = sim
    this.#maxBytes = maxBytes
    this.#checkpointAfter = checkpointAfter
    this.#recorder = Recorder.attach(sim, () => this)
    this.#begin()
    this.#stopListening = sim.journal.watch(seq => {
      if (this.#step !== undefined) {
        const entry = sim.world.journal.read(seq)
        if (entry.kind === 'request' && !isControlRequest(entry)) {
          this.#step.seq = seq
          this.#step = undefined
        }
      }
      const newest = this.#checkpoints.at(-1)
      if (newest === undefined || seq - newest.entry >= checkpointAfter.entries) this.#settleSoon()
    })
  }

  /** Forgets the past, and keeps it no longer. */
  stop(): void {
    this.#stopListening()
    this.#recorder.remove(this)
    this.#lines = []
    this.#checkpoints = []
  }

  add(line: StepLines): void {
    if ('action' in line && (line.action.do === 'reset' || line.action.do === 'restore')) {
      // The world is another one.
      this.#forget()
      if (this.#isQuiet) this.#begin()
      else this.#settleSoon()
      return
    }
    this.#open.note(line)
    if (this.#checkpoints.length === 0) {
      this.#settleSoon()
      return
    }
    const size = sizeOf(line)
    // The objects of an action are those of the user.
    const kept: PastLine = { line: 'action' in line ? JSON.parse(JSON.stringify(line)) : line, size }
    this.#lines.push(kept)
    if (isStep(line)) this.#step = kept
    this.#bytes += size
    if (isInput(line)) this.#inputs++
    if (this.#bytes > this.#maxBytes) this.#dropOldest()
    if (this.#inputs - (this.#checkpoints.at(-1)?.inputs ?? 0) >= this.#checkpointAfter.inputs) this.#settleSoon()
  }

  /**
   * What is kept; undefined while it waits for the end of requests to begin. `isFromStart`: it begins with the world, as
   * its options made it. One can go back to the journal entries after `entry`.
   */
  get state() {
    const [first] = this.#checkpoints
    if (first === undefined) return undefined
    return {
      ...{ from: first.at[0], to: this.#sim.world.clock.now, isFromStart: this.#header !== undefined },
      ...{ entry: first.entry, inputs: this.#inputs - first.inputs, droppedInputs: this.#droppedInputs },
      ...{ bytes: this.#bytes, checkpoints: this.#checkpoints as readonly Checkpoint[] },
    }
  }

  /**
   * Returns the recording of the past up to the first step, as `serve --record` writes it.
   *
   * @param isMeant selects lines. Default: all
   */
  *recording(isMeant: (line: StepLines) => boolean = () => true): Steps<string> {
    const [first] = this.#checkpoints
    if (first === undefined) throw waitingError()
    const lines = [...this.#lines]
    const end = { digest: this.#sim.digest, at: this.#recorder.position }
    let text = ''
    const writer = new LineWriter(line => {
      text += line
    })
    writer.add(this.#header ?? createLaterHeader(createFromCheckpoint(first, this.#sim), this.#sim, first))
    for (const { line } of lines) {
      if (isMeant(line)) writer.add(line)
      yield
    }
    writer.add(end)
    writer.flush()
    return text
  }

  /**
   * Returns what the past has of a request. Undefined if it does not reach so far, or if no client sent the request.
   *
   * @param seq position of its journal entry
   */
  requestOf(seq: number): WholeExchange | undefined {
    const number = this.#numberOf(seq)
    if (number === undefined) return undefined
    const lines = this.#lines.map(({ line }, index) => ({ ...line, line: index }))
    const exchange = listExchanges(lines).find(({ line }) => line.request === number)
    if (exchange?.answer?.sent === undefined) return exchange
    // The log has the credentials that lines hide. Of a long body it has the begin alone.
    const body = this.#sim.requestLog.exchanges.find(request => request.seq === seq)?.text
    return body === undefined || body.length >= LIMITS.requestBody ? exchange : { ...exchange, body }
  }

  /** Returns the number that the lines of a request have, by the position of its journal entry. */
  #numberOf(seq: number): number | undefined {
    const step = this.#lines.findLast(each => each.seq === seq)
    return step && requestOf(step.line)
  }

  /**
   * Returns a simulator that continues from a moment of the past, with the journal and the requests up to then. Its
   * `reset()` returns to that moment.
   *
   * @param clock how its time moves. Default: manual, so that it stays there
   * @throws PastError for a moment that the past does not have
   */
  async forkAt(moment: Moment, clock: ClockSetting = 'manual'): Promise<Simulator> {
    this.#assertWithin(moment)
    // Requests of the past that counted tokens have loaded it.
    if (this.#sim.world.needsTokenizer) await loadTokenizer()
    const index = this.#checkpoints.findLastIndex(checkpoint => isReached(checkpoint, moment))
    const start = this.#checkpoints[index]!
    const next = this.#checkpoints[index + 1]
    const lines = this.#lines
      .slice(start.lines - this.#droppedLines, next && next.lines - this.#droppedLines)
      .map(({ line }, index) => ({ ...line, line: index }))
    const number = 'before' in moment ? this.#numberOf(moment.before) : undefined
    const stop = number === undefined ? undefined : lines.find(line => requestOf(line) === number)
    const end = this.#recorder.position
    const sim = createFromCheckpoint(start, this.#sim)
    const open = new OpenRequests()
    const player = new Player(sim, start.at, lines, { onLine: (_, line) => open.note(line) })
    const { time, isThere } = endAt(moment, sim)
    try {
      if (!(await player.play({ stop, time, isThere }))) {
        // Not all events of the present time may have fired in the world.
        await player.moveTo(time < end[0] ? [time, Number.POSITIVE_INFINITY] : end, isThere)
      }
      if (open.count === 0) this.#keepWay(start, sim, player)
      const fork = sim.fork({ clock })
      fork.world.agenda.causes = sim.world.agenda.causes
      fork.world.journal.copyEntries(this.#sim.world.journal, start.entry)
      addOutcomes(sim, this.#sim, start.entry)
      fork.world.journal.copyEntries(sim.world.journal, sim.world.journal.last)
      fork.requestLog.copyEntries(this.#sim.requestLog, start.entry)
      fork.requestLog.copyEntries(sim.requestLog, sim.world.journal.last)
      return fork
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      const { recorded, replayed } = error.difference
      throw new Error(
        `Failed to go back: the replay of the past differs at ${error.subject}: then ${recorded}, now ${replayed}. ` +
          'This is a bug of the simulator.',
      )
    } finally {
      player.close()
      await sim[Symbol.asyncDispose]()
    }
  }

  /** Adds a checkpoint at the end of a long replay, so that the same part is not replayed again. */
  #keepWay(start: Checkpoint, sim: Simulator, player: Player): void {
    const index = this.#checkpoints.indexOf(start)
    const { last } = sim.world.journal
    const isLong = last - start.entry >= this.#checkpointAfter.entries / 2
    if (!isLong || index < 0 || sim.openRequests > 0) return
    const performed = this.#lines.slice(start.lines - this.#droppedLines).slice(0, player.performed)
    const checkpoint: Checkpoint = {
      ...{ snapshot: sim.snapshot(), causes: sim.world.agenda.causes, at: player.position, entry: last },
      ...{
        lines: start.lines + player.performed,
        inputs: start.inputs + performed.filter(({ line }) => isInput(line)).length,
      },
    }
    this.#setCheckpoints(this.#checkpoints.toSpliced(index + 1, 0, checkpoint))
  }

  #assertWithin(moment: Moment): void {
    const { state } = this
    if (state === undefined) throw waitingError()
    const { clock, journal } = this.#sim.world
    if ('time' in moment) {
      if (moment.time > state.to) {
        throw new PastError(`Failed to go back: ${clock.iso(moment.time)} is in the future. It is ${clock.iso()} now.`)
      }
      if (moment.time >= state.from) return
      throw new PastError(
        `Failed to go back: the past is kept since ${clock.iso(state.from)}. Give that time or a later one.`,
      )
    }
    const seq = entryOf(moment)!
    if (seq > journal.last || seq <= state.entry) {
      throw new PastError(
        `Failed to go back: the past has the journal entries ${state.entry + 1} to ${journal.last}. Give one of them.`,
      )
    }
    if ('entry' in moment) return
    const isRequest = journal.entries(seq - 1, seq)[0]?.kind === 'request'
    if ('request' in moment ? isRequest : this.#numberOf(seq) !== undefined) return
    const whose = isRequest ? 'a request to the control plane' : 'not a request'
    throw new PastError(
      `Failed to go back: the journal entry ${seq} is ${whose}. Give the seq of a request of a client, or entry.`,
    )
  }

  get #isQuiet(): boolean {
    return this.#open.count === 0 && this.#sim.openRequests === 0
  }

  /** Looks for a quiet moment at the next turn of the event loop: no step of the world is in progress then. */
  #settleSoon(): void {
    if (this.#isSettling) return
    this.#isSettling = true
    eventLoopTurn().then(() => {
      this.#isSettling = false
      if (!this.#isQuiet) return
      if (this.#checkpoints.length === 0) this.#begin()
      else this.#addCheckpoint()
    })
  }

  #begin(): void {
    this.#header = isPristine(this.#sim) ? createHeader(this.#sim) : undefined
    this.#addCheckpoint()
  }

  /** @param droppedInputs the inputs of this world that are dropped */
  #forget(droppedInputs = 0): void {
    this.#lines = []
    this.#bytes = 0
    this.#inputs = 0
    this.#droppedLines = 0
    this.#droppedInputs = droppedInputs
    this.#checkpoints = []
    this.#header = undefined
  }

  #addCheckpoint(): void {
    const { world } = this.#sim
    const checkpoint: Checkpoint = {
      ...{ snapshot: this.#sim.snapshot(), causes: world.agenda.causes },
      ...{ at: this.#recorder.position, entry: world.journal.last },
      ...{ lines: this.#droppedLines + this.#lines.length, inputs: this.#inputs },
    }
    this.#setCheckpoints([...this.#checkpoints, checkpoint])
  }

  #setCheckpoints(all: readonly Checkpoint[]): void {
    // The first one has the start, and every second of the others is enough.
    this.#checkpoints =
      all.length <= LIMITS.pastCheckpoints ? all : all.filter((_, index) => index % 2 === 0 || index === all.length - 1)
  }

  /** Drops the part before the second checkpoint. Without one, the past begins again at the next quiet moment. */
  #dropOldest(): void {
    while (this.#bytes > this.#maxBytes) {
      const [, second, ...others] = this.#checkpoints
      if (second === undefined) {
        this.#forget(this.#droppedInputs + this.#inputs)
        this.#settleSoon()
        return
      }
      const count = second.lines - this.#droppedLines
      for (const { size } of this.#lines.splice(0, count)) this.#bytes -= size
      this.#droppedLines = second.lines
      this.#droppedInputs = second.inputs
      this.#checkpoints = [second, ...others]
      this.#header = undefined
    }
  }
}

/** Returns where the play of a past stops. */
function endAt(moment: Moment, { world }: Simulator): Required<Pick<PlayEnd, 'time' | 'isThere'>> {
  const time = 'time' in moment ? moment.time : Number.POSITIVE_INFINITY
  /** The request whose answer is the moment. */
  let awaited: number | undefined
  return {
    time,
    isThere(line) {
      const { last } = world.journal
      if ('entry' in moment) return last >= moment.entry
      if (!('request' in moment) || line === undefined || last < moment.request) return false
      awaited ??= requestOf(line) ?? Number.NaN
      // A request to the control plane is one line.
      return Number.isNaN(awaited) || ('answer' in line && line.answer === awaited)
    },
  }
}

/** Adds what the recorded lines do not have: the outcomes of requests to the control plane. */
function addOutcomes(sim: Simulator, origin: Simulator, after: number): void {
  const outcomes = new Map(origin.journal.entries({ after }).map(entry => [entry.seq, entry]))
  for (const entry of sim.journal.entries({ after })) {
    const known = outcomes.get(entry.seq)
    if (known !== undefined && isControlRequest(entry)) Object.assign(entry.fields!, known.fields)
  }
}

/** @param sim continues from the first checkpoint */
function createLaterHeader(sim: Simulator, origin: Simulator, { at, entry }: Checkpoint): HeaderLine {
  return { ...createHeader(sim), ...describeSource(origin), journal: entry, at }
}

function waitingError(): PastError {
  return new PastError(
    'Failed to go back: the past begins when the requests in progress have ended. Try again after their answers.',
  )
}
