/** Runs a client in a world of its own and observes it as explore does, with a world that each test of a rule can change. */

import { type Duration, HOUR } from '../../src/kernel/duration.ts'
import { findCreatedThings, toBase } from '../../src/simulator/judge/created-things.ts'
import { effectsOf } from '../../src/simulator/judge/effects.ts'
import type { ClientEnd, Observation, RuleSettings } from '../../src/simulator/judge/observation.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import type { Simulator } from '../../src/simulator/simulator-interface.ts'
import type { FlowContext } from '../../src/workbench/explore/flow.ts'
import { Client as RunningClient } from '../../src/workbench/explore/run/client.ts'
import { RequestRecorder } from '../../src/workbench/explore/run/request-recorder.ts'

export interface ClientContext extends FlowContext {
  /** Prints a line. */
  print(text: string): void
}

export type Client = (context: ClientContext) => Promise<unknown>

type World = Pick<SimulatorOptions, 'fixtures' | 'with' | 'seed' | 'profile' | 'names' | 'faults'>

export interface ObserveOptions extends World {
  /** The client crashes when its n-th request has been carried out, and starts again. */
  readonly crash?: number
  readonly base?: Observation
  readonly settings?: Partial<RuleSettings>
  /** Changes the world before the client starts. */
  readonly prepare?: (sim: Simulator) => void
  readonly recovery?: Duration
}

const DEFAULT_SETTINGS: RuleSettings = { settles: 48 * HOUR, pollsAtMost: 1, spendsAtMost: undefined }
/** More requests than this are those of a client that spins without waiting. */
const MAX_REQUESTS = 3_000

/** Runs the client to its end, lets the world recover, and returns what is left. */
export async function observe(client: Client, options: ObserveOptions = {}): Promise<Observation> {
  const { crash, base, prepare, recovery = '15m', settings: changed, ...world } = options
  const sim = createSimulator({ fixtures: 'empty', seed: 1, ...world })
  prepare?.(sim)
  const settings = { ...DEFAULT_SETTINGS, ...changed }
  const recorder = new RequestRecorder()
  let output = ''
  const print = (text: string) => {
    output += `${text}\n`
  }
  let starts = 0
  let running: RunningClient
  const start = () => {
    running = new RunningClient({
      ...{ sim, recorder, start: ++starts, inputs: {} },
      onRequest: ({ index }) => index > MAX_REQUESTS && running.stop(),
      endsWith: ({ index }) => index === crash,
      onWait: () => {},
      hasTimer: () => false,
      onCrashed: start,
    })
    running.start(context => client({ ...context, print }))
  }
  start()
  const startedAt = sim.clock.elapsed
  const ratesBefore = sim.world.ledger.meters.rates()
  await sim.clock.until(() => running.end !== undefined, { within: settings.settles / 1000 }).catch(() => undefined)
  const waiting = running!.openRequest
  running!.stop()
  const waitsFor = waiting ? `request ${waiting.index}` : 'a sleep'
  const end: ClientEnd = running!.end ?? { kind: 'unsettled', waitsFor }
  const endedAt = sim.clock.elapsed
  sim.faults.clear()
  sim.cluster.recoverAll()
  await sim.clock.advance(recovery)

  const created = findCreatedThings(sim, recorder.bySeq)
  const said = textOf(end.kind === 'returned' ? end.result : end.kind === 'threw' ? end.error : undefined)
  return {
    ...{ requests: recorder.requests, end, sim, startedAt, endedAt, created, output, settings, ratesBefore },
    owned: new Set(created.map(({ id }) => id).filter(id => said.includes(id))),
    crashes: starts - 1,
    base: base && toBase(base),
    effects: effectsOf({ sim }, recorder.bySeq),
  }
}

function textOf(value: unknown): string {
  return value instanceof Error ? `${value.message} ${JSON.stringify({ ...value })}` : (JSON.stringify(value) ?? '')
}
