import type { Micros } from '../kernel/duration.ts'
import type { Fields } from '../kernel/journal.ts'
import { RecentLog } from '../kernel/recent-log.ts'
import type { Row } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import { DEPLOYMENT_STATUSES } from '../store/records.ts'
import { InstanceRow } from './instances.ts'
import type { World } from './world.ts'

/** Lines that a world keeps: of all deployments together, the newest. */
const KEPT = 65_536

/** The place of an instance of its deployment for lines that are of no instance: who scales, counts and bills. */
export const CONTROLLER = -1

/** Something that happened to a deployment, before it is put into words. */
export interface LogLine {
  readonly at: Micros
  /** Ordinal of the deployment. */
  readonly deployment: number
  /** Which instance of it, from 0; `CONTROLLER` for none. */
  readonly nth: number
  readonly kind: string
  readonly fields: Fields | undefined
}

/** Events of deployments that stand in a log; those of instances all do. What else does is told by whoever does it. */
const LOGGED: ReadonlySet<string> = new Set([
  ...['deployment.created', ...DEPLOYMENT_STATUSES.map(status => `deployment.${status}`)],
  ...['limited', 'resized', 'scaledUp', 'scaledDown', 'idled', 'woken'].map(word => `deployment.${word}`),
  ...['adapter.created', 'adapter.resident', 'adapter.evicted'],
])

/**
 * The logs of the deployments: what the simulation did to them, kept as it happened and put into words when somebody
 * reads it. Bounded whatever happens; a fork goes on with the lines of its origin. The digest does not know of them.
 */
export class Logs {
  readonly #world: World
  readonly #lines: RecentLog<LogLine>

  constructor(world: World, from?: Logs) {
    this.#world = world
    this.#lines = from ? from.#lines.fork() : new RecentLog(KEPT)
  }

  fork(world: World): Logs {
    return new Logs(world, this)
  }

  keep(tape: Tape): void {
    this.#lines.keep(tape)
  }

  /** An event of the journal. */
  happened(row: Row, kind: string, fields: Fields | undefined): void {
    if (row instanceof InstanceRow) this.tell(row.deployment, row.nth, kind, fields)
    else if (LOGGED.has(kind)) {
      const deployment = this.#world.deployments.ordinalOf(row.id)
      if (deployment !== undefined) this.tell(deployment, CONTROLLER, kind, fields)
    }
  }

  /** A line of a deployment, of an instance of it or of its controller. */
  tell(deployment: number, nth: number, kind: string, fields?: Fields): void {
    this.#lines.push({ at: this.#world.clock.now, deployment, nth, kind, fields })
  }

  /** What is kept of a deployment, oldest first. */
  *of(deployment: number): Generator<LogLine> {
    for (const line of this.#lines) if (line.deployment === deployment) yield line
  }
}
