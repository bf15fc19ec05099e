/** Plays a scenario in a world of its own, and returns its result. */

import { formatDuration } from '../../../kernel/duration.ts'
import { clearRealTimeout, eventLoopTurn, monotonicMs, setRealTimeout } from '../../../lib/real-time.ts'
import type { NamesProfile } from '../../../service/naming/names-profile.ts'
import { isSnapshotFixture } from '../../../simulator/options.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { ScenarioRun } from '../../../simulator/timelines.ts'
import { RunStopped } from '../../explore/run/runner.ts'
import { LoadError } from '../runner/import-script.ts'
import { createTrace } from '../runner/trace.ts'
import { type FlowOutcome, type RunFlow, type Scenario, worldOptionsOf } from '../scenario.ts'
import { describeBroken } from '../survives.ts'
import { ScenarioEnvironment } from './environment.ts'
import { bugError, createFailure, type Failure, failureMessage, failureOf } from './failures.ts'
import { type OnStep, ScriptRun } from './script-run.ts'

/** Real milliseconds without activity after which a script counts as stuck. */
const STUCK_TIMEOUT_MS = 5_000
/** Checks of the activity of a script in that time. */
const STUCK_CHECKS = 25

/**
 * Plays a script until it ends. Rejects when a promise fails that is not awaited, or when nothing has
 * happened for `ms` real milliseconds.
 */
async function withStuckDetection(
  script: Pick<ScriptRun, 'waitReason'>,
  environment: ScenarioEnvironment,
  ms: number,
  play: () => Promise<void>,
): Promise<void> {
  let fail = (_: unknown) => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const giveUp = (symptom: string) => {
    const waitReason = script.waitReason ?? environment.waitReason ?? 'it awaits something that never comes'
    fail(new Error(`Failed to go on: ${symptom}, and the script has not ended: ${waitReason}.`))
  }
  let before = environment.revision
  let idleChecks = 0
  let timer: unknown
  // Many short waits: a process that got no turn for a long time was not idle for that time.
  const scheduleCheck = () => {
    timer = setRealTimeout(() => {
      idleChecks = environment.revision === before ? idleChecks + 1 : 0
      before = environment.revision
      if (idleChecks === STUCK_CHECKS) giveUp(`nothing has happened for ${formatDuration(ms * 1000)} of real time`)
      scheduleCheck()
    }, ms / STUCK_CHECKS)
  }
  // Without any work left Node would exit silently. The turn keeps it running for the next scenario.
  const onBeforeExit = () => {
    giveUp('no work is left')
    eventLoopTurn()
  }
  const onUnhandledRejection = (reason: unknown) => {
    const error = new Error(`a promise that is not awaited failed: ${failureMessage(reason)}`, { cause: reason })
    if (reason instanceof Error) error.stack = reason.stack ?? ''
    fail(error)
  }
  process.on('beforeExit', onBeforeExit)
  process.on('unhandledRejection', onUnhandledRejection)
  scheduleCheck()
  try {
    await Promise.race([play(), failed])
    // Node reports an unhandled rejection one turn later. It must not count for the next scenario.
    await Promise.race([eventLoopTurn(), failed])
  } finally {
    // A timer that is left would keep the world of a play in memory for a fifth of a second.
    clearRealTimeout(timer)
    process.off('beforeExit', onBeforeExit)
    process.off('unhandledRejection', onUnhandledRejection)
  }
}

export interface RunOptions {
  /** Instead of the scenario's own seed. */
  readonly seed?: string | number | undefined
  /**
   * Instead of the scenario's own names: the path of a names profile, or the profile itself. Clients of `fetch` use
   * them.
   */
  readonly names?: string | NamesProfile | undefined
  /** Checks the invariants of the world after every event. */
  readonly check?: boolean | undefined
  /** Path of the script. A failure then shows its line. */
  readonly file?: string | undefined
  /** Real milliseconds without activity after which the script counts as stuck. Default: 5,000. */
  readonly stuckTimeoutMs?: number | undefined
  /** Called with the simulator of the world before the script begins. */
  readonly onWorld?: ((sim: Simulator) => void) | undefined
  /** Receives each step of the script in one line. */
  readonly onStep?: OnStep | undefined
}

