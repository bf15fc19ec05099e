/** The worlds of one server. Each is an account, found by its name or its tokens. */

import { formatDuration } from '../../kernel/duration.ts'
import { LIMITS } from '../../lib/limits.ts'
import { KEY_HEADER } from '../../service/http/authentication.ts'
import { SCOPED_PREFIX } from '../../simulation/account/access/scoped-tokens.ts'
import type { Snapshot } from '../../simulator/checkpoint/snapshot.ts'
import { optionsOutsideSnapshot } from '../../simulator/option-fields.ts'
import { createSimulator, type ForkOptions, type Simulator, type SimulatorOptions } from '../../simulator/simulator.ts'
import { DEFAULT_WORLD, ServedWorld } from './served-world.ts'

/** The idle time after which a world is deleted, in real milliseconds: an hour. */
export const WORLD_IDLE_MS = 3_600_000

export interface WorldsOptions {
  /** The maximum number of worlds in addition to the default one. Default: 1,024. */
  readonly maxWorlds?: number
  /** Real milliseconds without a request after which a world is deleted. Default: an hour. The default world stays. */
  readonly worldIdleMs?: number
  /** What a request with an unknown token gets: a refusal, or a new world. Default: `refuse`. */
  readonly unknownTokens?: 'refuse' | 'fork'
  /** Called with each world that is created, before its first request. */
  readonly onCreated?: (world: ServedWorld) => void
}

/** A description of a new world. */
export interface WorldSpec {
  /** Options that differ from those of the server. Default: a copy of the default world at its start. */
  readonly options?: Partial<SimulatorOptions>
  /** The world to fork; with a snapshot, the world that has it. */
  readonly from?: ServedWorld
  /** The snapshot to continue from. `options` then has only options that a snapshot does not always bring. */
  readonly snapshot?: Snapshot
  readonly clock?: ForkOptions['clock'] | undefined
  /** The simulator of the world, which is made already: with `from`, a fork of that world. It takes the place of the rest. */
  readonly sim?: Simulator
  /** An alias of the first token of the world, at the root address. */
  readonly alias?: string | undefined
}

/** The server has the maximum number of worlds. */
export class TooManyWorlds extends Error {
  override readonly name = 'TooManyWorlds'
}

/** The world of a request. */
export interface Destination {
  readonly world: ServedWorld
  /** Whether the routing word or an alias selected the world, so that tokens in the request must be rewritten. */
  readonly isRouted: boolean
  /** The hint of the refusal if the world does not know the token. */
  readonly hint?: string
}

/**
 * The worlds of a server. There is no timer: an idle world is deleted at the next search for it, or when another world
 * is created.
 *
 * @example
 * const worlds = new Worlds(createSimulator())
 * worlds.of(worlds.make({ options: { seed: 7 } }).token).world.sim.seed // '7'
 */
export class Worlds {
  readonly default: ServedWorld
  readonly maxWorlds: number
  readonly worldIdleMs: number
  readonly #forksUnknownTokens: boolean
  readonly #onCreated: WorldsOptions['onCreated']
  readonly #worlds = new Map<string, ServedWorld>()
  readonly #aliases = new Map<string, ServedWorld>()
  /** Aliases of deleted worlds, with the names of the worlds. */
  readonly #endedAliases = new Map<string, string>()
  #createdCount = 0
  #keyHeaders: readonly string[] | undefined

  constructor(sim: Simulator, options: WorldsOptions = {}) {
    this.default = new ServedWorld(DEFAULT_WORLD, sim)
    this.maxWorlds = options.maxWorlds ?? LIMITS.worlds
    this.worldIdleMs = options.worldIdleMs ?? WORLD_IDLE_MS
    this.#forksUnknownTokens = options.unknownTokens === 'fork'
    this.#onCreated = options.onCreated
  }

  /** Whether all requests belong to the default world, whatever their token. */
  get hasOnlyDefault(): boolean {
    return this.#createdCount === 0 && !this.#forksUnknownTokens
  }

