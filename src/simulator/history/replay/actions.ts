/** Performs the actions of a recording. */

import { decodeBase64 } from '../../../lib/bytes.ts'
import type { WebhookAttempt } from '../../../simulation/inference/webhooks.ts'
import { type ControlAction, recordUserWrite } from '../../observer.ts'
import type { Simulator } from '../../simulator-interface.ts'

type Actions = {
  readonly [Name in ControlAction['do']]: (sim: Simulator, action: Extract<ControlAction, { do: Name }>) => unknown
}

const ACTIONS: Actions = {
  command: ({ world }, { command, delay, repetition }) => world.commands.schedule(command, delay, repetition),
  addFault: (sim, { rule }) => sim.faults.add(rule),
  removeFault: (sim, { id }) => sim.faults.remove(id),
  addAnswer: (sim, { rule }) => sim.inference.add(rule),
  removeAnswer: (sim, { name }) => sim.inference.remove(name),
  clearAnswers: sim => sim.inference.clear(),
  startTimeline: (sim, { plan }) => sim.timelines.start(plan),
  stopTimeline: (sim, { name }) => sim.timelines.stop(name),
  reset(sim, { snapshot, journal = 0 }) {
    if (snapshot === undefined) return sim.reset()
    sim.restore(decodeBase64(snapshot))
    sim.world.journal.continueAfter(journal)
  },
  restore: (sim, { snapshot }) => sim.restore(decodeBase64(snapshot)),
  settleWebhook: ({ world }, { attempt, outcome }) => world.webhooks.recordOutcome(attempt as WebhookAttempt, outcome),
  endInference({ world }, { ordinal, state, tokens }) {
    // The client has the whole answer: its tokens have no end.
    world.inferenceRequests.endByClient(ordinal, state, state === 'served' ? Number.POSITIVE_INFINITY : tokens)
  },
  writeData({ world }, action) {
    const index = world.store[action.kind]
    if (action.record === undefined) index.delete(action.key)
    else index.put(action.record as never)
    recordUserWrite(world, action)
  },
  listControlRequest: (sim, { operation, method, path }) => sim.listControlRequest(operation, method, path),
  // A replay moves time by the lines.
  setClock: () => {},
}

/** Performs an action now. */
export function performAction(sim: Simulator, action: ControlAction): void {
  ACTIONS[action.do](sim, action as never)
}
