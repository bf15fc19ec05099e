/** Runs of a client in a small fake service, to test what decides which plans are run. */

import { micros, SECOND } from '../../../../src/kernel/duration.ts'
import { ByteHash } from '../../../../src/kernel/random.ts'
import { LIMITS } from '../../../../src/lib/limits.ts'
import { globOf } from '../../../../src/lib/patterns.ts'
import type { Operations } from '../../../../src/service/endpoint.ts'
import { operations } from '../../../../src/service/index.ts'
import type { FaultRule } from '../../../../src/simulator/faults/rules.ts'
import type { ClientEnd, ObservedRequest } from '../../../../src/simulator/judge/observation.ts'
import type { Plan, PlanItem } from '../../../../src/workbench/explore/plan/plan.ts'
import { canonicalText } from '../../../../src/workbench/explore/plan/plan.ts'
import type { Boundary, BrokenInvariant, FlowRunner, RunResult } from '../../../../src/workbench/explore/run/runner.ts'
import { EMPTY_BASE } from '../../../simulator/empty-base.ts'

interface Armed {
  readonly rule: FaultRule
  readonly position: number
  matches: number
  endsAt: number
}

/** What a fault did to a request; `lost`: the service did its work, and the answer is unreadable. */
export type Outcome = 'ok' | 'failed' | 'lost'

/** The world of one run. The client drives it. */
export class FakeWorld {
  now = 0
  readonly requests: ObservedRequest[] = []
  readonly broken: BrokenInvariant[] = []
  readonly boundaries: Boundary[] = []
  readonly features = new Set<string>()
  readonly fired = new Set<number>()
  readonly #armed: readonly Armed[]
  readonly #plan: Plan

  constructor(plan: Plan) {
    this.#plan = plan
    const rules = plan.map((item, position) => ('fault' in item ? { rule: item.fault, position } : undefined))
    this.#armed = rules.filter(one => one !== undefined).map(one => ({ ...one, matches: 0, endsAt: -1 }))
  }

  /** Sends a request. Its answer has the status of the thing it is about. */
  send(operation: string, method: string, path: string, answer: unknown = {}): Outcome {
    const hit = this.#armed.filter(armed => this.#matches(armed, operation, path))[0]
    if (hit !== undefined) this.fired.add(hit.position)
    if (this.requests.length === LIMITS.flowRequests) throw new Error('it sent more requests than a run may have')
    const outcome = hit === undefined ? 'ok' : outcomeOf(hit.rule)
    const status = outcome === 'ok' ? 200 : 503
    this.requests.push({
      ...{ index: this.requests.length + 1, operation, method, path, body: undefined, sentAt: this.now },
      ...{ endedAt: this.now, outcome: 'answered', status, retryAfter: undefined, answer, readError: undefined },
      ...{ decidedBy: hit === undefined ? 'none' : 'fault', fault: undefined, start: 1 },
    })
    this.features.add(`${operation} ${status}`)
    return outcome
  }

  sleep(seconds: number): void {
    this.now += seconds * SECOND
  }

  /** Records a violation. */
  break(signature: string): void {
    const [invariant = ''] = signature.split('@')
    this.broken.push({ invariant, signature, words: `${signature} is broken`, evidence: [], subject: undefined })
  }

  /** Notes a change that the client can see; the command of the plan that is anchored at it acts now. */
  boundary(boundary: Omit<Boundary, 'nth'>): Extract<PlanItem, { command: unknown }> | undefined {
    this.boundaries.push({ ...boundary, nth: 1 })
    const position = this.#plan.findIndex(item => 'after' in item && item.after.kind === boundary.kind)
    if (position < 0) return undefined
    this.fired.add(position)
    return this.#plan[position] as Extract<PlanItem, { command: unknown }>
  }

  /** Returns whether the process of the client ends with the request that was just sent. */
  get crashesNow(): boolean {
    const position = this.#plan.findIndex(item => 'crash' in item && item.crash === this.requests.length)
    if (position >= 0) this.fired.add(position)
    return position >= 0
  }

  #matches(armed: Armed, operation: string, path: string): boolean {
    const { rule } = armed
    if (![rule.on].flat().some(on => globOf(on)(operation))) return false
    if (rule.path !== undefined && !globOf(rule.path)(path)) return false
    armed.matches++
    if (armed.matches === rule.nth && rule.for !== undefined) armed.endsAt = this.now + micros(rule.for)
    return armed.matches === rule.nth || this.now < armed.endsAt
  }

  result(end: ClientEnd): RunResult {
    const hash = new ByteHash()
    hash.update(new TextEncoder().encode(JSON.stringify([this.requests, this.broken, this.now])))
    const { requests, broken, fired, boundaries, features } = this
    const base = { ...EMPTY_BASE, end, requests }
    return {
      ...{ digest: hash.digest(), requests, end: end.kind, broken, fired, lineage: new Map(), boundaries, features },
      ...{ duration: this.now, base, created: base.created },
    }
  }
}

function outcomeOf({ fault }: FaultRule): Outcome {
  if (['latency', 'slowBody', 'stale', 'duplicate', 'drift', 'variation'].includes(fault.kind)) return 'ok'
  const isDone = 'effect' in fault && fault.effect === 'done'
  return isDone || ['empty', 'truncated', 'garbled'].includes(fault.kind) ? 'lost' : 'failed'
}

/** A runner of a client. It remembers the plans that it has run. */
export class FakeRunner implements FlowRunner {
  readonly operations = operations as unknown as Operations
  readonly plans: Plan[] = []
  readonly #client: (world: FakeWorld) => unknown

  constructor(client: (world: FakeWorld) => unknown) {
    this.#client = client
  }

  get runs(): number {
    return this.plans.length
  }

  async run(plan: Plan): Promise<RunResult> {
    this.plans.push(plan)
    const world = new FakeWorld(plan)
    try {
      return world.result({ kind: 'returned', result: this.#client(world) })
    } catch (error) {
      return world.result({ kind: 'threw', error })
    }
  }

  /** The texts of the plans that were run. */
  get texts(): string[] {
    return this.plans.map(canonicalText)
  }

  async dispose(): Promise<void> {}
}
