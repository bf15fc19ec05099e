import { LoadError } from './files.ts'
import { InProcessStage } from './in-process.ts'
import type { ScenarioOptions } from './scenario.ts'
import type { Stage } from './stage.ts'

/** Where to play. */
export interface StagePlace {
  /** Address of a running server; in this process unless given. */
  readonly against?: string | undefined
}

/**
 * Builds the stage that a scenario is played on: the one place that knows how many kinds there are.
 *
 * @throws FixtureError or RangeError for options that make no world, LoadError for a server that cannot be played on
 */
export async function stageFor(options: ScenarioOptions, { against }: StagePlace): Promise<Stage> {
  if (against === undefined) return new InProcessStage(options)
  throw new LoadError(
    `Failed to play against ${against}: this version plays scenarios in its own process alone. Leave --against out.`,
  )
}