/** The outcome of a scenario. */
export interface Result extends Pick<ScenarioRun, 'title' | 'passed' | 'elapsed' | 'wallMs' | 'checks' | 'digest'> {
  /** Undefined if it belongs to a snapshot that cannot be read. */
  readonly seed: string | undefined
  readonly trace: readonly string[]
  readonly failure: Failure | undefined
  /** For a scenario that plays a flow: the number of faults of its plan that changed nothing. */
  readonly idleFaults?: number
}

/** Options of a play that can be stopped. */
export interface StoppableOptions extends RunOptions {
  /** Ends a client that is a command at once. The play then rejects with RunStopped. */
  readonly signal?: AbortSignal | undefined
}

/** Plays a scenario. `lazy.ts` documents it for users. */
export async function runScenario(scenario: Scenario, options: StoppableOptions = {}): Promise<Result> {
  // Without a seed the world has its own: that of its snapshot, or the default.
  const { seed = scenario.options.seed } = options
  if (scenario.runFlow !== undefined) return playFlow(scenario, scenario.runFlow, options)
  let environment: ScenarioEnvironment
  try {
    const overrides = {
      ...(seed !== undefined && { seed }),
      ...(options.names !== undefined && { names: options.names }),
      ...(options.check && { check: true }),
    }
    environment = new ScenarioEnvironment({ ...worldOptionsOf(scenario.options), ...overrides }, options.onWorld)
  } catch (error) {
    if (error instanceof LoadError) throw error
    const { title, options: own } = scenario
    const seedOfResult = seed === undefined && isSnapshotFixture(own.fixtures) ? undefined : String(seed ?? 1)
    const nothing = { passed: false, elapsed: 0, wallMs: 0, checks: 0, trace: [], digest: '' }
    return { ...nothing, title, seed: seedOfResult, failure: failureOf(failureMessage(error), 0) }
  }
  return playIn(environment, scenario, options)
}

async function playIn(environment: ScenarioEnvironment, scenario: Scenario, options: RunOptions): Promise<Result> {
  const startedMs = monotonicMs()
  const script = new ScriptRun(environment, options.onStep)
  let failure: Failure | undefined
  try {
    await withStuckDetection(script, environment, options.stuckTimeoutMs ?? STUCK_TIMEOUT_MS, () =>
      script.play(scenario),
    )
    if (environment.bug !== undefined) throw environment.bug
  } catch (thrown) {
    const error = environment.bug === undefined ? thrown : bugError(environment.bug)
    failure = createFailure(environment, error, options.file)
  }
  environment.close()
  const { sim, clock, entries } = environment
  return {
    title: scenario.title,
    passed: failure === undefined,
    seed: sim.seed,
    elapsed: clock.elapsed,
    wallMs: monotonicMs() - startedMs,
    checks: script.checks.count,
    trace: createTrace(scenario.title, sim.seed, entries),
    digest: sim.digest,
    failure,
  }
}

/** Plays the flow in this process. An unusable option is the failure of the result. */
async function playFlow({ title, options }: Scenario, runFlow: RunFlow, play: StoppableOptions): Promise<Result> {
  const startedMs = monotonicMs()
  const { seed = options.seed } = play
  let outcome: FlowOutcome = { digest: '', elapsed: 0, requests: [], broken: [], idleFaults: 0 }
  let message =
    play.names === undefined
      ? undefined
      : 'Failed to play with a names profile: the scenario plays a flow, which has neutral names. Leave out the profile.'
  if (message === undefined) {
    try {
      outcome = await runFlow({ ...options, ...(seed !== undefined && { seed }) }, play.onWorld, play.signal)
      for (const { operation, method, path, sentAt, outcome: end, status } of outcome.requests) {
        play.onStep?.(`${operation || `${method} ${path}`}: ${end === 'answered' ? status : end}`, sentAt)
      }
      if (outcome.broken.length > 0) message = describeBroken(outcome.broken)
    } catch (error) {
      if (error instanceof RunStopped) throw error
      message = failureMessage(error)
    }
  }
  const { digest, elapsed, broken, idleFaults } = outcome
  return {
    title,
    passed: message === undefined,
    seed: String(seed ?? 1),
    elapsed,
    wallMs: monotonicMs() - startedMs,
    checks: 1,
    trace: [],
    digest,
    idleFaults,
    failure:
      message === undefined
        ? undefined
        : failureOf(message, elapsed, { events: broken.flatMap(({ evidence }) => evidence) }),
  }
}
