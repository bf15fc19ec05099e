/** Runs a client in a world of its own and observes it: a small runner for the tests of rules. */

import { type Duration, HOUR, micros } from '../../src/kernel/duration.ts'
import { parseJsonOrText, tryParseJson } from '../../src/lib/json-text.ts'
import type { FaultRule } from '../../src/simulator/faults/rules.ts'
import { AnswerBody } from '../../src/simulator/judge/answers/answer-body.ts'
import { toBase } from '../../src/simulator/judge/created-things.ts'
import { effectsOf } from '../../src/simulator/judge/effects.ts'
import type {
  ClientEnd,
  CreatedKind,
  CreatedThing,
  Observation,
  ObservedRequest,
  RuleSettings,
} from '../../src/simulator/judge/observation.ts'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import type { JournalEntry, Simulator } from '../../src/simulator/simulator-interface.ts'
import type { FlowContext } from '../../src/workbench/explore/flow.ts'

export interface ClientContext extends FlowContext {
  /** Prints a line. */
  print(text: string): void
  /** Returns a signal that aborts after milliseconds of the world. */
  timeout(ms: number): AbortSignal
}

export type Client = (context: ClientContext) => Promise<unknown>

export interface ObserveOptions extends Pick<SimulatorOptions, 'fixtures' | 'with' | 'seed' | 'profile' | 'names'> {
  readonly faults?: readonly FaultRule[]
  /** The client crashes when its n-th request has been carried out, and starts again. */
  readonly crash?: number
  readonly base?: Observation
  readonly settings?: Partial<RuleSettings>
  /** Changes the world before the client starts. */
  readonly prepare?: (sim: Simulator) => void
  readonly recovery?: Duration
}

const DEFAULT_SETTINGS: RuleSettings = { settles: 48 * HOUR, pollsAtMost: 1, spendsAtMost: undefined }
const CREATED = /^(deployment|adapter|hosted|container|batch)\.created$/
const ENDED = new Set(['stopped', 'failed', 'deleted', 'completed', 'expired', 'cancelled'])
/** More requests than this are those of a client that spins without waiting. */
const MAX_REQUESTS = 3_000

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** A client that crashed waits for this for ever. */
const crashed = new Promise<never>(() => {})