  /** The headers other than `Authorization` that have a token in any world. */
  get keyHeaders(): readonly string[] {
    this.#keyHeaders ??= [
      ...new Set([KEY_HEADER, ...[this.default, ...this.#worlds.values()].flatMap(({ sim }) => sim.api.keyHeaders)]),
    ]
    return this.#keyHeaders
  }

  /** Returns all worlds, the default one first, then the oldest. */
  all(): ServedWorld[] {
    this.#deleteExpired()
    return [this.default, ...this.#worlds.values()]
  }

  /** Returns the world of this name; undefined if it is unknown or deleted. */
  get(name: string): ServedWorld | undefined {
    if (name === DEFAULT_WORLD) return this.default
    const world = this.#worlds.get(name)
    if (world === undefined || !this.#isExpired(world)) return world
    this.delete(world)
    return undefined
  }

  /** Throws TooManyWorlds if no further world can be created. */
  assertRoom(): void {
    this.#deleteExpired()
    if (this.#worlds.size < this.maxWorlds) return
    throw new TooManyWorlds(
      `Failed to make a world: this server holds ${this.maxWorlds} beside its default one, which is its limit. ` +
        'Delete one, or start the server with a higher --max-worlds.',
    )
  }

  /**
   * Creates a world.
   *
   * @throws TooManyWorlds at the maximum number, RangeError for a duplicate alias, and the errors of `createSimulator` for
   *   invalid options
   */
  make({ options, from, snapshot, clock, sim: made, alias }: WorldSpec = {}): ServedWorld {
    this.assertRoom()
    if (alias !== undefined && (this.#aliases.has(alias) || this.default.sim.world.store.tokenByValue(alias))) {
      throw new RangeError('Failed to make a world: the token leads to another one already. Give it another, or none.')
    }
    const sim = snapshot
      ? createFromSnapshot(snapshot, from ?? this.default, options, clock)
      : (made ?? this.#createSimulator(options, from, clock))
    if (alias !== undefined && sim.token === '') {
      throw new RangeError(
        'Failed to make a world: the token would stand for its first token, and it has none. Leave token out.',
      )
    }
    const origin = snapshot === undefined ? from?.name : undefined
    const world = new ServedWorld(`w${++this.#createdCount}`, sim, { alias, ...(origin !== undefined && { origin }) })
    this.#worlds.set(world.name, world)
    this.#keyHeaders = undefined
    if (alias !== undefined) {
      this.#aliases.set(alias, world)
      this.#endedAliases.delete(alias)
    }
    this.#onCreated?.(world)
    return world
  }

  /** Deletes a world. Its pending requests and sleeps are rejected. */
  delete(world: ServedWorld): void {
    this.#worlds.delete(world.name)
    this.#keyHeaders = undefined
    if (world.alias !== undefined) {
      this.#aliases.delete(world.alias)
      this.#endedAliases.set(world.alias, world.name)
    }
    dispose(world)
  }

  /**
   * Returns the world of a request with this token.
   *
   * @throws TooManyWorlds if an unknown token needs a new world beyond the maximum number
   */
  route(token: string | undefined): Destination {
    const defaultDestination = { world: this.default, isRouted: false }
    if (token === undefined || this.default.sim.world.store.tokenByValue(token)) return defaultDestination
    if (token.startsWith(SCOPED_PREFIX)) return { world: this.#worldOfScopedToken(token), isRouted: false }
    const routedWorld = this.#findByAlias(token) ?? this.#findByRoutingWord(token)
    if (routedWorld !== undefined) return { world: routedWorld, isRouted: true }
    const routingWord = /\.(w\d+)$/.exec(token)?.[1]
    if (routingWord !== undefined && Number(routingWord.slice(1)) <= this.#createdCount)
      return { ...defaultDestination, hint: this.explainMissing(routingWord) }
    // A revoked token of the account is refused; it is not unknown.
    if (this.default.sim.world.apiTokens.formerValues.includes(token)) return defaultDestination
    for (const { sim } of this.#worlds.values()) {
      if (sim.world.store.tokenByValue(token)) return { ...defaultDestination, hint: 'use base_url' }
    }
    if (this.#forksUnknownTokens) return { world: this.make({ alias: token }), isRouted: true }
    // A request for a deleted world must not reach another world.
    const endedWorld = this.#endedAliases.get(token)
    return endedWorld === undefined
      ? defaultDestination
      : { ...defaultDestination, hint: this.explainMissing(endedWorld) }
  }

  /** Explains in one sentence why a world is missing. */
  explainMissing(name: string): string {
    const idle = formatDuration(this.worldIdleMs * 1000)
    return (
      `unknown world '${name.slice(0, 100)}': it never existed, was deleted, or was idle for ${idle} (--world-idle). ` +
      'POST /_sim/worlds creates one'
    )
  }

  /** Stops the long moves of all worlds and ends their live events, so that their clients get an answer. */
  interrupt(): void {
    for (const { sim } of [this.default, ...this.#worlds.values()]) {
      sim.clock.interrupt()
      sim.requestLog.close()
    }
  }

  #findByAlias(token: string): ServedWorld | undefined {
    const world = this.#aliases.get(token)
    return world && this.get(world.name)
  }

  /** Returns the first world in which a scoped token is valid, else the default world. */
  #worldOfScopedToken(token: string): ServedWorld {
    const isValid = ({ sim }: ServedWorld) => typeof sim.world.access.scopedTokens.read(token) === 'object'
    if (isValid(this.default)) return this.default
    return [...this.#worlds.values()].find(isValid) ?? this.default
  }

  #findByRoutingWord(token: string): ServedWorld | undefined {
    const dot = token.lastIndexOf('.')
    const name = token.slice(dot + 1)
    return dot > 0 && name !== DEFAULT_WORLD ? this.get(name) : undefined
  }

  /** Returns the world of a simulator; undefined if it was deleted. */
  findBySimulator(sim: Simulator): ServedWorld | undefined {
    return [this.default, ...this.#worlds.values()].find(world => world.sim === sim)
  }

  #createSimulator(
    options: Partial<SimulatorOptions> | undefined,
    from: ServedWorld | undefined,
    clock: WorldSpec['clock'],
  ): Simulator {
    const template = this.default.sim
    if (from !== undefined) return from.sim.fork(clock === undefined ? {} : { clock })
    const setting = clock ?? template.options.clock ?? 'manual'
    if (options === undefined) return template.fork({ clock: setting, fresh: true })
    // The added records of the default world belong to its fixture.
    const { with: defaultPatch, ...base } = template.options
    const patch = options.fixtures === undefined && defaultPatch !== undefined ? { with: defaultPatch } : {}
    return createSimulator({ ...base, ...patch, ...options, clock: setting })
  }

  #isExpired(world: ServedWorld): boolean {
    return world.idleMs > this.worldIdleMs
  }

  #deleteExpired(): void {
    for (const world of this.#worlds.values()) if (this.#isExpired(world)) this.delete(world)
  }
}

/** Creates a simulator from a snapshot. Options that a snapshot does not bring are those of the world that has it. */
function createFromSnapshot(
  snapshot: Snapshot,
  { sim }: ServedWorld,
  options: WorldSpec['options'],
  clock: WorldSpec['clock'],
): Simulator {
  const inheritedOptions = optionsOutsideSnapshot(sim.options)
  const fixtures = snapshot.forServer(sim.clock.setting)
  return createSimulator({ ...inheritedOptions, ...options, fixtures, ...(clock !== undefined && { clock }) })
}

function dispose({ sim }: ServedWorld): void {
  sim.clock.interrupt()
  // Without await: the caller does not need the end of the disposal.
  sim[Symbol.asyncDispose]().catch(() => {})
}
