/** The life of one thing, read from its journal entries: its states one after another, and what happened besides. */

import {
  BATCH_LIFECYCLE,
  CONTAINER_LIFECYCLE,
  DEPLOYMENT_LIFECYCLE,
  HOSTED_LIFECYCLE,
} from '../../../data/records/enums.ts'
import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { INSTANCE_STATES } from '../../../simulation/deployments/instance-row.ts'

/** Entries that tell neither a client nor an operator anything: the progress of work, and the caches of nodes. */
export const MINOR_KINDS = /^(?:batch\.progressed|node\.(?:image|weights)Evicted|adapter\.(?:resident|evicted))$/

export const LIFE_KINDS = ['deployment', 'instance', 'batch', 'hosted', 'container', 'node'] as const
export type LifeKind = (typeof LIFE_KINDS)[number]

/** The states of the things whose other journal entries change no state, by the first word of their kinds. */
const STATES: Readonly<Record<string, ReadonlySet<string>>> = {
  deployment: new Set(DEPLOYMENT_LIFECYCLE.statuses),
  batch: new Set(BATCH_LIFECYCLE.statuses),
  hosted: new Set(HOSTED_LIFECYCLE.statuses),
  container: new Set(CONTAINER_LIFECYCLE.statuses),
  instance: new Set([...INSTANCE_STATES, 'imagePulled', 'gone', 'lost', 'crashed']),
}
/** The states in which things are created. */
const FIRST_STATES: Readonly<Record<string, string>> = {
  'deployment.created': 'initializing',
  'batch.created': 'validating',
  'hosted.created': 'creating',
  'container.created': 'creating',
}
/** Kinds after which their subject is not at work any more. */
const FINAL = /^(?:instance\.crashed|.*\.(?:deleted|failed|completed|cancelled|expired|lost|stopped|gone|removed))$/

/** A state of a thing. */
export interface Segment {
  readonly name: string
  readonly begin: Micros
  /** Undefined: it lasts. */
  end: Micros | undefined
  readonly isFinal: boolean
  /** The entry that began it; undefined if the state is from before the journal. */
  readonly entry: Entry | undefined
}

export class Lifecycle {
  readonly segments: Segment[] = []
  /** The entries that changed no state. */
  readonly marks: Entry[] = []

  /** The present state. */
  get last(): Segment | undefined {
    return this.segments.at(-1)
  }

  /** Adds the next entry of the thing. */
  add(entry: Entry): void {
    const { kind, time } = entry
    if (!isState(kind)) {
      this.marks.push(entry)
      return
    }
    const name = FIRST_STATES[kind] ?? kind.slice(kind.indexOf('.') + 1)
    if (this.last?.name === name) return
    this.#begin({ name, begin: time, end: undefined, isFinal: FINAL.test(kind), entry })
  }

  /** Begins with a state from before the first entry. */
  beginIn(name: string, begin: Micros): void {
    this.#begin({ name, begin, end: undefined, isFinal: false, entry: undefined })
  }

  #begin(segment: Segment): void {
    if (this.last !== undefined) this.last.end = segment.begin
    this.segments.push(segment)
  }
}

function isState(kind: string): boolean {
  const states = STATES[kind.slice(0, kind.indexOf('.'))]
  if (states === undefined) return kind !== 'fault.hit'
  return kind in FIRST_STATES || states.has(kind.slice(kind.indexOf('.') + 1))
}
