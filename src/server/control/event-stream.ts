/** The live events of a world as server-sent events. */
import { clearRealTimeout, eventLoopTurn, monotonicMs, setRealTimeout } from '../../lib/real-time.ts'
import type { ReceivedRequest } from '../../simulator/exchanges/request-log.ts'
import { type EventReader, GROUPED, type LiveEvent } from '../../simulator/requests/event-reader.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { toEntryColumns, toJournalView, toRequestView } from './event-views.ts'

/** Real milliseconds between two comments on a connection without events. Proxies close silent connections. */
const HEARTBEAT_MS = 15_000
/**
 * Least real milliseconds between two batches of events for a reader that keeps up. Each batch is a write, and a write
 * costs the server more than the event in it.
 */
const BATCH_PAUSE_MS = 100
/** The same for a reader of columns to whom a batch brought much. A page that draws four times a second looks alive. */
const BUSY_PAUSE_MS = 250
/** The entries and requests of a batch that are much. */
const BUSY = 25

/** The texts of the newest events of a simulator, so that several readers format an event once. */
export class EventTexts {
  /** The turns of these readers, which they share with the readers of other worlds. */
  readonly turns: EventTurns
  #texts = new Map<string, string>()

  constructor(turns = new EventTurns()) {
    this.turns = turns
  }

  /** Returns the text of an event. Events other than entries and requests are those of one reader. */
  read({ type, id }: LiveEvent, format: () => string): string {
    if (type !== 'entry' && type !== 'request') return format()
    let text = this.#texts.get(id)
    if (text === undefined) {
      text = format()
      if (this.#texts.size >= MAX_TEXTS) this.#texts = new Map()
      this.#texts.set(id, text)
    }
    return text
  }
}

/** The most texts that are kept for other readers. Readers that keep up are at most a batch apart. */
const MAX_TEXTS = 500

/**
 * Returns a stream that reads events when its consumer does. Between events, it has comments, so that both sides notice a
 * broken connection.
 */
export function createEventStream(
  sim: Simulator,
  reader: EventReader,
  texts: EventTexts,
  heartbeatMs = HEARTBEAT_MS,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  let heartbeat: unknown
  let isPulling = false
  let isOver = false
  let nextAt = Number.NEGATIVE_INFINITY
  texts.turns.join()
  const stop = () => {
    if (!isOver) texts.turns.leave()
    isOver = true
    clearRealTimeout(heartbeat)
    reader.close()
  }
  const format = (events: readonly LiveEvent[]) => {
    if (reader.isGrouped) return encoder.encode(formatGroups(events, sim).join(''))
    return encoder.encode(events.map(event => texts.read(event, () => formatEvent(event, sim))).join(''))
  }
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(': events of modelhost-sim\n\n'))
      const beat = () => {
        // A consumer that does not read gets no comments: they would pile up.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': still here\n\n'))
        heartbeat = setRealTimeout(beat, heartbeatMs)
      }
      heartbeat = setRealTimeout(beat, heartbeatMs)
      // Its consumer does not read: the note waits behind what it has not read.
      reader.onHeld = texts.turns.watchHeld()
      reader.onSlow = async () => {
        const events = await reader.next()
        if (isPulling || isOver || events === undefined) return
        controller.enqueue(format(events))
        stop()
        controller.close()
      }
    },
    async pull(controller) {
      isPulling = true
      await reader.rest(nextAt - monotonicMs())
      const events = await reader.next()
      if (events !== undefined) {
        reader.isServed = true
        await texts.turns.take(costOf(events))
        reader.isServed = false
      }
      // Who is behind reads on at once.
      nextAt = reader.isBehind ? Number.NEGATIVE_INFINITY : monotonicMs() + pauseAfter(reader, events ?? [])
      isPulling = false
      if (isOver) return
      if (events !== undefined) return controller.enqueue(format(events))
      stop()
      controller.close()
    },
    cancel: stop,
  })
}

/** Returns the work of formatting events, in events. */
function costOf(events: readonly LiveEvent[]): number {
  return events.reduce((sum, event) => sum + (event.type === 'entries' ? event.entries.length / GROUPED : 1), 0)
}

