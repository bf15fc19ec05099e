/** The worlds of one server: each an account of its own, found by its name or by the tokens that lead to it. */

import { formatDuration } from '../kernel/duration.ts'
import { monotonicMs } from '../lib/real-time.ts'
import { KEY_HEADER } from '../service/http/authentication.ts'
import { optionsOutsideSnapshot } from './option-fields.ts'
import { createSimulator, type ForkOptions, type Simulator, type SimulatorOptions } from './simulator.ts'
import type { Snapshot } from './snapshot/snapshot.ts'

/** The name of the world that the server was started with. */
export const DEFAULT_WORLD = 'default'
export const MAX_WORLDS = 1_024
/** How long nobody has to use a world until it goes, in real milliseconds: an hour. */
export const WORLD_IDLE_MS = 3_600_000

export interface WorldsOptions {
  /** Worlds that a server holds beside its default one; 1,024 unless given. */
  readonly maxWorlds?: number
  /** Real milliseconds without a request after which a world goes; an hour unless given. The default world stays. */
  readonly worldIdleMs?: number
  /** What a token leads to that no world knows: a refusal unless given, or a world of its own. */
  readonly unknownTokens?: 'refuse' | 'fork'
}

/** How a world is asked for. */
export interface WorldSpec {
  /** Differs from what the server was started with; nothing given is a world as that one began. */
  readonly options?: Partial<SimulatorOptions>
  /** The world to go on from instead; with a snapshot the one that keeps it. */
  readonly from?: ServedWorld
  /** The snapshot to go on from instead. What differs then is about the doors of the new world, and of what it keeps. */
  readonly snapshot?: Snapshot
  readonly clock?: ForkOptions['clock'] | undefined
  /** A further word for the world's first token, at the root address. */
  readonly alias?: string | undefined
}

/** The server holds as many worlds as it may. */
export class TooManyWorlds extends Error {
  override readonly name = 'TooManyWorlds'
}

/** Where a request with a token belongs. */
export interface Destination {
  readonly world: ServedWorld
  /** Whether the token leads there by its routing word or an alias, so that its tokens are rewritten on the way. */
  readonly isRouted: boolean
  /** What is told when the world does not know the token either. */
  readonly hint?: string
}

/** A world of a server. */
export class ServedWorld {
  readonly name: string
  readonly sim: Simulator
  readonly alias: string | undefined
  /** What is kept of it, by name. They outlive a reset, and go with it. */
  readonly snapshots = new Map<string, Snapshot>()
  /** Requests that it was asked. */
  requests = 0
  readonly #createdAtMs = monotonicMs()
  readonly #firstToken: string
  #lastUsedMs = monotonicMs()
  #openRequests = 0

  constructor(name: string, sim: Simulator, alias?: string) {
    this.name = name
    this.sim = sim
    this.alias = alias
    this.#firstToken = sim.token
  }

  /** Real milliseconds since it was made. */
  get ageMs(): number {
    return monotonicMs() - this.#createdAtMs
  }

  /** Real milliseconds since anybody asked it something; 0 while it answers. */
  get idleMs(): number {
    return this.#openRequests > 0 ? 0 : monotonicMs() - this.#lastUsedMs
  }

