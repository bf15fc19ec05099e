import type { ServedWorld } from '../../../server/worlds/served-world.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the environment of a client: where its world is and how it commands it, in the variables of `explore` and in
 * those of `modelhost-sim env`.
 *
 * @param url the address of the server
 */
export function clientEnvironment(
  environment: Environment,
  url: string,
  { name, token = '' }: ServedWorld,
): Environment {
  // A proxy cannot reach a server of this machine.
  const noProxy = [environment.NO_PROXY ?? environment.no_proxy, new URL(url).hostname].filter(Boolean).join(',')
  return {
    ...environment,
    ...{ NO_PROXY: noProxy, no_proxy: noProxy },
    ...{ MODELHOST_URL: url, MODELHOST_TOKEN: token },
    MODELHOST_SIM_CONTROL: `${url}/_sim/worlds/${name}/_sim`,
    ...{ MODELHOST_SIM_URL: url, MODELHOST_SIM_TOKEN: token },
    ...{ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: token },
  }
}
