import type { Duration, Micros } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import { nearestWord } from '../../lib/did-you-mean.ts'
import type { Client } from '../../service/client/client.ts'
import type { LedgerEntry } from '../../simulation/account/ledger-types.ts'
import type { ObservedRequest } from '../../simulator/judge/observation.ts'
import { isSnapshotFixture, type SimulatorOptions } from '../../simulator/options.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { FlowWorld } from '../explore/flow-world.ts'
import type { BrokenInvariant } from '../explore/run/runner.ts'
import type { Check, ExpectRefusal } from './check.ts'
import type { CountRange, EventPattern } from './events.ts'
import type { ScenarioClock, ScenarioCluster, ScenarioFaults, ScenarioInference } from './play/controls.ts'
import type { SendOptions, SentRequest } from './play/sent-request.ts'
import type { Always, Condition, LeadsTo } from './play/temporal-assertions.ts'
import type { At, Every } from './play/timeline.ts'

/**
 * The options of a scenario: those of `createSimulator` for its world, and its description. A path in `fixtures`,
 * `profile` or `names` that begins with a dot is relative to the script.
 */
export interface ScenarioOptions extends Omit<SimulatorOptions, 'onBug' | 'journalLimit'> {
  /** Words for `--tag` and `--filter`. */
  readonly tags?: readonly string[]
  /** The lesson of the scenario in one or two sentences, for the list of `modelhost-sim run --list`. */
  readonly teaches?: string
  /** The right reaction of a client in one or two sentences, for the same list. */
  readonly client?: string
  /** `own`: the scenario needs its seed, as one with a snapshot does, and `--seeds` plays it once. Default: `any`. */
  readonly seeds?: 'any' | 'own'
}

/** Options of the scenario that do not concern its world. */
const NON_WORLD_OPTIONS = ['tags', 'teaches', 'client', 'seeds'] as const satisfies readonly (keyof ScenarioOptions)[]

/** Returns the options of a scenario's world. */
export function worldOptionsOf(options: ScenarioOptions): SimulatorOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([name]) => !(NON_WORLD_OPTIONS as readonly string[]).includes(name)),
  )
}

/** Returns whether a scenario can be played only with its own seed. */
export function hasFixedSeed({ seeds, fixtures }: ScenarioOptions): boolean {
  return seeds === 'own' || isSnapshotFixture(fixtures)
}

/** The ledger as a scenario reads it. */
export interface ScenarioLedger {
  /** Remaining funds in micro-cents, up to now. */
  balance(): Promise<number>
  /** Postings, and running costs that are not posted yet (`open`). With `subject`: those of one wire id. */
  entries(subject?: string): Promise<readonly LedgerEntry[]>
  /** Cost of a subject so far in micro-cents, with running costs. */
  cost(subject: string): Promise<number>
  /** Whole seconds for which a subject was rented so far. */
  rentSeconds(subject: string): Promise<number>
}

/** The argument of `play`. */
export interface Props {
  /** The typed client: one method for each operation. A refusal throws `Refusal`. */
  readonly api: Client
  /** The virtual clock. Only its moves move time. */
  readonly clock: ScenarioClock
  /**
   * Commands to the fleet. A command without `await` is also executed, in order, and fails the scenario if it fails.
   */
  readonly cluster: ScenarioCluster
  /** Fault rules. Like commands to the fleet they are applied in order. */
  readonly faults: ScenarioFaults
  /** Scripted answers of models. Like commands to the fleet they are applied in order. */
  readonly inference: ScenarioInference
  readonly ledger: ScenarioLedger
  readonly journal: {
    /** Returns the journal so far, oldest entry first. */
    entries(): Promise<readonly Entry[]>
  }
  /** Compares a value with an expectation. Fields that are missing in the expectation are ignored. */
  readonly check: Check
  /** Expects a refusal of a call. */
  readonly expectRefusal: ExpectRefusal
  /** Asserts that a condition holds at every visible change from now on. */
  readonly always: Always
  /** Asserts that a condition never holds from now on. */
  readonly never: Always
  /** Moves time until a condition holds. Fails if it does not hold within a time. Default: 24h. */
  readonly eventually: Eventually
  /** Asserts that one event follows another within a time. */
  readonly leadsTo: LeadsTo
  /** Compares the number of events so far with a range. */
  readonly countOf: CountOf
  /** Runs a function and checks that the world is the same afterwards. */
  readonly unchanged: <T>(act: () => T | Promise<T>) => Promise<T>
  /** Plans a step for a later time. */
  readonly at: At
  /** Plans a repeated step. */
  readonly every: Every
  /**
   * Sends a request as it is, beside the script: time does not move for its answer until the script asks for it.
   *
   * @param what method and path, as in `POST /v1/chat/completions`
   * @throws TypeError for another text
   * @example
   * const chat = send('POST /v1/chat/completions', { body: { model: 'acme/chat', messages } })
   * await chat.sent
   * await cluster.node('h100-0').crash()
   * check(await chat.answer(), { status: 503 })
   */
  readonly send: (what: string, options?: SendOptions) => SentRequest
  /** For your own clients: a `fetch` that reaches this world, the address of the world, and a token. */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  readonly baseUrl: string
  readonly token: string
}

