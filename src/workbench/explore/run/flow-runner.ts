/** Runs a flow that is a function, in the process of explore: each run in a fresh world, with time as the flow needs it. */

import type { Micros } from '../../../kernel/duration.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { eventLoopTurn } from '../../../lib/real-time.ts'
import type { Operations } from '../../../service/endpoint.ts'
import { loadFormParser } from '../../../service/http/bodies/multipart.ts'
import { loadTokenizer } from '../../../service/openai/tokenizer.ts'
import { UntilError } from '../../../simulator/clock/moves/until-error.ts'
import { idInPath, kindFor } from '../../../simulator/judge/facts.ts'
import { isOver, statusInAnswer } from '../../../simulator/judge/lifecycles.ts'
import type { ClientEnd, Observation, ObservedRequest } from '../../../simulator/judge/observation.ts'
import { formatRequest } from '../../../simulator/judge/text.ts'
import { createSimulator, type Simulator } from '../../../simulator/simulator.ts'
import type { NamedFlow } from '../flow.ts'
import { paceOf, type WorldChange, worldOf } from '../flow-world.ts'
import type { InputValues } from '../input.ts'
import type { Plan } from '../plan/plan.ts'
import { defaultInputs } from '../values.ts'
import { AppliedPlan } from './applied-plan.ts'
import { Client } from './client.ts'
import { ClientGlobals } from './client-globals.ts'
import { concludeRun, type EndedClient, heal, JOURNAL_LIMIT, settlesWithin } from './conclude.ts'
import { OutsideWork, whenFilesSettle } from './outside-work.ts'
import { RequestRecorder } from './request-recorder.ts'
import { type FlowRunner, isOwnSetting, Learned, type RunOptions, type RunResult, settingKey } from './runner.ts'

/** Turns of the event loop in which a client that listens to the world goes on. */
const WAKING_TURNS = 3

/** Creates the runner of a flow. Throws for invalid options of its world. */
export function createFlowRunner(flow: NamedFlow): FlowRunner {
  return new InProcessRunner(flow)
}

/** Worlds besides that of the flow that are kept for further runs. */
const MAX_KEPT_WORLDS = 3
/** Runs without faults that are kept for the rules. */
const MAX_KEPT_BASES = 50

class InProcessRunner implements FlowRunner {
  readonly #flow: NamedFlow
  readonly #own: Simulator
  /** Worlds that are not that of the flow, the one that was used last at the end. */
  readonly #others = new Map<string, Simulator>()
  /** Runs without faults, by their settings. That of the flow itself comes first. */
  readonly #bases = new Map<string, Observation['base']>()
  readonly learned = new Learned()
  runs = 0

  constructor(flow: NamedFlow) {
    this.#flow = flow
    this.#own = this.#createWorld({})
  }

  get operations(): Operations {
    return this.#own.api.operations
  }