/** Runs the client to its end, lets the world recover, and returns what is left. */
export async function observe(client: Client, options: ObserveOptions = {}): Promise<Observation> {
  const { faults = [], crash, base, prepare, recovery = '15m' } = options
  const { fixtures = 'empty', seed = 1, with: patch, profile, names } = options
  const sim = createSimulator({
    fixtures,
    seed,
    ...(patch && { with: patch }),
    ...(profile && { profile }),
    ...(names && { names }),
  })
  prepare?.(sim)
  for (const rule of faults) sim.faults.add(rule)
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  const requests: Mutable<ObservedRequest>[] = []
  const created: { readonly kind: CreatedKind; readonly id: string; readonly request: ObservedRequest }[] = []
  const bySeq = new Map<number, ObservedRequest>()
  let start = 1
  let output = ''
  let onCrash = () => {}
  const inFlight: Mutable<ObservedRequest>[] = []
  const stopListening = sim.journal.listen((entry: JournalEntry) => {
    const request = inFlight.at(-1)
    if (request === undefined) return
    const kind = CREATED.exec(entry.kind)?.[1] as CreatedKind | undefined
    if (kind !== undefined) created.push({ kind, id: entry.subject, request })
    if (entry.kind === 'fault.hit') request.fault = { rule: entry.subject, kind: String(entry.fields?.fault) }
    if (entry.kind === 'fault.hit') request.operation = String(entry.fields?.operation)
    if (entry.kind === 'request') bySeq.set(entry.seq, request)
    if (entry.kind === 'request') request.operation = String(entry.fields?.operation)
  })

  const sendOnce = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    if (requests.length >= MAX_REQUESTS) await crashed
    const asked = new Request(input, init)
    const url = new URL(asked.url)
    const text = asked.headers.get('content-type')?.startsWith('multipart/') ? '' : await asked.clone().text()
    const request: Mutable<ObservedRequest> = {
      index: requests.length + 1,
      operation: '',
      method: asked.method,
      path: url.pathname + url.search,
      body: text === '' ? undefined : parseJsonOrText(text),
      sentAt: sim.clock.elapsed,
      endedAt: undefined,
      outcome: 'unanswered',
      status: 0,
      retryAfter: undefined,
      answer: undefined,
      readError: undefined,
      decidedBy: 'none',
      fault: undefined,
      start,
    }
    requests.push(request)
    inFlight.push(request)
    try {
      const response = await sim.fetch(asked)
      const body = await response
        .clone()
        .text()
        .catch(error => error as Error)
      request.decidedBy = sim.requests.at(-1)?.decidedBy ?? 'none'
      if (requests.length === crash && start === 1) {
        onCrash()
        return await crashed
      }
      request.endedAt = sim.clock.elapsed
      request.outcome = 'answered'
      request.status = response.status
      const wait = response.headers.get('retry-after')
      if (wait !== null) request.retryAfter = micros(`${wait}s`)
      if (body instanceof Error) request.readError = body.message
      else request.read = AnswerBody.ofText(response.headers.get('content-type') ?? '', body)
      if (!(body instanceof Error)) request.answer = body === '' ? undefined : (tryParseJson(body) ?? body)
      return response
    } catch (error) {
      if (requests.length === crash && start === 1) {
        onCrash()
        return await crashed
      }
      const isAborted = asked.signal.aborted
      request.outcome = isAborted ? 'unanswered' : 'failed'
      if (!isAborted) request.endedAt = sim.clock.elapsed
      throw error
    } finally {
      inFlight.splice(inFlight.indexOf(request), 1)
    }
  }

  const context: ClientContext = {
    fetch: sendOnce as typeof fetch,
    url: 'http://sim',
    token: sim.token,
    sleep: ms => sim.clock.sleep(ms),
    now: () => sim.clock.now.getTime(),
    sim,
    inputs: {},
    print: text => {
      output += `${text}\n`
    },
    timeout: ms => {
      const controller = new AbortController()
      void sim.clock.sleep(ms).then(() => controller.abort(new DOMException('timed out', 'TimeoutError')))
      return controller.signal
    },
  }
  const startedAt = sim.clock.elapsed
  const ratesBefore = sim.world.ledger.meters.rates()
  let end: ClientEnd | undefined
  const run = () =>
    client(context).then(
      result => ({ kind: 'returned', result }) as const,
      error => ({ kind: 'threw', error }) as const,
    )
  let current = run()
  const restarted = new Promise<void>(resolve => {
    onCrash = () => {
      start = 2
      current = run()
      resolve()
    }
  })
  void Promise.race([current, restarted.then(() => current)]).then(async first => {
    end = start === 2 ? await current : first
  })
  await sim.clock.until(() => end !== undefined, { within: settings.settles / 1000 }).catch(() => undefined)
  const waiting = requests.findLast(({ outcome }) => outcome === 'unanswered')
  const ended: ClientEnd = end ?? { kind: 'unsettled', waitsFor: waiting ? `request ${waiting.index}` : 'a sleep' }
  const endedAt = sim.clock.elapsed
  stopListening()
  sim.faults.clear()
  sim.cluster.recoverAll()
  await sim.clock.advance(recovery)

  const things = created.map(({ kind, id, request }): CreatedThing => {
    const status = statusOf(sim, kind, id)
    const microcents = sim.ledger
      .entries()
      .filter(({ subject }) => subject === id)
      .reduce((sum, posting) => sum - posting.microcents, 0)
    return { kind, id, createdAt: request.sentAt, request, status, isAlive: !ENDED.has(status), microcents }
  })
  const said = ended.kind === 'returned' ? ended.result : ended.kind === 'threw' ? ended.error : undefined
  return {
    requests,
    end: ended,
    sim,
    startedAt,
    endedAt,
    created: things,
    owned: new Set(things.map(({ id }) => id).filter(id => textOf(said).includes(id))),
    output,
    crashes: start - 1,
    settings,
    base: base && toBase(base),
    effects: effectsOf({ sim }, bySeq),
    ratesBefore,
  }
}

function statusOf({ world }: Simulator, kind: CreatedKind, id: string): string {
  switch (kind) {
    case 'batch':
      return world.batches.get(id)!.status
    case 'hosted':
    case 'container':
      return world.rentals.findById(id)!.state
    default:
      return world.deployments.get(id)!.status
  }
}

function textOf(value: unknown): string {
  return value instanceof Error ? `${value.message} ${JSON.stringify({ ...value })}` : (JSON.stringify(value) ?? '')
}