  /** Its first token as clients at the root address send it; undefined when it has none. */
  get token(): string | undefined {
    const { token } = this.sim
    if (this.name === DEFAULT_WORLD || token === '') return token === '' ? undefined : token
    return this.alias !== undefined && this.sim.world.store.tokenByValue(this.#firstToken)
      ? this.alias
      : this.toRoutedToken(token)
  }

  /** A token of this world as the root address shows it. */
  toRoutedToken(token: string): string {
    return `${token}.${this.name}`
  }

  /** A token as this world knows it: without its routing word; the alias stands for the token that was the first. */
  toWorldToken(token: string): string {
    if (token === this.alias) return this.#firstToken
    const word = `.${this.name}`
    return token.endsWith(word) ? token.slice(0, -word.length) : token
  }

  /** Counts a request as a use for as long as it takes. */
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

/**
 * The worlds of a server. Nothing watches over them: a world that nobody used for long goes when somebody looks for it,
 * or makes another.
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
  readonly #worlds = new Map<string, ServedWorld>()
  readonly #aliases = new Map<string, ServedWorld>()
  /** Aliases of worlds that are gone, with the names of these. */
  readonly #endedAliases = new Map<string, string>()
  #createdCount = 0
  #keyHeaders: readonly string[] | undefined

  constructor(sim: Simulator, options: WorldsOptions = {}) {
    this.default = new ServedWorld(DEFAULT_WORLD, sim)
    this.maxWorlds = options.maxWorlds ?? MAX_WORLDS
    this.worldIdleMs = options.worldIdleMs ?? WORLD_IDLE_MS
    this.#forksUnknownTokens = options.unknownTokens === 'fork'
  }

  /** Whether every request belongs to the default world, whatever its token. */
  get hasOnlyDefault(): boolean {
    return this.#createdCount === 0 && !this.#forksUnknownTokens
  }

  /** The headers that take a token in one world or another, beside `Authorization`. */
  get keyHeaders(): readonly string[] {
    this.#keyHeaders ??= [
      ...new Set([KEY_HEADER, ...[this.default, ...this.#worlds.values()].map(({ sim }) => sim.api.keyHeader)]),
    ]
    return this.#keyHeaders
  }

  /** Every world there is, the default one first, then by age. */
  all(): ServedWorld[] {
    this.#deleteExpired()
    return [this.default, ...this.#worlds.values()]
  }

  /** The world of this name; undefined when there is none, or none any more. */
  get(name: string): ServedWorld | undefined {
    if (name === DEFAULT_WORLD) return this.default
    const world = this.#worlds.get(name)
    if (world === undefined || !this.#isExpired(world)) return world
    this.delete(world)
    return undefined
  }

  /**
   * Makes a world.
   *
   * @throws TooManyWorlds when there are enough, RangeError for an alias that is taken, and whatever
   *   `createSimulator` throws at options that make no world
   */
  make({ options, from, snapshot, clock, alias }: WorldSpec = {}): ServedWorld {
    this.#deleteExpired()
    if (this.#worlds.size >= this.maxWorlds) {
      throw new TooManyWorlds(
        `Failed to make a world: this server holds ${this.maxWorlds} beside its default one, which is its limit. ` +
          'Delete one, or start the server with a higher --max-worlds.',
      )
    }
    if (alias !== undefined && (this.#aliases.has(alias) || this.default.sim.world.store.tokenByValue(alias))) {
      throw new RangeError(
        `Failed to make a world: the token '${alias}' leads to another one already. Give it another, or none.`,
      )
    }
    const sim = snapshot
      ? createFromSnapshot(snapshot, from ?? this.default, options, clock)
      : this.#createSimulator(options, from, clock)
    if (alias !== undefined && sim.token === '') {
      throw new RangeError(
        `Failed to make a world: '${alias}' would stand for its first token, and it has none. Leave token out.`,
      )
    }
    const world = new ServedWorld(`w${++this.#createdCount}`, sim, alias)
    this.#worlds.set(world.name, world)
    this.#keyHeaders = undefined
    if (alias !== undefined) {
      this.#aliases.set(alias, world)
      this.#endedAliases.delete(alias)
    }
    return world
  }

  /** Takes a world away; whoever waits in it is told. */
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
   * Where a request with this token belongs.
   *
   * @throws TooManyWorlds when an unknown token would have to get a world of its own, and there are enough
   */
  route(token: string | undefined): Destination {
    const defaultDestination = { world: this.default, isRouted: false }
    if (token === undefined || this.default.sim.world.store.tokenByValue(token)) return defaultDestination
    const routedWorld = this.#findByAlias(token) ?? this.#findByRoutingWord(token)
    if (routedWorld !== undefined) return { world: routedWorld, isRouted: true }
    const routingWord = /\.(w\d+)$/.exec(token)?.[1]
    if (routingWord !== undefined && Number(routingWord.slice(1)) <= this.#createdCount)
      return { ...defaultDestination, hint: this.explainMissing(routingWord) }
    // What was taken away from an account is refused, and no stranger's.
    if (this.default.sim.world.apiTokens.formerValues.includes(token)) return defaultDestination
    for (const { sim } of this.#worlds.values()) {
      if (sim.world.store.tokenByValue(token)) return { ...defaultDestination, hint: 'use base_url' }
    }
    if (this.#forksUnknownTokens) return { world: this.make({ alias: token }), isRouted: true }
    // A command that was meant for a world that is gone must not strike another.
    const endedWorld = this.#endedAliases.get(token)
    return endedWorld === undefined
      ? defaultDestination
      : { ...defaultDestination, hint: this.explainMissing(endedWorld) }
  }

  /** Why there is no world of this name, in one sentence for people. */
  explainMissing(name: string): string {
    const idle = formatDuration(this.worldIdleMs * 1000)
    return (
      `there is no world '${name.slice(0, 100)}': it was deleted, or nobody used it for ${idle} (--world-idle), or it never was. ` +
      'POST /_sim/worlds makes one'
    )
  }

  /** Ends the long moves of every world where they are: their clients shall have an answer. */
  interrupt(): void {
    for (const { sim } of [this.default, ...this.#worlds.values()]) sim.clock.interrupt()
  }

  #findByAlias(token: string): ServedWorld | undefined {
    const world = this.#aliases.get(token)
    return world && this.get(world.name)
  }

  #findByRoutingWord(token: string): ServedWorld | undefined {
    const dot = token.lastIndexOf('.')
    const name = token.slice(dot + 1)
    return dot > 0 && name !== DEFAULT_WORLD ? this.get(name) : undefined
  }

  /** The world of a simulator; undefined when it has been taken away. */
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
    // Records beside those of another fixture would be records of another world.
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

/** A world that goes on from a snapshot: what is in it is the snapshot's, its doors are like those of whoever keeps that. */
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
  // What else it holds goes with it; nobody is left to wait for that.
  sim[Symbol.asyncDispose]().catch(() => {})
}
