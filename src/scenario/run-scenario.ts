import { pathToFileURL } from 'node:url'
import { createClient } from '../api/client.ts'
import { type Micros, readable, SECOND } from '../kernel/duration.ts'
import type { Entry } from '../kernel/journal.ts'
import { monotonicMs } from '../kernel/pacer.ts'
import { pause, turn } from '../settle.ts'
import { CheckError, type Difference, differences, leaves, refusalDifferences, shown } from './check.ts'
import { InProcessStage } from './in-process.ts'
import { clusterOf, isAwaited, Orders } from './orders.ts'
import type { Props, Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'
import { lineOf, type TraceDifference, traceOf } from './trace.ts'

/** How many events a failure is shown with. */
const LAST_EVENTS = 10
/** Real time without anything happening after which a script is taken for one that waits for nothing. */
const PATIENCE_MS = 5_000

export interface RunOptions {
  /** Instead of the scenario's own seed. */
  readonly seed?: string | number | undefined
  /** Holds the world to its laws after every event. */
  readonly check?: boolean | undefined
  /** Path of the script, to say in which of its lines a failure happened. */
  readonly file?: string | undefined
  /** Real milliseconds without anything happening after which it counts as stuck; 5,000 unless given. */
  readonly patienceMs?: number | undefined
}

/** Why a scenario failed. */
export interface Failure {
  /** What was done or expected, and what came instead. */
  readonly message: string
  /** Virtual time of it: microseconds since the epoch of the world. */
  readonly at: Micros
  /** Where the script was: line and column of its file. */
  readonly where: { readonly line: number; readonly column: number } | undefined
  /** Of a check: each path that differs. */
  readonly differences: readonly Difference[]
  /** Of a trace: the first line that differs. */
  readonly trace?: TraceDifference | undefined
  /** The last events of the things involved, as lines of a trace. */
  readonly events: readonly string[]
}

/** What became of a scenario. */
export interface Result {
  readonly title: string
  readonly passed: boolean
  readonly seed: string
  /** How much virtual time it took, in microseconds. */
  readonly elapsed: Micros
  /** Real milliseconds; never part of a trace. */
  readonly wallMs: number
  readonly checks: number
  readonly trace: readonly string[]
  readonly digest: string
  readonly failure: Failure | undefined
}

/**
 * Plays a scenario in a world of its own in this process. What goes wrong, a world that cannot be included, is the
 * result's `failure`.
 *
 * @example
 * const result = await runScenario(coldStart)
 * expect(result.failure).toBeUndefined()
 */
export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<Result> {
  const { seed = scenario.options.seed ?? 1 } = options
  let stage: InProcessStage
  try {
    stage = new InProcessStage({ ...scenario.options, seed, ...(options.check && { check: true }) })
  } catch (error) {
    return {
      title: scenario.title,
      passed: false,
      seed: String(seed),
      elapsed: 0,
      wallMs: 0,
      checks: 0,
      trace: [],
      digest: '',
      failure: { message: messageOf(error), at: 0, where: undefined, differences: [], events: [] },
    }
  }
  return playOn(stage, scenario, options)
}

async function playOn(stage: Stage, scenario: Scenario, options: RunOptions): Promise<Result> {
  const began = monotonicMs()
  const script = new Script(stage)
  let failure: Failure | undefined
  try {
    await patiently(script, stage, options.patienceMs ?? PATIENCE_MS, () => script.play(scenario))
    if (stage.bug !== undefined) throw stage.bug
  } catch (thrown) {
    const error = stage.bug === undefined ? thrown : bugError(stage.bug)
    failure = await failureOf(stage, error, options.file)
  }
  const record = await stage.record()
  const result: Result = {
    title: scenario.title,
    passed: failure === undefined,
    seed: stage.seed,
    elapsed: stage.clock.elapsed,
    wallMs: monotonicMs() - began,
    checks: script.checks,
    trace: traceOf(scenario.title, stage.seed, record),
    digest: await stage.digest(),
    failure,
  }
  await stage.close()
  return result
}

/** One playing of a script: what it gets, in the order in which it asks. */
class Script {
  checks = 0
  readonly #stage: Stage
  readonly #orders = new Orders()
  /** Moves of the clock under way; a second one waits for the first. */
  #moves: readonly string[] = []
  /** Moves of the clock that have been asked for, each with the place in the script. */
  #asked: readonly { readonly name: string; readonly promise: Promise<unknown>; readonly from: Error }[] = []

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** What the script waits for, as far as that can be told. */
  get waiting(): string | undefined {
    const [first, second] = this.#moves
    return second && `clock.${second} waits for clock.${first} to end, and was called by what that waits for`
  }

  async play(scenario: Scenario): Promise<void> {
    try {
      await scenario.play(this.#props())
    } catch (error) {
      // What failed unseen came first, and may be why the rest went wrong.
      const stray = this.#orders.stray
      throw stray && stray.error !== error ? stray.error : error
    }
    const stray = await this.#orders.settled()
    if (stray) throw stray.error
    const loose = this.#asked.find(({ promise }) => !isAwaited(promise))
    if (loose) throw loose.from
  }

  #props(): Props {
    const stage = this.#stage
    const orders = this.#orders
    const { clock } = stage
    const client = createClient(request => stage.send(request), stage)
    return {
      api: watched(client, orders),
      clock: {
        get now() {
          return clock.now
        },
        get iso() {
          return clock.iso
        },
        get elapsed() {
          return clock.elapsed
        },
        advance: duration => this.#move('advance', () => clock.advance(duration)),
        advanceTo: moment => this.#move('advanceTo', () => clock.advanceTo(moment)),
        next: () => this.#move('next', () => clock.next()),
        until: (predicate, options) => this.#move('until', () => clock.until(predicate, options)),
        sleep: duration => clock.sleep(duration),
      },
      cluster: clusterOf(order => orders.verb(() => stage.command(order))),
      ledger: {
        balance: () => orders.after(() => stage.balance()),
        entries: subject => orders.after(() => this.#entries(subject)),
        cost: subject =>
          orders.after(async () => {
            const entries = await this.#entries(subject)
            // No entry at all costs nothing, not minus nothing.
            return entries.reduce((sum, { microcents }) => sum - microcents, 0)
          }),
        rent: subject =>
          orders.after(async () => {
            const { id_to_duration } = await client.getRentUsage({ from: 0 })
            return id_to_duration[subject] ?? 0
          }),
      },
      journal: { entries: () => orders.after(async () => [...(await stage.record())]) },
      check: (actual, expected, what) => this.#check(actual, expected, what),
      expectRefusal: (call, status, message) => orders.after(() => this.#expectRefusal(call, status, message)),
      fetch: (input, init) => orders.after(() => stage.send(new Request(input, init))),
      baseUrl: stage.baseUrl,
      token: stage.token,
    }
  }

  #move<T>(name: string, move: () => Promise<T>): Promise<T> {
    // Not queued as verbs are: what a client asks while time moves is part of the move.
    const promise = this.#orders.after(async () => {
      this.#moves = [...this.#moves, name]
      try {
        return await move()
      } finally {
        this.#moves = this.#moves.toSpliced(this.#moves.indexOf(name), 1)
      }
    })
    const from = new Error(`Failed to move time: ${unawaited(name)}`)
    this.#asked = [...this.#asked.filter(asked => !isAwaited(asked.promise)), { name, promise, from }]
    return promise
  }

  async #entries(subject: string | undefined) {
    const entries = await this.#stage.ledgerEntries()
    return subject === undefined ? entries : entries.filter(entry => entry.subject === subject)
  }

  #check(actual: unknown, expected: unknown, what: string | undefined): void {
    const name = this.#nameOf(what)
    if (actual instanceof Promise) {
      throw new TypeError(`Failed to check: ${name} is given a promise. Await it: check(await …, …).`)
    }
    const found = differences(actual, expected)
    if (found.length > 0) throw this.#hinting(new CheckError(name, found, actual))
    this.#stage.note('check', what === undefined ? String(this.checks) : JSON.stringify(what), leaves(expected))
  }

  /** A check that looks before time has moved is nearly always one whose `await` was forgotten. */
  #hinting(error: CheckError): CheckError {
    const loose = this.#asked.find(({ promise }) => !isAwaited(promise))
    if (loose) error.message += `\n  ${unawaited(loose.name)}`
    return error
  }

  async #expectRefusal(call: Promise<unknown>, status: number, message: string | RegExp | undefined) {
    const name = this.#nameOf(undefined)
    const outcome = await Promise.resolve(call).then(
      value => ({ value }),
      (error: unknown) => ({ error }),
    )
    if ('value' in outcome) {
      const found = `success: ${shown(outcome.value)}`
      throw new CheckError(name, [{ path: '', expected: `a refusal ${status}`, found }], outcome.value)
    }
    const found = refusalDifferences(outcome.error, status, message)
    if (found.length > 0) throw new CheckError(name, found, outcome.error)
    this.#stage.note('check', String(this.checks), {
      refused: status,
      ...(message !== undefined && { message: String(message) }),
    })
    return outcome.error as Awaited<ReturnType<Props['expectRefusal']>>
  }

  #nameOf(what: string | undefined): string {
    this.checks++
    return `check ${this.checks}${what === undefined ? '' : ` (${what})`}`
  }
}