/**
 * Moves time until a condition holds. It is evaluated now and after every visible change.
 *
 * @param condition returns whether it holds, or makes checks. The last failed check then describes the problem.
 * @throws CheckError if it does not hold `within` that time. Default: 24h
 * @example await eventually(async () => check(await api.getDeployment(it), { status: 'running' }), { within: '15m' })
 */
export type Eventually = (
  condition: Condition,
  options?: { readonly within?: Duration | undefined },
  what?: string,
) => Promise<void>

/**
 * Compares the number of events since the start of the scenario with a range, and returns the number. Requests that
 * only read (GET) are not events.
 *
 * @example await countOf('node.crashed', 1)
 * @example await countOf({ kind: 'instance.ready', fields: { deployment: deploy_id } }, '2..')
 */
export type CountOf = (event: EventPattern, range: CountRange, what?: string) => Promise<number>

export type Play = (props: Props) => void | Promise<void>

/** A scenario: the options of its world, and its script. */
export interface Scenario {
  readonly title: string
  readonly options: ScenarioOptions
  readonly play: Play
  /** Of a scenario that plays a flow under a plan: runs it in a world of its own. It has no trace. */
  readonly runFlow?: RunFlow | undefined
}

/**
 * @param onWorld called with the simulator of the run under the plan, before anything happens in its world
 * @param signal ends a command at once, with RunStopped
 */
export type RunFlow = (
  world: FlowWorld,
  onWorld?: (sim: Simulator) => void,
  signal?: AbortSignal,
) => Promise<FlowOutcome>

/** What a flow did under its plan. */
export interface FlowOutcome {
  readonly digest: string
  /** Virtual time of the flow in microseconds. */
  readonly elapsed: Micros
  readonly requests: readonly ObservedRequest[]
  /** The invariants that do not hold. */
  readonly broken: readonly BrokenInvariant[]
  /** The number of faults of its plan that changed nothing. */
  readonly idleFaults: number
}

// A scenario file may load another copy of this package than the runner, so `instanceof` would fail.
const SCENARIO_MARK = Symbol.for('modelhost-sim.scenario')

/**
 * Declares a scenario. A file exports one, or an array of them, as its default.
 *
 * @param title a sentence about the events of the scenario
 * @throws TypeError if the title or the script is missing
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
 * Declares a scenario for each row of a table. In the title `$name` is replaced by that field of the row, and `$row` by
 * a row that is not an object.
 *
 * @param rows the values in which the scenarios differ
 * @throws TypeError for a title with a field that a row does not have
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

/** @throws TypeError if the title, the options or the script are missing */
export function createScenario(title: string, options: ScenarioOptions, play: Play, runFlow?: RunFlow): Scenario {
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
  return Object.freeze({ title, options, play, ...(runFlow && { runFlow }), [SCENARIO_MARK]: true })
}

export function isScenario(value: unknown): value is Scenario {
  return typeof value === 'object' && value !== null && SCENARIO_MARK in value
}
