import type { WriteObserver } from '../kernel/row.ts'

/** Sees every step of a world: an event, a request, a command. An invariant checker is one. */
export interface StepObserver extends WriteObserver {
  /** Time is about to move: what was written outside of a step is a step of its own. */
  onBeforeMove(): void
  onEventBegan(): void
  onEventFired(event: string, subject: number): void
  /** A command was executed. */
  onCommandExecuted(command: string, target: string): void
  onRequestOpened(seq: number): void
  onRequestClosed(seq: number, subject: string, status: number): void
}