function unawaited(move: string): string {
  return `clock.${move} is not awaited, so the script goes on before time has moved. Write await clock.${move}(…).`
}

/** The client, each of whose calls is kept an eye on until somebody awaits it. */
function watched(client: Props['api'], orders: Orders): Props['api'] {
  const methods = Object.entries(client).map(([name, method]) => [
    name,
    name === 'as'
      ? (token: string | undefined) => watched(client.as(token), orders)
      : (...args: unknown[]) => orders.after(() => (method as (...args: unknown[]) => Promise<unknown>)(...args)),
  ])
  return Object.fromEntries(methods) as Props['api']
}

/**
 * Plays until it is over, until a promise of the script's own fails with nobody awaiting it, or until nothing has
 * happened for a while and nothing will.
 */
async function patiently(script: Script, stage: Stage, ms: number, play: () => Promise<void>): Promise<void> {
  let over = false
  let fail = (_: unknown) => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const giveUp = (noticed: string) => {
    const because = script.waiting ?? stage.waiting ?? 'it awaits something that nobody will bring'
    fail(new Error(`Failed to go on: ${noticed}, and the script has not ended: ${because}.`))
  }
  const watch = async () => {
    while (!over) {
      const before = stage.pulse
      await pause(ms)
      if (!over && stage.pulse === before) giveUp(`nothing has happened for ${readable(ms * 1000)} of real time`)
    }
  }
  // With nothing left to do Node would leave without a word; the turn keeps it for whoever is played next.
  const leaving = () => {
    giveUp('nothing is left that could happen')
    turn()
  }
  const lost = (reason: unknown) => {
    const error = new Error(`a promise that nobody awaits failed: ${messageOf(reason)}`, { cause: reason })
    if (reason instanceof Error) error.stack = reason.stack ?? ''
    fail(error)
  }
  process.on('beforeExit', leaving)
  process.on('unhandledRejection', lost)
  watch()
  try {
    await Promise.race([play(), failed])
    // A failure that nobody awaits is known only a turn later: it must not be the next scenario's.
    await Promise.race([turn(), failed])
  } finally {
    over = true
    process.off('beforeExit', leaving)
    process.off('unhandledRejection', lost)
  }
}

