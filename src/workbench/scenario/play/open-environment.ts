import type { Simulator } from '../../../simulator/simulator.ts'
import { type ScenarioOptions, worldOptionsOf } from '../scenario.ts'
import type { ServerAddress } from './control-client.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { InProcessEnvironment } from './local.ts'
import { openRemoteEnvironment } from './open-remote.ts'

/** Selects the environment. */
export interface EnvironmentOptions {
  /** Address of a running server. Default: this process. */
  readonly against?: string | ServerAddress | undefined
  /** Called with the simulator of the world before the script begins. A world of a server has none here. */
  readonly onWorld?: ((sim: Simulator) => void) | undefined
}

/**
 * Creates the environment of a scenario, in this process or on a server.
 *
 * @throws FixtureError or RangeError for invalid options of a world, Error for an unusable server
 */
export async function createEnvironment(
  options: ScenarioOptions,
  { against, onWorld }: EnvironmentOptions,
): Promise<ScenarioEnvironment> {
  return against === undefined
    ? new InProcessEnvironment(options, onWorld)
    : openRemoteEnvironment(against, worldOptionsOf(options))
}
