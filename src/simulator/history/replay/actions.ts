/** Performs the actions of a recording. */

import { decodeBase64 } from '../../../lib/base64.ts'
import type { WebhookAttempt } from '../../../simulation/inference/webhooks.ts'
import { type ControlAction, recordUserWrite } from '../../observer.ts'
import type { Simulator } from '../../simulator-interface.ts'

/** Performs an action now. A change of the clock does nothing: a replay moves time by the lines. */
export function performAction(sim: Simulator, action: ControlAction): void {
  const { world } = sim
  switch (action.do) {
    case 'command':
      world.commands.schedule(action.command, action.delay, action.repetition)
      return
    case 'addFault':
      sim.faults.add(action.rule)
      return
    case 'removeFault':
      sim.faults.remove(action.id)
      return
    case 'addAnswer':
      sim.inference.add(action.rule)
      return
    case 'removeAnswer':
      sim.inference.remove(action.name)
      return
    case 'clearAnswers':
      sim.inference.clear()
      return
    case 'startTimeline':
      sim.timelines.start(action.plan)
      return
    case 'stopTimeline':
      sim.timelines.stop(action.name)
      return
    case 'reset':
      if (action.snapshot === undefined) sim.reset()
      else {
        sim.restore(decodeBase64(action.snapshot))
        sim.world.journal.continueAfter(action.journal ?? 0)
      }
      return
    case 'restore':
      sim.restore(decodeBase64(action.snapshot))
      return
    case 'settleWebhook':
      world.webhooks.recordOutcome(action.attempt as WebhookAttempt, action.outcome)
      return
    case 'endInference': {
      const { ordinal, state, tokens } = action
      // The client has the whole answer: its tokens have no end.
      world.inferenceRequests.endByClient(ordinal, state, state === 'served' ? Number.POSITIVE_INFINITY : tokens)
      return
    }
    case 'writeData': {
      const index = world.store[action.kind]
      if (action.record === undefined) index.delete(action.key)
      else index.put(action.record as never)
      recordUserWrite(world, action)
      return
    }
    case 'listControlRequest':
      sim.listControlRequest(action.operation, action.method, action.path)
      return
    case 'setClock':
      return
    default:
      throw new RangeError(`unknown action '${String((action as { readonly do?: unknown }).do)}'`)
  }
}