function bugError(error: unknown): Error {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return new Error(`The simulator has a bug, please report it with this scenario: ${text}`, { cause: error })
}

async function failureOf(stage: Stage, error: unknown, file: string | undefined): Promise<Failure> {
  const record = await stage.record()
  const check = error instanceof CheckError ? error : undefined
  return {
    message: messageOf(error),
    at: stage.clock.elapsed,
    where: placeIn(error, file),
    differences: check?.differences ?? [],
    events: eventsOf(record, check?.actual),
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return `the script threw ${shown(error)}`
  const ours = ['CheckError', 'Refusal', 'UntilError', 'Error', 'RangeError', 'FixtureError'].includes(error.name)
  // What happened last stands below, for every failure alike.
  const message = error.name === 'UntilError' ? error.message.replace(/ Allow more with [\s\S]*$/, '') : error.message
  return ours ? message : `${error.name}: ${message}`
}

/** Where in the script an error came up. */
function placeIn(error: unknown, file: string | undefined): Failure['where'] {
  if (file === undefined || !(error instanceof Error)) return undefined
  const line = error.stack?.split('\n').find(text => text.includes(file) || text.includes(pathToFileURL(file).href))
  const at = /:(\d+):(\d+)\)?\s*$/.exec(line ?? '')
  return at ? { line: Number(at[1]), column: Number(at[2]) } : undefined
}

/** The last events of the things a failure is about: those it names, else those last looked at, else all. */
function eventsOf(record: readonly Entry[], actual: unknown): string[] {
  const subjects = new Set(record.filter(entry => entry.kind !== 'request' && entry.kind !== 'check').map(idOf))
  const lastRequest = record.findLast(entry => entry.kind === 'request')
  const named = [...textsOf(actual)].filter(text => subjects.has(text))
  const asked = decodeURIComponent(lastRequest?.subject ?? '')
    .split(/[ /?&=]/)
    .filter(text => subjects.has(text))
  const involved = named.length > 0 ? named : asked
  const entries = involved.length > 0 ? withCauses(record, entry => concerns(entry, involved)) : record
  return entries.flatMap(entry => lineOf(entry) ?? []).slice(-LAST_EVENTS)
}

/** The entries that are wanted, and what caused them: an instance is lost because a node crashed. */
function withCauses(record: readonly Entry[], wanted: (entry: Entry) => boolean): Entry[] {
  const bySeq = new Map(record.map(entry => [entry.seq, entry]))
  const shown = new Set<Entry>()
  for (const first of record.filter(wanted)) {
    let entry: Entry | undefined = first
    while (entry && !shown.has(entry)) {
      shown.add(entry)
      entry = entry.cause > 0 && entry.cause < entry.seq ? bySeq.get(entry.cause) : undefined
    }
  }
  return record.filter(entry => shown.has(entry))
}

function concerns(entry: Entry, involved: readonly string[]): boolean {
  return involved.some(
    id =>
      entry.subject === id ||
      // An instance is named after its deployment.
      entry.subject.startsWith(`${id}-`) ||
      Object.values(entry.fields ?? {}).includes(id),
  )
}

function idOf(entry: Entry): string {
  return entry.subject
}

/** Every text in a value, as deep as it goes. */
function* textsOf(value: unknown, depth = 0): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null && depth < 6) {
    for (const item of Object.values(value)) yield* textsOf(item, depth + 1)
  }
}

/** Virtual time for people, with the exact seconds that traces show. */
export function timeOf(at: Micros): string {
  const seconds = Math.floor(at / SECOND)
  return `${at === 0 ? '0s' : readable(at)} (${seconds}.${String(at - seconds * SECOND).padStart(6, '0')})`
}
