import { monotonicMs } from '../../lib/real-time.ts'
import type { Snapshot } from '../../simulator/checkpoint/snapshot.ts'
import type { Simulator } from '../../simulator/simulator.ts'

/** The name of the world with which the server started. */
export const DEFAULT_WORLD = 'default'

/** Returns the environment variables that point a client to a world of a server. */
export function clientVariables(url: string, token: string): Readonly<Record<string, string>> {
  return {
    ...{ MODELHOST_SIM_URL: url, MODELHOST_SIM_TOKEN: token },
    ...{ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: token },
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the environment of a command that is a client: where its world is and how it commands it, in the variables of
 * `explore` and in those of `modelhost-sim env`. A proxy cannot reach a server of this machine, so none is used.
 *
 * @param control the address of the control plane of the world
 */
export function commandEnvironment(
  environment: Environment,
  { url, token, control }: { readonly url: string; readonly token: string; readonly control: string },
): Environment {
  const noProxy = [environment.NO_PROXY ?? environment.no_proxy, new URL(url).hostname].filter(Boolean).join(',')
  return {
    ...{ ...environment, NO_PROXY: noProxy, no_proxy: noProxy },
    ...{ MODELHOST_URL: url, MODELHOST_TOKEN: token, MODELHOST_SIM_CONTROL: control },
    ...clientVariables(url, token),
  }
}

/** The world that a fork was made of, and the virtual time of the fork (ISO 8601). */
export interface ForkOrigin {
  readonly world: string
  readonly at: string
}

/** A world of a server, with its usage and its snapshots. */
export class ServedWorld {
  readonly name: string
  readonly sim: Simulator
  readonly alias: string | undefined
  readonly forkOf: ForkOrigin | undefined
  /** The snapshots of the world, by name. A reset keeps them. */
  readonly snapshots = new Map<string, Snapshot>()
  /**
   * Answers the requests of clients: the simulator. A host that observes its clients puts its own function here.
   *
   * @internal
   */
  answer: Simulator['answer']
  /** The number of its requests. */
  requests = 0
  readonly #createdAtMs = monotonicMs()
  readonly #firstToken: string
  #lastUsedMs = monotonicMs()
  #openRequests = 0

  constructor(name: string, sim: Simulator, { alias, origin }: { alias?: string | undefined; origin?: string } = {}) {
    this.name = name
    this.sim = sim
    this.alias = alias
    this.forkOf = origin === undefined ? undefined : { world: origin, at: sim.clock.iso }
    this.#firstToken = sim.token
    this.answer = (request, options) => sim.answer(request, options)
  }

  /** Real milliseconds since its creation. */
  get ageMs(): number {
    return monotonicMs() - this.#createdAtMs
  }

  /** Real milliseconds since its last request; 0 during a request. */
  get idleMs(): number {
    return this.#openRequests > 0 ? 0 : monotonicMs() - this.#lastUsedMs
  }

  /** The first token, as clients send it to the root address; undefined if it has no token. */
  get token(): string | undefined {
    const { token } = this.sim
    if (this.name === DEFAULT_WORLD || token === '') return token === '' ? undefined : token
    return this.alias !== undefined && this.sim.world.store.tokenByValue(this.#firstToken)
      ? this.alias
      : this.toRoutedToken(token)
  }

  /** Returns a token with the routing word of this world, for the root address. */
  toRoutedToken(token: string): string {
    return `${token}.${this.name}`
  }

  /** Returns the token without its routing word. For the alias, it returns the first token. */
  toWorldToken(token: string): string {
    if (token === this.alias) return this.#firstToken
    const word = `.${this.name}`
    return token.endsWith(word) ? token.slice(0, -word.length) : token
  }

  /** Calls `answer`, and counts the world as used until the response. */
  trackUse<Answer>(answer: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
    this.requests++
    this.#lastUsedMs = monotonicMs()
    const response = answer()
    return response instanceof Promise ? this.#trackOpen(response) : response
  }

  async #trackOpen<Answer>(response: Promise<Answer>): Promise<Answer> {
    this.#openRequests++
    try {
      return await response
    } finally {
      this.#openRequests--
      this.#lastUsedMs = monotonicMs()
    }
  }
}
