import { createSimulator } from '../../src/index.ts'

/** Returns the text of the recording of a world in which a node crashed. No client sent a request. */
export function recordMinute(): string {
  const sim = createSimulator()
  const recording = sim.record()
  sim.cluster.node('h100-0').crash()
  recording.stop()
  return recording.text
}
