import { openAgainst, type ServerAddress } from './against.ts'
import { InProcessStage } from './in-process.ts'
import { type ScenarioOptions, worldOf } from './scenario.ts'
import type { Stage } from './stage.ts'

/** Where to play. */
export interface StagePlace {
  /** A running server, by its address; in this process unless given. */
  readonly against?: string | ServerAddress | undefined
}

/**
 * Builds the stage that a scenario is played on: the one place that knows how many kinds there are.
 *
 * @throws FixtureError or RangeError for options that make no world, Error for a server that cannot be played on
 */
export async function stageFor(options: ScenarioOptions, { against }: StagePlace): Promise<Stage> {
  return against === undefined ? new InProcessStage(options) : openAgainst(against, worldOf(options))
}
