import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Micros } from '../../kernel/duration.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import type { EngineRequests } from '../load/engine-requests.ts'
import { EMPTY_PREFIX_CACHE, type PrefixCache } from '../load/prefix-cache.ts'
import { INSTANCE_STAGES, type InstanceTimeline } from '../recording/instance-timeline.ts'

/** The states of an instance, in order. */
export const INSTANCE_STATES = INSTANCE_STAGES.filter(stage => stage !== 'pulled')
/** The state of an instance that has a row. An instance that is `gone` has left its table. */
export type InstanceState = (typeof INSTANCE_STATES)[number]

/** Returns the journal kind of a state. A look-up by the state in an object of so many fields takes longer. */
export function entryKindOf(state: InstanceState): `instance.${InstanceState}` {
  switch (state) {
    case 'pending':
      return 'instance.pending'
    case 'placed':
      return 'instance.placed'
    case 'pulling':
      return 'instance.pulling'
    case 'loading':
      return 'instance.loading'
    case 'warming':
      return 'instance.warming'
    case 'ready':
      return 'instance.ready'
    case 'draining':
      return 'instance.draining'
  }
}

/** A LoRA adapter in a slot of an instance. */
export interface ResidentAdapter {
  /** Ordinal of the adapter. */
  readonly adapter: number
  readonly usedAt: Micros
  /** The number of batches and requests that use it now. While it is positive, the adapter keeps its slot. */
  readonly users: number
  /** The event that ends its load; 0 once it answers. */
  readonly loadEvent: EntryHandle
}

const NO_ADAPTERS: readonly ResidentAdapter[] = Object.freeze([])

/** One running copy of a deployment on GPUs of one node. */
export class InstanceRow extends Row {
  declare readonly deployment: number
  /** The number of this instance in its deployment, from 0. It is the index of its random draws. */
  declare readonly index: number
  state = this.reference<InstanceState>('pending')
  declare since: Micros
  node = this.int32(-1)
  /** The GPUs that it holds on its node, as bits. */
  gpus = this.int32(0)
  /** Whether it is ready and leaves its node when a notice ends. Another instance takes its place. */
  isLeaving = this.boolean(false)
  /** The event that ends its present state; 0 for no event. */
  next = this.number(0)
  /** The event at which it counts as lost because it is not ready; 0 for no event. */
  readyDeadlineEvent = this.number(0)
  /** Its download: the bytes left, its own rate, its present rate, and the start of that rate. All 0 without a download. */
  bytesLeft = this.number(0)
  ownRate = this.number(0)
  rate = this.number(0)
  rateSince: Micros = this.number(0)
  /** The adapters in its slots. The list is replaced, never edited. */
  adapters = this.reference<readonly ResidentAdapter[]>(NO_ADAPTERS)
  /** The single requests that its engine worked on; undefined before the first one ended. */
  requests = this.reference<EngineRequests | undefined>(undefined)
  /** The prompts that its engine remembers. */
  prefixCache = this.reference<PrefixCache>(EMPTY_PREFIX_CACHE)
  /** The time at which it entered each state, for reports. */
  declare readonly timeline: InstanceTimeline

  constructor(
    generation: Generation,
    id: string,
    initial: Pick<InstanceRow, 'deployment' | 'index' | 'since' | 'timeline'>,
  ) {
    super(generation, id)
    this.deployment = this.int32(initial.deployment)
    this.index = this.int32(initial.index)
    this.since = this.number(initial.since)
    this.timeline = this.owned(initial.timeline)
  }
}