/** Returns the least real milliseconds between a batch and the next one. */
function pauseAfter({ isGrouped }: EventReader, events: readonly LiveEvent[]): number {
  if (!isGrouped) return BATCH_PAUSE_MS
  const count = events.reduce((sum, event) => sum + (event.type === 'entries' ? event.entries.length : 1), 0)
  return count < BUSY ? BATCH_PAUSE_MS : BUSY_PAUSE_MS
}

/** Formats events, those that follow each other as requests in one event `requests`. */
function formatGroups(events: readonly LiveEvent[], sim: Simulator): string[] {
  const texts: string[] = []
  let requests: ReceivedRequest[] = []
  for (const [i, event] of events.entries()) {
    if (event.type !== 'request') {
      texts.push(formatEvent(event, sim))
      continue
    }
    requests.push(event.request)
    if (events[i + 1]?.type === 'request') continue
    texts.push(formatData('requests', event.id, { requests: requests.map(one => toRequestView(one, sim)) }, sim))
    requests = []
  }
  return texts
}

/** Formats an event: its id, its type, and its data as one line of JSON. */
function formatEvent(event: LiveEvent, sim: Simulator): string {
  return formatData(event.type, event.id, dataOf(event, sim), sim)
}

function formatData(type: string, id: string, data: unknown, { world }: Simulator): string {
  return `id: ${id}\nevent: ${type}\ndata: ${world.apiTokens.hideSecrets(JSON.stringify(data))}\n\n`
}

function dataOf(event: LiveEvent, sim: Simulator): unknown {
  switch (event.type) {
    case 'entry':
      return toJournalView(event.entry, sim)
    case 'request':
      return toRequestView(event.request, sim)
    case 'entries':
      return toEntryColumns(event.entries, sim)
    default: {
      const { type, id, ...data } = event
      return data
    }
  }
}

/** The events that all readers together format in one turn of the event loop: about 5 ms. */
const EVENTS_PER_TURN = 250
/** The events of each reader between two checks of a program that gives the event loop no turn: more than a check brings. */
const EVENTS_PER_CHECK = 750

/** The readers of all worlds of a server. */
export class EventTurns {
  #readers = 0
  #room = EVENTS_PER_TURN
  #waiting: { readonly events: number; readonly resume: () => void }[] = []
  #isTurnDue = false
  #turn = 0

  /** Adds a reader. */
  join(): void {
    this.#readers++
  }

  /** Removes a reader. */
  leave(): void {
    this.#readers--
  }

  /**
   * Resolves when a reader may format its events; readers come in the order in which they ask. A reader that is alone
   * does not wait: a client that never gives the event loop a turn is read all the same.
   */
  async take(events: number): Promise<void> {
    if (this.#readers <= 1) return
    const isFree = this.#waiting.length === 0 && this.#fits(events)
    if (isFree) this.#use(events)
    else {
      await new Promise<void>(resume => {
        this.#waiting.push({ events, resume })
        this.#expectTurn()
      })
    }
  }

  /**
   * Returns a function for a reader that waits for its turn. It is called now and then while the world changes. If the
   * program went on by promises alone since the last call, no turn comes, and the readers go on without one.
   */
  watchHeld(): () => void {
    let lastTurn = -1
    let isAwaited = false
    return () => {
      if (lastTurn === this.#turn && isAwaited) this.#release()
      lastTurn = this.#turn
      isAwaited = false
      Promise.resolve().then(() => (isAwaited = true))
    }
  }

  #release(): void {
    this.#room = EVENTS_PER_CHECK * this.#readers
    for (const { events, resume } of this.#waiting.splice(0)) {
      this.#room -= events
      resume()
    }
  }

  /** Whether events fit into this turn. A batch with more than a turn has gets a turn of its own. */
  #fits(events: number): boolean {
    return events <= this.#room || this.#room === EVENTS_PER_TURN
  }

  #use(events: number): void {
    this.#room -= events
    this.#expectTurn()
  }

  #expectTurn(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    eventLoopTurn().then(() => {
      this.#isTurnDue = false
      this.#turn++
      this.#room = EVENTS_PER_TURN
      for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.events); next = this.#waiting[0]) {
        this.#waiting.shift()
        this.#use(next.events)
        next.resume()
      }
    })
  }
}