  async run(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
    const key = settingKey(options)
    const isBase = plan.length === 0
    // The rules compare with the run without faults in the same world, with the same inputs.
    if (!isBase && !isOwnSetting(options) && !this.#bases.has(key)) {
      await this.run([], { world: options.world, inputs: options.inputs })
    }
    this.runs++
    // Code that a request loads on demand takes real time. The first run would have another order of requests.
    await Promise.all([loadTokenizer(), loadFormParser()])
    const endTurn = await takeTurn(this.#flow.name)
    try {
      const sim = await this.#worldFor(options)
      sim.reset()
      options.onWorld?.(sim)
      const inputs = { ...defaultInputs(this.#flow.options.inputs), ...options.inputs }
      const run = new Run(this.#flow, sim, plan, { ...options, inputs }, this.learned)
      const result = await run.finish(isBase ? undefined : this.#bases.get(key))
      if (isBase) this.#keepBase(key, result.base)
      return result
    } finally {
      endTurn()
    }
  }

  #keepBase(key: string, base: Observation['base']): void {
    this.#bases.set(key, base)
    if (this.#bases.size <= MAX_KEPT_BASES) return
    const [, oldest] = this.#bases.keys()
    this.#bases.delete(oldest!)
  }

  async dispose(): Promise<void> {
    for (const sim of [this.#own, ...this.#others.values()]) await sim[Symbol.asyncDispose]()
    this.#others.clear()
  }

  /** Returns the world of a setting. It goes back to its start before each run. */
  async #worldFor({ world = {} }: RunOptions): Promise<Simulator> {
    if (isOwnSetting({ world })) return this.#own
    const key = settingKey({ world })
    const sim = this.#others.get(key) ?? this.#createWorld(world)
    this.#others.delete(key)
    this.#others.set(key, sim)
    if (this.#others.size > MAX_KEPT_WORLDS) {
      const [oldest] = this.#others.keys()
      const ended = this.#others.get(oldest!)!
      this.#others.delete(oldest!)
      await ended[Symbol.asyncDispose]()
    }
    return sim
  }

  #createWorld(change: WorldChange): Simulator {
    const { options } = this.#flow
    const world = { ...worldOf(options), ...worldOf(change), ...paceOf(options.invariants) }
    return createSimulator({ ...world, journalLimit: JOURNAL_LIMIT })
  }
}

/** One run: the starts of the client, the plan that acts on its world, and what was recorded. */
class Run {
  readonly #flow: NamedFlow
  readonly #sim: Simulator
  readonly #plan: AppliedPlan
  readonly #healAt: number | undefined
  readonly #inputs: InputValues
  readonly #learned: Learned
  readonly #recorder = new RequestRecorder()
  #globals: ClientGlobals | undefined
  #client: Client | undefined
  #starts = 0
  #isEndless = false
  readonly #loop = new ReadLoop()
  #outside: OutsideWork | undefined
  /** Why the last wait for something outside of the world was in vain, and what the client had done by then. */
  #vain: { readonly end: 'quiet' | 'limit'; readonly requests: number; readonly begun: number } | undefined
  #output = ''

  constructor(
    flow: NamedFlow,
    sim: Simulator,
    plan: Plan,
    { inputs, healAt }: RunOptions & { readonly inputs: InputValues },
    learned: Learned,
  ) {
    this.#learned = learned
    this.#flow = flow
    this.#sim = sim
    this.#plan = new AppliedPlan(sim, plan)
    this.#healAt = healAt?.request
    this.#inputs = inputs
  }

  /** Runs the client to its end, and returns what remains of the run. */
  async finish(base: Observation['base']): Promise<RunResult> {
    const sim = this.#sim
    const startedAt = sim.clock.elapsed
    const end = await this.#runClient(settlesWithin(this.#flow.options.invariants ?? {}, base))
    const client: EndedClient = {
      ...{ sim, plan: this.#plan, recorder: this.#recorder, end, startedAt },
      ...{ starts: this.#starts, output: this.#output, learned: this.#learned },
      loop: end.kind === 'unsettled' ? this.#loopName : undefined,
      advance: duration => sim.clock.advance(duration),
    }
    return concludeRun(client, this.#flow.options, base)
  }

  async #runClient(settles: Micros): Promise<ClientEnd> {
    await whenFilesSettle()
    this.#outside = new OutsideWork()
    try {
      this.#start()
      await this.#sim.clock.until(() => this.#hasEnded(), { within: settles / 1000 })
    } catch (error) {
      if (!(error instanceof UntilError)) throw error
    } finally {
      this.#client?.stop()
      this.#globals?.restore()
      this.#outside.stop()
    }
    return this.#client!.end ?? { kind: 'unsettled', waitsFor: this.#describeWait() }
  }

  #start(): void {
    this.#globals?.restore()
    const sim = this.#sim
    const client = new Client({
      sim,
      recorder: this.#recorder,
      start: ++this.#starts,
      inputs: this.#inputs,
      onRequest: ({ index }) => this.#onRequest(index),
      endsWith: ({ index }) => this.#plan.endsWith(index),
      onWait: () => this.#outside?.check(),
      hasTimer: setAt => this.#globals!.hasTimer(setAt),
      // The next start begins when the request of this one has ended.
      onCrashed: () => this.#start(),
    })
    this.#client = client
    this.#globals = new ClientGlobals({
      fetch: client.fetch,
      now: sim.clock.now.getTime(),
      print: text => {
        this.#output += text
      },
      onUncaught: error => client.fail(error),
    })
    client.start(this.#flow.run)
  }

  /** Called before each request. */
  #onRequest(index: number): void {
    this.#loop.add(...(this.#recorder.requests.slice(-3, -1) as [ObservedRequest?, ObservedRequest?]))
    const loop = this.#loopName
    // Another run showed that the client does not leave this loop by itself.
    const isProven = loop !== undefined && this.#learned.loops.has(loop)
    if (isProven || index > LIMITS.flowRequests) {
      this.#client!.stop()
      this.#isEndless = true
    }
    if (index === this.#healAt) heal(this.#sim, this.#plan)
  }

  /** The loop in which the client reads what nothing can change any more; undefined for none. */
  get #loopName(): string | undefined {
    const { requests } = this.#recorder
    const isHealed = this.#healAt === undefined || requests.length >= this.#healAt
    const name = isHealed ? this.#loop.nameOf(this.#sim, requests.at(-2)) : undefined
    return name !== undefined && this.#plan.hasActed ? name : undefined
  }

  /** Returns whether the client has ended. While it waits for something outside of the world, its time does not move. */
  #hasEnded(): boolean | Promise<boolean> {
    const { end, waitsForWorld } = this.#client!
    if (end !== undefined || this.#isEndless) return true
    if (!this.#waitsForWorld) return this.#waitOutside()
    if (!waitsForWorld && this.#globals!.timers > 0 && !this.#isStillVain) return this.#waitForFile()
    this.#vain = undefined
    return false
  }

  /**
   * A timer can be left of a request that has ended. So a client that has only timers first reads and writes its files.
   * After a wait to its limit, the next one comes when the client has done something since.
   */
  async #waitForFile(): Promise<boolean> {
    const outside = this.#outside!
    for (let turns = 0; turns < WAKING_TURNS && this.#client!.end === undefined; turns++) {
      await eventLoopTurn()
      if (!outside.usesFile) continue
      turns = 0
      const end = await outside.wait(() => this.#client!.end !== undefined || !outside.usesFile)
      if (end === 'wentOn') continue
      this.#vain = { end, requests: this.#recorder.requests.length, begun: outside.begun }
      break
    }
    return this.#client!.end !== undefined
  }

  get #waitsForWorld(): boolean {
    if (this.#client!.waitsForWorld || this.#globals!.timers > 0) return true
    // A client that reads a stream has its answer already. The next piece of it comes with time.
    return this.#sim.clock.pendingRequests.length > 0
  }

  /**
   * Waits for something outside of the world. If that is in vain, time moves on: what happens in the world can wake a
   * client that listens. The next wait comes when the client has done something since.
   */
  async #waitOutside(): Promise<boolean> {
    // A client that has only timers may go on with the next file.
    const hasTime = () => this.#client!.waitsForWorld || !this.#outside!.usesFile
    const wentOn = () => this.#client!.end !== undefined || (this.#waitsForWorld && hasTime())
    if (this.#isStillVain) {
      // What has just happened in the world may have woken the client.
      for (let turn = 0; turn < WAKING_TURNS && !wentOn(); turn++) await eventLoopTurn()
    }
    if (!wentOn() && !this.#isStillVain) {
      const outside = this.#outside!
      const end = await outside.wait(wentOn)
      const { length: requests } = this.#recorder.requests
      this.#vain = end === 'wentOn' ? undefined : { end, requests, begun: outside.begun }
    }
    return this.#client!.end !== undefined
  }

  /**
   * Whether the client has done nothing since the last wait in vain. After a wait to its limit, further work outside of the
   * world is more of the same.
   */
  get #isStillVain(): boolean {
    const { end, requests, begun } = this.#vain ?? {}
    return requests === this.#recorder.requests.length && (end === 'limit' || begun === this.#outside!.begun)
  }

  /** Returns what the client waits for; undefined if it was stopped at the limit of requests. */
  #describeWait(): string | undefined {
    if (this.#loopName !== undefined) return 'a change, and nothing can change any more'
    if (this.#isEndless) return undefined
    const open = this.#client!.openRequest
    if (open !== undefined) return formatRequest(open)
    if (this.#waitsForWorld) return 'time'
    if (this.#vain?.end === 'limit') return 'something outside of the world'
    return 'a promise that nothing settles: it has no request, no wait and no work outside of the world'
  }
}

/**
 * A run replaces globals of the process, and one world at a time moves its timers. So runs of one process come one after
 * the other, also those of several copies of this package.
 */
const RUN = Symbol.for('modelhost-sim.exploreRun')

type GlobalWithRun = typeof globalThis & { [RUN]?: Promise<void> | undefined }

/**
 * Waits until no other run is in progress, and begins one.
 *
 * @returns a function that ends it
 * @throws Error if timers of the process are fake: a flow has timers of its world
 */
async function takeTurn(flow: string): Promise<() => void> {
  const holder: GlobalWithRun = globalThis
  // Each run that waits looks again, because another one may have been first.
  while (holder[RUN] !== undefined) await holder[RUN]
  assertRealTimers(flow)
  let end = () => {}
  holder[RUN] = new Promise(resolve => {
    end = () => {
      holder[RUN] = undefined
      resolve()
    }
  })
  return end
}

function assertRealTimers(flow: string): void {
  const names = ['setTimeout', 'setInterval', 'Date'] as const
  const fake = names.find(name => 'clock' in (globalThis[name] as object))
  if (fake === undefined) return
  throw new Error(
    `Failed to explore ${flow}: ${fake} is fake, and a flow has timers of its own world. ` +
      'Call vi.useRealTimers() or jest.useRealTimers() first.',
  )
}

/** Equal answers after which a client is stopped that never left such a loop in another run. */
const ENOUGH = 60

/** The reads at the end of a run that have equal answers after equal waits. */
class ReadLoop {
  #count = 0
  #wait: Micros = 0

  /** Looks at the last two requests before a new one. */
  add(before: ObservedRequest | undefined, last: ObservedRequest | undefined): void {
    if (before === undefined || last === undefined) return
    const wait = last.sentAt - before.sentAt
    const isEqual =
      last.path === before.path && last.method === 'GET' && isWhole(last) && last.read!.text === before.read?.text
    this.#count = isEqual && wait === this.#wait ? this.#count + 1 : 0
    this.#wait = wait
  }

  /** Names the loop equally in each run: by the operation and the wait. Undefined if something can change. */
  nameOf(sim: Simulator, last: ObservedRequest | undefined): string | undefined {
    if (this.#count < ENOUGH || last === undefined) return undefined
    const kind = kindFor({ sim }, last, 'read')
    if (kind === undefined) return undefined
    const id = idInPath({ sim }, last)
    const status = statusInAnswer({ sim }, last.answer, { kind, id })
    const hasEnded = status !== undefined && isOver({ sim }, kind, id, status)
    return hasEnded ? `${last.operation} ${this.#wait}` : undefined
  }
}

function isWhole({ fault, outcome, read }: ObservedRequest): boolean {
  return outcome === 'answered' && fault === undefined && read !== undefined
}
