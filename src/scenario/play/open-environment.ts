import { type ScenarioOptions, worldOptionsOf } from '../scenario.ts'
import type { ServerAddress } from './control-client.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { InProcessEnvironment } from './local.ts'
import { openRemoteEnvironment } from './open-remote.ts'

/** Selects the environment. */
export interface EnvironmentOptions {
  /** Address of a running server. Default: this process. */
  readonly against?: string | ServerAddress | undefined
}

/**
 * Creates the environment of a scenario, in this process or on a server.
 *
 * @throws FixtureError or RangeError for invalid options of a world, Error for an unusable server
 */
export async function createEnvironment(
  options: ScenarioOptions,
  { against }: EnvironmentOptions,
): Promise<ScenarioEnvironment> {
  return against === undefined
    ? new InProcessEnvironment(options)
    : openRemoteEnvironment(against, worldOptionsOf(options))
}
