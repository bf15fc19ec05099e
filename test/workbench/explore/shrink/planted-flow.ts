/** A runner of a flow whose causes of failure are known: it fails if and only if all of them are met. */

import fc from 'fast-check'
import { micros, SECOND } from '../../../../src/kernel/duration.ts'
import { hash32 } from '../../../../src/kernel/random.ts'
import type { Operations } from '../../../../src/service/endpoint.ts'
import { operations } from '../../../../src/service/index.ts'
import type { Fault, FaultRule } from '../../../../src/simulator/faults/rules.ts'
import type { ObservedRequest } from '../../../../src/simulator/judge/observation.ts'
import type { WorldChange } from '../../../../src/workbench/explore/flow-world.ts'
import type { Plan, PlanItem } from '../../../../src/workbench/explore/plan/plan.ts'
import type { FlowRunner, RunOptions, RunResult } from '../../../../src/workbench/explore/run/runner.ts'
import { happensAfterEffect, nameOfRule } from '../../../../src/workbench/explore/shrink/measure.ts'
import { breaks } from '../../../../src/workbench/explore/shrink/trials.ts'
import { EMPTY_BASE } from '../../../simulator/empty-base.ts'

export const SIGNATURE = 'noLeak@createLlmDeployment/transient'
const OTHER_SIGNATURE = 'settles@getDeployment/silence'

const OPERATIONS = ['createLlmDeployment', 'getDeployment', 'listDeployments', 'deleteDeployment'] as const
export const REQUESTS = 80
/** Time between two requests. */
const STEP = 5 * SECOND

/** What must happen so that the flow fails. */
export type Cause =
  /** A fault of the n-th request of an operation, or one after the effect of that request. */
  | { readonly operation: string; readonly nth: number; readonly afterEffect?: boolean }
  /** Faults of at least so many requests of an operation. */
  | { readonly operation: string; readonly atLeast: number }
  | { readonly verb: string; readonly minOffset: number }
  | { readonly crash: number }

/** What the runner tells of the chain of causes: all of it, a part, more than is necessary, or nothing. */
export type Lineage = 'exact' | 'partial' | 'generous' | 'none'

export interface PlantedFlow {
  readonly causes: readonly Cause[]
  readonly lineage: Lineage
  /** The changes of its world in which it fails. Default: all. */
  readonly failsIn?: (world: WorldChange) => boolean
  /** The changes of its world in which it ends without faults as in its own. Default: all. */
  readonly worksIn?: (world: WorldChange) => boolean
  /** The plans with which it fails, if its causes are met. Default: all. */
  readonly failsWith?: (plan: Plan) => boolean
  /** Whether the client is saved if the service heals at a request. Default: never. */
  readonly isSavedAt?: (request: number) => boolean
}

export class PlantedRunner implements FlowRunner {
  readonly operations = operations as unknown as Operations
  readonly #flow: PlantedFlow
  runs = 0

  constructor(flow: PlantedFlow) {
    this.#flow = flow
  }

  async run(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
    this.runs++
    const {
      causes,
      lineage,
      failsIn = () => true,
      worksIn = () => true,
      failsWith = () => true,
      isSavedAt = () => false,
    } = this.#flow
    const { requests, hits } = sendRequests(plan)
    const fired = new Set(plan.flatMap((item, i) => (hits[i]! > 0 || isReached(item) ? [i] : [])))
    const isHealed = options.healAt !== undefined && isSavedAt(options.healAt.request)
    const isBroken =
      failsIn(options.world ?? {}) &&
      failsWith(plan) &&
      !isHealed &&
      causes.every(cause => isMet(cause, plan, requests))
    const causing = plan.flatMap((item, i) => (causes.some(cause => isPartOf(item, cause)) ? [i] : []))
    const known = {
      exact: causing,
      partial: causing.slice(1),
      generous: [...causing, ...[...fired].slice(0, 5)],
      none: [],
    }
    const broken = [
      { signature: SIGNATURE, isBroken },
      { signature: OTHER_SIGNATURE, isBroken: fired.size > 10 },
    ]
    return {
      digest: String(hash32(JSON.stringify([requests.map(one => one.fault), [...fired].map(i => plan[i]), options]))),
      requests,
      end: worksIn(options.world ?? {}) ? 'threw' : 'returned',
      broken: broken.flatMap(({ signature, isBroken }) =>
        isBroken ? [{ invariant: 'noLeak', signature, words: '', evidence: [], subject: undefined }] : [],
      ),
      fired,
      lineage: new Map([[SIGNATURE, new Set(known[lineage])]]),
      boundaries: [],
      features: new Set(),
      duration: REQUESTS * STEP,
      created: [],
      base: EMPTY_BASE,
    }
  }

