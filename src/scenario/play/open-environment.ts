import { type ScenarioOptions, worldOptionsOf } from '../scenario.ts'
import type { ServerAddress } from './control-client.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { InProcessEnvironment } from './local.ts'
import { openRemoteEnvironment } from './open-remote.ts'

/** Where to play. */
export interface EnvironmentOptions {
  /** A running server, by its address; in this process unless given. */
  readonly against?: string | ServerAddress | undefined
}

/**
 * Builds the stage that a scenario is played on: the one place that knows how many kinds there are.
 *
 * @throws FixtureError or RangeError for options that make no world, Error for a server that cannot be played on
 */
export async function createEnvironment(
  options: ScenarioOptions,
  { against }: EnvironmentOptions,
): Promise<ScenarioEnvironment> {
  return against === undefined
    ? new InProcessEnvironment(options)
    : openRemoteEnvironment(against, worldOptionsOf(options))
}
