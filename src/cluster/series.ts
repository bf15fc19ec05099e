import type { Micros } from '../kernel/duration.ts'
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../store/records.ts'
import type { ServingChapter } from './chronicle.ts'
import type { Deployment } from './deployment.ts'
import type { DeploymentRow } from './deployment-row.ts'
import { costOf, type Ran, weightOf } from './money.ts'
import { type Served, snapshot, wholeRequests } from './serving.ts'
import type { World } from './world.ts'

/** How a deployment serves at one moment. Slow instances count by their speed. */
export interface ServingFigures {
  /** Requests in work. */
  readonly concurrency: number
  /** Seconds from a request's arrival then to its first token; null while no instance is ready. */
  readonly time_to_first_token_seconds: number | null
  /** Output tokens/s of all its instances together. */
  readonly tokens_per_second: number
}

/** Nobody asks it. */
export const IDLE: ServingFigures = { concurrency: 0, time_to_first_token_seconds: null, tokens_per_second: 0 }

/** How a deployment serves its load at a moment of that chapter; undefined without a load. */
export function servingFigures(chapter: ServingChapter, served: Served, at: Micros): ServingFigures | undefined {
  const { load, share } = chapter
  if (!load) return undefined
  const now = snapshot(load.curve.rateAt(at), load.speed, share, served.backlog)
  return {
    concurrency: now.concurrency,
    time_to_first_token_seconds: Number.isFinite(now.timeToFirstToken) ? now.timeToFirstToken : null,
    tokens_per_second: now.tokensPerSecond,
  }
}

/** A deployment at the end of a step, and what it did in that step. */
export interface ReportStep extends ServingFigures {
  /** The end of the step, ISO 8601. */
  readonly time: string
  readonly deploy_id: string
  readonly deployment: string
  readonly status: DeploymentStatus
  /** Instances that are ready, and that are on their way there. */
  readonly ready: number
  readonly pending: number
  /** Requests/s that are offered. */
  readonly arrival_rate: number
  /** Requests in this step. */
  readonly served: number
  readonly refused: number
  /** Of clients, as a report counts them: cut off, and left before their turn. */
  readonly failed: number
  readonly left: number
  /** Requests that wait. */
  readonly backlog: number
  /** Mean of this step, a share of what the ready instances could do; null while none was ready. */
  readonly utilisation: number | null
  /** Rent of this step. */
  readonly cost_microcents: number
}

/** The columns of a series, in order. */
export const STEP_COLUMNS = [
  'time',
  'deploy_id',
  'deployment',
  'status',
  'ready',
  'pending',
  'arrival_rate',
  'served',
  'refused',
  'failed',
  'left',
  'backlog',
  'utilisation',
  'concurrency',
  'time_to_first_token_seconds',
  'tokens_per_second',
  'cost_microcents',
] as const satisfies readonly (keyof ReportStep)[]

/**
 * A row a step and deployment, by time, then creation. The steps are counted from the start of the window; the last one
 * may be shorter. What was deleted has no rows from the step after its deletion on. All deployments unless some are given.
 */
export function* seriesOf(
  world: World,
  { from, to, step }: { readonly from: Micros; readonly to: Micros; readonly step: Micros },
  deployments: readonly Deployment[] = world.deployments.list(new Set(DEPLOYMENT_STATUSES)),
): Generator<ReportStep> {
  const cursors = deployments.map(({ ordinal }) => new Cursor(world, world.deployments.read(ordinal), from))
  for (let end = from + step, before = from; before < to; before = end, end += step) {
    const at = Math.min(end, to)
    for (const cursor of cursors) {
      const row = cursor.moveTo(at)
      if (row) yield row
    }
  }
}

/** The past of one deployment, read forwards. */
class Cursor {
  readonly #world: World
  readonly #row: Readonly<DeploymentRow>
  readonly #statuses: Walk<{ at: Micros; status: DeploymentStatus }>
  readonly #counts: Walk<{ at: Micros; ready: number; pending: number }>
  readonly #servings: Walk<ServingChapter>
  readonly #costs: Walk<Ran & { at: Micros; before: bigint }>
  #last: { served: number; refused: number; failed: number; left: number; able: number; used: number; cost: number }

