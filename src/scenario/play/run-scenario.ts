/** Plays a scenario in a world of its own, and returns its result. */

import type { Micros } from '../../kernel/duration.ts'
import { monotonicMs } from '../../lib/real-time.ts'
import type { NamesProfile } from '../../service/naming/names-profile.ts'
import { isSnapshotFixture } from '../../simulator/options.ts'
import { LoadError } from '../runner/files.ts'
import { createTrace } from '../runner/trace.ts'
import type { Scenario } from '../scenario.ts'
import type { ServerAddress } from './control-client.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { bugError, createFailure, type Failure, failureMessage } from './failures.ts'
import { createEnvironment } from './open-environment.ts'
import { type OnStep, ScriptRun } from './script-run.ts'
import { STUCK_TIMEOUT_MS, withStuckDetection } from './stuck-detection.ts'

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
  readonly patienceMs?: number | undefined
  /** Address of a running server, which makes a world for the scenario. Default: a world in this process. */
  readonly against?: string | ServerAddress | undefined
  /** Receives each step of the script in one line. */
  readonly onStep?: OnStep | undefined
}

/** The outcome of a scenario. */
export interface Result {
  readonly title: string
  readonly passed: boolean
  /** Undefined if it belongs to a snapshot that cannot be read. */
  readonly seed: string | undefined
  /** Virtual time of the scenario in microseconds. */
  readonly elapsed: Micros
  /** Real milliseconds. They are never part of a trace. */
  readonly wallMs: number
  readonly checks: number
  readonly trace: readonly string[]
  readonly digest: string
  readonly failure: Failure | undefined
}

/** Plays a scenario. `lazy.ts` documents it for users. */
export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<Result> {
  // Without a seed the world has its own: that of its snapshot, or the default.
  const { seed = scenario.options.seed } = options
  let environment: ScenarioEnvironment
  try {
    const overrides = {
      ...(seed !== undefined && { seed }),
      ...(options.names !== undefined && { names: options.names }),
      ...(options.check && { check: true }),
    }
    environment = await createEnvironment({ ...scenario.options, ...overrides }, options)
  } catch (error) {
    if (error instanceof LoadError) throw error
    return {
      title: scenario.title,
      passed: false,
      seed: seed === undefined && isSnapshotFixture(scenario.options.fixtures) ? undefined : String(seed ?? 1),
      elapsed: 0,
      wallMs: 0,
      checks: 0,
      trace: [],
      digest: '',
      failure: { message: failureMessage(error), at: 0, where: undefined, differences: [], events: [] },
    }
  }
  return playIn(environment, scenario, options)
}

async function playIn(environment: ScenarioEnvironment, scenario: Scenario, options: RunOptions): Promise<Result> {
  const startedMs = monotonicMs()
  const script = new ScriptRun(environment, options.onStep)
  let failure: Failure | undefined
  try {
    await withStuckDetection(script, environment, options.patienceMs ?? STUCK_TIMEOUT_MS, () => script.play(scenario))
    if (environment.bug !== undefined) throw environment.bug
  } catch (thrown) {
    const error = environment.bug === undefined ? thrown : bugError(environment.bug)
    failure = await createFailure(environment, error, options.file)
  }
  const record = await environment.journalEntries()
  const result: Result = {
    title: scenario.title,
    passed: failure === undefined,
    seed: environment.seed,
    elapsed: environment.clock.elapsed,
    wallMs: monotonicMs() - startedMs,
    checks: script.checks.count,
    trace: createTrace(scenario.title, environment.seed, record),
    digest: await environment.digest(),
    failure,
  }
  await environment.close()
  return result
}