  async dispose(): Promise<void> {}
}

/** Returns the requests with the faults of the first matching items, and the hits of each item. */
function sendRequests(plan: Plan): { readonly requests: ObservedRequest[]; readonly hits: number[] } {
  const counts = plan.map(() => 0)
  const hits = plan.map(() => 0)
  const startedAt = plan.map((): number | undefined => undefined)
  const requests = Array.from({ length: REQUESTS }, (_, i): ObservedRequest => {
    const operation = OPERATIONS[i % OPERATIONS.length]!
    const sentAt = i * STEP
    const matching = plan.flatMap((item, at) => {
      if (!('fault' in item) || item.fault.on !== operation) return []
      counts[at]!++
      const { nth, times, chance, for: lasts } = item.fault
      if (nth === counts[at]) startedAt[at] = sentAt
      const start = startedAt[at]
      const isInOutage = lasts !== undefined && start !== undefined && sentAt <= start + micros(lasts)
      const isDrawn = chance !== undefined && hash32(`${operation} ${i}`) / 2 ** 32 < chance
      return nth === counts[at] || isInOutage || isDrawn || (times !== undefined && counts[at]! <= times) ? [at] : []
    })
    const [first] = matching
    if (first !== undefined) hits[first]!++
    const rule = first === undefined ? undefined : (plan[first] as { fault: FaultRule }).fault
    return {
      index: i + 1,
      operation,
      method: operation.startsWith('get') || operation.startsWith('list') ? 'GET' : 'POST',
      path: `/${operation}`,
      body: undefined,
      sentAt,
      endedAt: sentAt,
      outcome: 'answered',
      status: rule === undefined ? 200 : rule.fault.kind === 'status' ? rule.fault.status : 0,
      retryAfter: undefined,
      // The effect that the fault leaves, which decides whether a cause is met.
      answer: rule === undefined ? undefined : happensAfterEffect(rule.fault),
      readError: undefined,
      decidedBy: 'service' as ObservedRequest['decidedBy'],
      fault: rule && { rule: nameOfRule(rule), kind: rule.fault.kind },
      start: 1,
    }
  })
  return { requests, hits }
}

function isReached(item: PlanItem): boolean {
  if ('crash' in item) return item.crash <= REQUESTS
  return 'command' in item && item.after.kind !== 'never'
}

function isMet(cause: Cause, plan: Plan, requests: readonly ObservedRequest[]): boolean {
  if ('verb' in cause || 'crash' in cause) return plan.some(item => isPartOf(item, cause))
  const ofOperation = requests.filter(({ operation }) => operation === cause.operation)
  if ('atLeast' in cause) return ofOperation.filter(({ fault }) => fault !== undefined).length >= cause.atLeast
  const request = ofOperation[cause.nth - 1]
  return request?.fault !== undefined && (cause.afterEffect !== true || request.answer === true)
}

function isPartOf(item: PlanItem, cause: Cause): boolean {
  if ('crash' in cause) return 'crash' in item && item.crash === cause.crash
  if ('verb' in cause) {
    return 'command' in item && item.command.verb === cause.verb && micros(item.after.offset ?? 0) >= cause.minOffset
  }
  if (!('fault' in item) || item.fault.on !== cause.operation) return false
  return 'atLeast' in cause || item.fault.nth === cause.nth
}

const PER_OPERATION = REQUESTS / OPERATIONS.length
const operation = fc.constantFrom(...OPERATIONS)
const fault: fc.Arbitrary<Fault> = fc.constantFrom<Fault>(
  { kind: 'status', status: 503 },
  { kind: 'rateLimit', retryAfter: '20s' },
  { kind: 'reset' },
  { kind: 'reset', effect: 'done' },
  { kind: 'status', status: 503, effect: 'done' },
  { kind: 'html', status: 502 },
  { kind: 'empty' },
  { kind: 'truncated' },
  { kind: 'garbled' },
  { kind: 'hang', effect: 'done' },
  { kind: 'latency', delay: '30s' },
)
const nth = fc.integer({ min: 1, max: PER_OPERATION })
const outage = fc.constantFrom('30s', '60s', '5m')
const rule = (more: object) => ({ fault: more }) as PlanItem

