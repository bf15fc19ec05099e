import type { Micros } from '../../kernel/duration.ts'

/** The stages of an instance in order: its states, plus `pulled`, the time its image was complete. */
export const INSTANCE_STAGES = [
  'pending',
  'placed',
  'pulling',
  'pulled',
  'loading',
  'warming',
  'ready',
  'draining',
] as const
export type InstanceStage = (typeof INSTANCE_STAGES)[number]

/** When an instance entered each stage. -1: not entered, or entered before the start of the world. */
export class InstanceTimeline implements Record<InstanceStage, Micros> {
  pending: Micros
  placed: Micros = -1
  pulling: Micros = -1
  pulled: Micros = -1
  loading: Micros = -1
  warming: Micros = -1
  ready: Micros = -1
  draining: Micros = -1

  constructor(requestedAt: Micros) {
    this.pending = requestedAt
  }

  /** Enters a stage. Explicit names are used, because a computed field name costs ten times as much. */
  enter(stage: InstanceStage, now: Micros): void {
    switch (stage) {
      case 'pending':
        this.pending = now
        break
      case 'placed':
        this.placed = now
        break
      case 'pulling':
        this.pulling = now
        break
      case 'pulled':
        this.pulled = now
        break
      case 'loading':
        this.loading = now
        break
      case 'warming':
        this.warming = now
        break
      case 'ready':
        this.ready = now
        break
      case 'draining':
        this.draining = now
        break
    }
  }

  copy(): InstanceTimeline {
    const copy = new InstanceTimeline(this.pending)
    copy.placed = this.placed
    copy.pulling = this.pulling
    copy.pulled = this.pulled
    copy.loading = this.loading
    copy.warming = this.warming
    copy.ready = this.ready
    copy.draining = this.draining
    return copy
  }
}

/** The causes of the loss of an instance. The history stores their positions. */
export const LOSS_CAUSES = [
  'node_crash',
  'preemption',
  'gpu',
  'zone',
  'disk',
  'registry',
  'hub',
  'not_ready_in_time',
  'engine_exit',
  'other',
] as const
export type LossCause = (typeof LOSS_CAUSES)[number]

/** The loss of an instance or a rental: a code for reports, and a text for people. */
export interface Loss {
  readonly cause: LossCause
  readonly reason: string
}
