import type { DeploymentRow } from '../deployments/deployment-row.ts'
import type { RecordedTimeline } from '../recording/history-records.ts'
import type { World } from '../world.ts'

/** Returns the timelines of a deployment's instances: those that last, then those that are gone, the last to end first. */
export function* instanceTimelines(world: World, row: Readonly<DeploymentRow>): Generator<RecordedTimeline> {
  for (const instance of row.instances) {
    yield { ...world.instances.read(instance).timeline, end: Number.POSITIVE_INFINITY, lossCause: undefined }
  }
  yield* world.history.endedTimelines(row)
}
