import type { Micros } from '../../kernel/duration.ts'

/** The stages of an instance's life, in order: its states, and between two of them the moment its image was there. */
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

/** When an instance entered each stage of its life; -1 for what has not come, or lay before the world began. */
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

  /** It enters a stage. By name: a field whose name is computed costs ten times as much. */
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

/** How the reason reads with which an instance was lost, by what it was lost to. */
const CAUSE_PATTERNS = {
  node_crash: /^node .* crashed$/,
  preemption: /^node .* was preempted$/,
  gpu: /^GPU \d/,
  zone: /^zone /,
  disk: /^no space left/,
  registry: /^the image registry/,
  hub: /^the hub/,
  not_ready_in_time: /^it was not ready/,
  engine_exit: /^engine exited/,
  other: /^/,
} as const satisfies Readonly<Record<string, RegExp>>
export type LossCause = keyof typeof CAUSE_PATTERNS
export const LOSS_CAUSES = Object.keys(CAUSE_PATTERNS) as LossCause[]

/** What an instance was lost to, by the reason it was given; `other` for one that reads like none. */
export function lossCause(reason: string): LossCause {
  return LOSS_CAUSES.find(kind => CAUSE_PATTERNS[kind].test(reason))!
}