  constructor(world: World, row: Readonly<DeploymentRow>, from: Micros) {
    this.#world = world
    this.#row = row
    this.#statuses = new Walk([...world.chronicle.statuses(row)].reverse())
    this.#counts = new Walk(countsOf(world, row))
    this.#servings = new Walk([...world.chronicle.servings(row)].reverse())
    this.#costs = new Walk(costsOf(world, row))
    this.#last = this.#totalsAt(from)
  }

  /** The row of the step that ends then; undefined for what is not there. */
  moveTo(at: Micros): ReportStep | undefined {
    const status = this.#statuses.to(at)?.status
    const totals = this.#totalsAt(at)
    const { ready = 0, pending = 0 } = this.#counts.to(at) ?? {}
    const last = this.#last
    this.#last = totals
    const cost = totals.cost - last.cost
    if (status === undefined || (status === 'deleted' && cost === 0)) return undefined
    const able = totals.able - last.able
    return {
      time: this.#world.clock.iso(at),
      deploy_id: this.#row.id,
      deployment: this.#row.plan.modelName,
      status,
      ready,
      pending,
      arrival_rate: this.#servings.to(at)?.load?.curve.rateAt(at) ?? 0,
      served: totals.served - last.served,
      refused: totals.refused - last.refused,
      failed: totals.failed - last.failed,
      left: totals.left - last.left,
      backlog: totals.backlog,
      utilisation: able > 0 ? (totals.used - last.used) / able : null,
      ...totals.figures,
      cost_microcents: cost,
    }
  }

  #totalsAt(at: Micros) {
    const chapter = this.#servings.to(at)
    const ran = this.#costs.to(at)
    const cost = ran ? costOf(ran.before + weightOf(ran, ran.from, Math.min(at, ran.to))) : 0
    const { chronicle } = this.#world
    const clients = chronicle.requestsBy(this.#row, at === 0 ? -1 : at)
    const { failed, left } = clients
    if (!chapter) {
      const { served, refused } = clients
      return { served, refused, failed, left, backlog: 0, able: 0, used: 0, cost, figures: IDLE }
    }
    const { served, able, used } = chronicle.totalsIn(chapter, at)
    const { served: done, refused, backlog } = wholeRequests(served)
    const figures = servingFigures(chapter, served, at) ?? IDLE
    return {
      served: done + clients.served,
      refused: refused + clients.refused,
      ...{ failed, left },
      ...{ backlog, able, used, cost, figures },
    }
  }
}

/** Lines in order of time, of which the newest that holds is asked for at ever later moments. */
class Walk<Line extends { readonly at: Micros }> {
  readonly #lines: readonly Line[]
  #next = 0

  constructor(lines: readonly Line[]) {
    this.#lines = lines
  }

  to(at: Micros): Line | undefined {
    while (this.#next < this.#lines.length && this.#lines[this.#next]!.at <= at) this.#next++
    return this.#lines[this.#next - 1]
  }
}

/** How many instances were ready and on their way, from each moment on at which that changed. */
function countsOf(world: World, row: Readonly<DeploymentRow>) {
  const changes: { at: Micros; ready: number; pending: number }[] = []
  for (const life of world.chronicle.lives(row)) {
    const settled = life.ready >= 0 ? life.ready : life.end
    changes.push({ at: life.pending, ready: 0, pending: 1 }, { at: settled, ready: 0, pending: -1 })
    if (life.ready < 0) continue
    changes.push({ at: life.ready, ready: 1, pending: 0 })
    changes.push({ at: life.draining >= 0 ? life.draining : life.end, ready: -1, pending: 0 })
  }
  changes.sort((a, b) => a.at - b.at)
  let [ready, pending] = [0, 0]
  return changes.map(change => {
    ready += change.ready
    pending += change.pending
    return { at: change.at, ready, pending }
  })
}

/** The stretches of its meter, and what all before each weigh together. */
function costsOf(world: World, row: Readonly<DeploymentRow>) {
  if (row.meter < 0) return []
  let before = 0n
  return [...world.ledger.ran(row.meter)].reverse().map(ran => {
    const one = { ...ran, at: ran.from, before }
    before += weightOf(ran, ran.from, ran.to)
    return one
  })
}