/** Items that are not cause: of requests, of outages, of commands, and some that never fire. */
const noise: fc.Arbitrary<PlanItem> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ on: operation, nth, fault }).map(rule) },
  { weight: 2, arbitrary: fc.record({ on: operation, nth, for: outage, fault }).map(rule) },
  { weight: 1, arbitrary: fc.record({ on: operation, times: fc.integer({ min: 1, max: 3 }), fault }).map(rule) },
  { weight: 2, arbitrary: fc.record({ on: operation, nth: fc.constant(1000), fault }).map(rule) },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 0, max: 9 }).map(
      (node): PlanItem => ({
        command: { verb: 'node.crash', target: `h100-${node}` },
        after: { kind: 'deployment.initializing', offset: '7s' },
        for: '60s',
      }),
    ),
  },
)

/** A cause, with the item of a plan that meets it. */
interface PlantedCause {
  readonly cause: Cause
  readonly item: PlanItem
}

const requestCause = fc
  .record({ operation, nth, fault, lasts: fc.option(outage, { nil: undefined }) })
  .map(({ operation, nth, fault, lasts }): PlantedCause => {
    const cause = { operation, nth, ...(happensAfterEffect(fault) && { afterEffect: true }) }
    return { cause, item: rule({ on: operation, nth, ...(lasts !== undefined && { for: lasts }), fault }) }
  })
const countCause = fc
  .record({ operation, atLeast: fc.integer({ min: 2, max: 12 }), fault })
  .map(({ operation, atLeast, fault }): PlantedCause => {
    return { cause: { operation, atLeast }, item: rule({ on: operation, times: atLeast + 3, fault }) }
  })
const commandCause = fc.integer({ min: 0, max: 20 }).map(
  (seconds): PlantedCause => ({
    cause: { verb: 'hub.down', minOffset: seconds * SECOND },
    item: { command: { verb: 'hub.down' }, after: { kind: 'start', offset: `${seconds + 3}s` }, for: '5m' },
  }),
)
const crashCause = fc
  .integer({ min: 1, max: REQUESTS })
  .map((n): PlantedCause => ({ cause: { crash: n }, item: { crash: n } }))
const plantedCause = fc.oneof(
  { weight: 6, arbitrary: requestCause },
  { weight: 1, arbitrary: countCause },
  { weight: 1, arbitrary: commandCause },
  { weight: 1, arbitrary: crashCause },
)

export interface Schedule {
  readonly flow: PlantedFlow
  readonly plan: Plan
}

/** Schedules of `size` items with one to three causes among them, in any order. */
export function schedules(
  size: number,
  lineages: readonly Lineage[] = ['exact', 'partial', 'generous', 'none'],
): fc.Arbitrary<Schedule> {
  return fc
    .record({
      causes: fc.uniqueArray(plantedCause, {
        minLength: 1,
        maxLength: 3,
        selector: ({ item }) => JSON.stringify(item),
      }),
      noise: fc.array(noise, { minLength: size, maxLength: size }),
      lineage: fc.constantFrom(...lineages),
      order: fc.array(fc.nat(), { minLength: size, maxLength: size }),
    })
    .map(({ causes, noise, lineage, order }) => {
      const items = [...causes.map(({ item }) => item), ...noise].slice(0, size)
      const plan = items
        .map((item, i) => ({ item, place: order[i]! }))
        .toSorted((one, other) => one.place - other.place)
        .map(({ item }) => item)
      return { flow: { causes: causes.map(({ cause }) => cause), lineage }, plan }
    })
}

/** Returns whether the plan of a schedule breaks its flow. */
export async function isBroken({ flow, plan }: Schedule, world = {}): Promise<boolean> {
  return breaks(await new PlantedRunner(flow).run(plan, world), SIGNATURE)
}

/** Returns the items that the violation does not need. */
export async function unnecessaryItems(schedule: Schedule): Promise<PlanItem[]> {
  const found = []
  for (const item of schedule.plan) {
    const plan = schedule.plan.filter(other => other !== item)
    if (await isBroken({ ...schedule, plan })) found.push(item)
  }
  return found
}

/** Returns schedules of a size whose plans break their flows. */
export async function failingSchedules(
  count: number,
  size: number,
  lineages?: readonly Lineage[],
): Promise<Schedule[]> {
  const found = []
  for (const schedule of fc.sample(schedules(size, lineages), { numRuns: count * 4, seed: 18 })) {
    if (found.length < count && (await isBroken(schedule))) found.push(schedule)
  }
  return found
}
