import type { Duration } from '../kernel/duration.ts'
import type { Entry } from '../kernel/journal.ts'
import { nearestWord } from '../lib/did-you-mean.ts'
import type { Client } from '../service/client/client.ts'
import type { LedgerEntry } from '../simulation/account/ledger.ts'
import { isSnapshotFixture, type SimulatorOptions } from '../simulator/options.ts'
import type { Check, ExpectRefusal } from './check.ts'
import type { CountRange, EventPattern } from './events.ts'
import type { ScenarioCluster } from './play/command-proxy.ts'
import type { ScenarioClock, ScenarioFaults } from './play/environment.ts'
import type { Always, Condition, LeadsTo } from './play/temporal-assertions.ts'
import type { At, Every } from './play/timeline.ts'

/**
 * The world a scenario begins in: the options of `createSimulator`, and words to find it by. A path of `fixtures`,
 * `profile` or `names` that begins with a dot is relative to the script.
 */
export interface ScenarioOptions extends Omit<SimulatorOptions, 'onBug' | 'journalLimit'> {
  /** Words that `--tag` and `--filter` find it by. */
  readonly tags?: readonly string[]
  /** What one learns from it: a sentence or two, for the list that `modelhost-sim scenarios` prints. */
  readonly teaches?: string
  /** What a good client does about it: a sentence or two, for the same list. */
  readonly client?: string
  /** `own` for a story that needs its seed, as one that begins with a snapshot does: `--seeds` plays it once. `any` unless given. */
  readonly seeds?: 'any' | 'own'
}

/** Options that are about the scenario and not about its world. */
const NON_WORLD_OPTIONS = ['tags', 'teaches', 'client', 'seeds'] as const satisfies readonly (keyof ScenarioOptions)[]

/** The options of the world that a scenario begins in. */
export function worldOptionsOf(options: ScenarioOptions): SimulatorOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([name]) => !(NON_WORLD_OPTIONS as readonly string[]).includes(name)),
  )
}

/** Whether a scenario can be played with its own seed alone, or says that it holds with no other. */
export function hasFixedSeed({ seeds, fixtures }: ScenarioOptions): boolean {
  return seeds === 'own' || isSnapshotFixture(fixtures)
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
  readonly clock: ScenarioClock
  /** The fleet, and what goes wrong with it. A verb that nobody awaits is still done, in order, and may not fail. */
  readonly cluster: ScenarioCluster
  /** Faults of the wire; like the verbs of the cluster they are done in order. */
  readonly faults: ScenarioFaults
  readonly ledger: ScenarioLedger
  readonly journal: {
    /** What has happened so far, oldest first. */
    entries(): Promise<readonly Entry[]>
  }
  /** Holds a value against what it should be; what is not named does not matter. */
  readonly check: Check
  /** Holds a call against the refusal it should meet. */
  readonly expectRefusal: ExpectRefusal
  /** Holds a condition against every visible change from now on. */
  readonly always: Always
  /** The same for a condition that must not come to hold. */
  readonly never: Always
  /** Moves time until a condition holds; a check that fails when it does not within that time, 24h unless given. */
  readonly eventually: Eventually
  /** Demands one event after another, within a time. */
  readonly leadsTo: LeadsTo
  /** Holds how often something has happened so far against a range. */
  readonly countOf: CountOf
  /** Does something, and holds the world against what it was before: nothing of it may have changed. */
  readonly unchanged: <T>(act: () => T | Promise<T>) => Promise<T>
  /** Plans a step for a moment to come. */
  readonly at: At
  /** Plans a step again and again. */
  readonly every: Every
  /** For clients of your own: a `fetch` that reaches this world, its address, and a token for it. */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  readonly baseUrl: string
  readonly token: string
}

/**
 * Moves time until a condition holds: looked at now, and after every visible change.
 *
 * @param condition returns whether it holds; or checks, and the last check that failed says what was lacking
 * @throws CheckError when it does not come to hold `within` that time, 24h unless given
 * @example await eventually(async () => check(await api.getDeployment(it), { status: 'running' }), { within: '15m' })
 */
export type Eventually = (
  condition: Condition,
  options?: { readonly within?: Duration | undefined },
  what?: string,
) => Promise<void>

/**
 * Holds how often something has happened since the scenario began against a range, and returns the count. Looks at the
 * world, GETs, are no events.
 *
 * @example await countOf('node.crashed', 1)
 * @example await countOf({ kind: 'instance.ready', fields: { deployment: deploy_id } }, '2..')
 */
export type CountOf = (event: EventPattern, range: CountRange, what?: string) => Promise<number>

export type Play = (props: Props) => void | Promise<void>

/** A story: a world to begin in, and what is done and expected. */
export interface Scenario {
  readonly title: string
  readonly options: ScenarioOptions
  readonly play: Play
}

// A scenario file may have loaded another copy of this package than the one that runs it, so a class would not do.
const SCENARIO_MARK = Symbol.for('modelhost-sim.scenario')

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
  return createScenario(title, options, play)
}

/**
 * Declares a scenario for each row of a table. `$name` in the title stands for that field of the row, `$row` for a row
 * that is no object.
 *
 * @param rows what tells the scenarios apart
 * @throws TypeError for a title that names a field which a row does not have
 * @example
 * export default scenario.each([{ gpu: 'H100-80GB' }, { gpu: 'A100-80GB' }] as const)(
 *   'a deployment starts on $gpu', { fixtures: 'empty' }, async ({ api, clock }, { gpu }) => { … })
 */
scenario.each =
  <Row>(rows: readonly Row[]) =>
  (
    title: string,
    options: ScenarioOptions | ((row: Row) => ScenarioOptions),
    play: (props: Props, row: Row) => void | Promise<void>,
  ): Scenario[] => {
    if (!Array.isArray(rows) || rows.length === 0) {
      throw new TypeError(`Failed to declare '${title}': its table has no rows. Give scenario.each a list of them.`)
    }
    return rows.map(row =>
      createScenario(
        fillTitle(title, row),
        typeof options === 'function' ? options(row) : options,
        typeof play === 'function' ? props => play(props, row) : play,
      ),
    )
  }

function fillTitle(title: string, row: unknown): string {
  return title.replace(/\$([A-Za-z_][\w.]*\w|[A-Za-z_])/g, (_, path: string) => {
    if (path === 'row') return toText(row)
    const value = path
      .split('.')
      .reduce<unknown>(
        (at, name) => (typeof at === 'object' && at !== null ? at[name as keyof typeof at] : undefined),
        row,
      )
    if (value !== undefined) return toText(value)
    const names = typeof row === 'object' && row !== null ? Object.keys(row) : ['row']
    const meant = nearestWord(path, names)
    throw new TypeError(
      `Failed to declare '${title}': its table has no '${path}'. ` +
        (meant ? `Did you mean '$${meant}'?` : `A row has ${names.join(', ')}.`),
    )
  })
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function createScenario(title: string, options: ScenarioOptions, play: Play): Scenario {
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
  return Object.freeze({ title, options, play, [SCENARIO_MARK]: true })
}

export function isScenario(value: unknown): value is Scenario {
  return typeof value === 'object' && value !== null && SCENARIO_MARK in value
}
