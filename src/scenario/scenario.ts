import type { Client } from '../api/client.ts'
import type { LedgerEntry } from '../cluster/ledger.ts'
import type { Entry } from '../kernel/journal.ts'
import type { SimulatorOptions } from '../simulator.ts'
import type { Check, ExpectRefusal } from './check.ts'
import type { ScenarioCluster } from './orders.ts'
import type { StageClock, StageFaults } from './stage.ts'

/**
 * The world a scenario begins in: the options of `createSimulator`, and words to find it by. A path of `fixtures` or
 * `profile` that begins with a dot is relative to the script.
 */
export interface ScenarioOptions extends Omit<SimulatorOptions, 'onBug' | 'journalLimit'> {
  /** Words that `--filter` finds it by, beside its title and its file's name. */
  readonly tags?: readonly string[]
}

/** The money, as a scenario looks at it. */
export interface ScenarioLedger {
  /** Remaining funds in micro-cents, computed to now. */
  balance(): Promise<number>
  /** Postings, and what runs and is not posted yet (`open`); of one thing, when its wire id is given. */
  entries(subject?: string): Promise<readonly LedgerEntry[]>
  /** What a thing has cost so far in micro-cents, with what runs. */
  cost(subject: string): Promise<number>
  /** Whole seconds that a thing has been rented so far. */
  rent(subject: string): Promise<number>
}

/** What `play` gets. */
export interface Props {
  /** The typed client: an operation a method; a refusal throws `Refusal`. */
  readonly api: Client
  /** Time moves only here. */
  readonly clock: StageClock
  /** The fleet, and what goes wrong with it. A verb that nobody awaits is still done, in order, and may not fail. */
  readonly cluster: ScenarioCluster
  /** Faults of the wire; like the verbs of the cluster they are done in order. */
  readonly faults: StageFaults
  readonly ledger: ScenarioLedger
  readonly journal: {
    /** What has happened so far, oldest first. */
    entries(): Promise<readonly Entry[]>
  }
  /** Holds a value against what it should be; what is not named does not matter. */
  readonly check: Check
  /** Holds a call against the refusal it should meet. */
  readonly expectRefusal: ExpectRefusal
  /** For clients of your own: a `fetch` that reaches this world, its address, and a token for it. */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  readonly baseUrl: string
  readonly token: string
}

export type Play = (props: Props) => void | Promise<void>

/** A story: a world to begin in, and what is done and expected. */
export interface Scenario {
  readonly title: string
  readonly options: ScenarioOptions
  readonly play: Play
}

// A scenario file may have loaded another copy of this package than the one that runs it, so a class would not do.
const MARK = Symbol.for('modelhost-sim.scenario')

/**
 * Declares a scenario; a file exports one, or an array of them, as its default.
 *
 * @param title a sentence: what happens
 * @throws TypeError when it has no title or nothing to play
 * @example
 * export default scenario('a deployment starts', { fixtures: 'empty', seed: 1 }, async ({ api, clock, check }) => {
 *   const { deploy_id } = await api.createLlmDeployment({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
 *   await clock.advance('15m')
 *   check(await api.getDeployment({ deploy_id }), { status: 'running' })
 * })
 */
export function scenario(title: string, options: ScenarioOptions, play: Play): Scenario {
  if (typeof title !== 'string' || title.trim() === '' || title.includes('\n')) {
    throw new TypeError(
      "Failed to declare a scenario: it has no title. Give a sentence of one line, as in 'a node is lost during a cold start'.",
    )
  }
  if (typeof options !== 'object' || options === null || typeof play !== 'function') {
    throw new TypeError(
      `Failed to declare the scenario '${title}': options or play are missing. ` +
        "Write scenario(title, { fixtures: 'default', seed: 1 }, async ({ api, clock, check }) => { … }).",
    )
  }
  return Object.freeze({ title, options, play, [MARK]: true })
}

export function isScenario(value: unknown): value is Scenario {
  return typeof value === 'object' && value !== null && MARK in value
}
