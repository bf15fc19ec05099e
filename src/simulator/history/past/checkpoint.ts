/** Moments of a past from which its world can go on again. */
import type { Micros } from '../../../kernel/duration.ts'
import type { Snapshot } from '../../checkpoint/snapshot.ts'
import { optionsOutsideSnapshot } from '../../option-fields.ts'
import { createSimulator, type Simulator } from '../../simulator.ts'
import type { Position, StepLines } from '../lines.ts'

/** A moment without open requests. */
export interface Checkpoint {
  readonly snapshot: Snapshot
  /** The causes of the events to come, which a snapshot does not have. */
  readonly causes: Float64Array
  readonly at: Position
  /** Position of the newest journal entry. */
  readonly entry: number
  /** The number of lines before it, since the past began. */
  readonly lines: number
  /** The number of inputs before it. */
  readonly inputs: number
}

/** A moment of a past: a time, right after a journal entry, right after the answer to a request, or right before it. */
export type Moment =
  | { readonly time: Micros }
  | { readonly entry: number }
  /** Position of the journal entry of a request. */
  | { readonly request: number }
  /** The same. The moment is that at which the request took its first step in the world. */
  | { readonly before: number }

/** Returns the position of the journal entry that a moment names; undefined for a time. */
export function entryOf(moment: Moment): number | undefined {
  if ('time' in moment) return undefined
  if ('entry' in moment) return moment.entry
  return 'before' in moment ? moment.before : moment.request
}

/** Whether a moment comes after a checkpoint, or at it. */
export function isReached(checkpoint: Checkpoint, moment: Moment): boolean {
  return 'time' in moment ? checkpoint.at[0] <= moment.time : checkpoint.entry < entryOf(moment)!
}

/** Returns a simulator that goes on from a checkpoint, with a manual clock. It delivers no webhooks. */
export function createFromCheckpoint({ snapshot, causes, entry }: Checkpoint, origin: Simulator): Simulator {
  const options = optionsOutsideSnapshot(origin.options)
  const sim = createSimulator({ ...options, fixtures: snapshot, clock: 'manual', timers: 'ignore' })
  sim.world.journal.continueAfter(entry)
  sim.world.agenda.causes = causes
  // The recorded past has the outcomes.
  sim.world.webhooks.sender = undefined
  return sim
}

/** Characters of a line beside its texts: names of fields, numbers. */
const LINE_OVERHEAD = 160

/** The requests that have begun and not ended, after some lines. */
export class OpenRequests {
  readonly #numbers = new Set<number>()

  get count(): number {
    return this.#numbers.size
  }

  /** Takes the next line into account. */
  note(line: StepLines): void {
    if ('request' in line) this.#numbers.add(line.request)
    else if ('answer' in line) {
      if (!line.streamed) this.#numbers.delete(line.answer)
    } else if ('read' in line && line.body !== undefined) this.#numbers.delete(line.read)
  }
}

/** The fields that have the number of a request. */
const REQUEST_KEYS = ['request', 'step', 'waits', 'ready', 'end', 'read', 'answer'] as const

/** Returns the number of the request that a line is about; undefined for an action and for the digest. */
export function requestOf(line: StepLines): number | undefined {
  const numbers = line as { readonly [Key in (typeof REQUEST_KEYS)[number]]?: number }
  const key = REQUEST_KEYS.find(name => name in line)
  return key && numbers[key]
}

/** Whether a line is something that came from outside: a request, or an action. */
export function isInput(line: StepLines): boolean {
  return 'request' in line || 'action' in line
}

/** Whether a line is a step of a request in the world. */
export function isStep(line: StepLines): boolean {
  return 'request' in line || 'step' in line
}

/** Returns about how many bytes a line takes. */
export function sizeOf(line: StepLines): number {
  let size = LINE_OVERHEAD
  if ('action' in line) return size + JSON.stringify(line.action).length
  for (const value of Object.values(line)) {
    if (typeof value === 'string') size += value.length
    else if (typeof value === 'object' && value !== null) {
      for (const text of Object.values(value)) if (typeof text === 'string') size += text.length
    }
  }
  return size
}
