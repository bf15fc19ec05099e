import type { Micros } from '../kernel/duration.ts'
import type { Fields } from '../kernel/journal.ts'
import { AppendLog } from '../kernel/layers.ts'
import { NumberLog } from '../kernel/number-log.ts'
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

/** What is told in words that need nothing but the deployment. */
const NEEDS_NO_FIELDS: ReadonlySet<string> = new Set(['deployment.created', 'instance.pending'])

/**
 * The logs of the deployments: what the simulation did to them, kept as it happened and put into words when somebody
 * reads it. Bounded whatever happens; a fork goes on with the lines of its origin. The digest does not know of them.
 */
export class Logs {
  readonly #world: World
  /** At, deployment, nth, which kind, and the position of its fields; -1 for none. */
  readonly #lines: NumberLog
  readonly #fields: AppendLog<Fields>
  /** The kinds that there have been. */
  #kinds: readonly string[] = []

  constructor(world: World, from?: Logs) {
    this.#world = world
    this.#lines = from ? from.#lines.fork() : new NumberLog(5, KEPT)
    // Of lines a block more is kept, too.
    this.#fields = from ? from.#fields.fork() : new AppendLog(KEPT + 1024)
    if (from) this.#kinds = from.#kinds
  }

  fork(world: World): Logs {
    return new Logs(world, this)
  }

  keep(tape: Tape): void {
    this.#lines.keep(tape)
    this.#fields.keep(tape)
    this.#kinds = tape.value(this.#kinds)
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
    let which = this.#kinds.indexOf(kind)
    if (which < 0) {
      which = this.#kinds.length
      this.#kinds = [...this.#kinds, kind]
    }
    const told = fields === undefined || NEEDS_NO_FIELDS.has(kind) ? -1 : this.#fields.push(fields)
    this.#lines.push([this.#world.clock.now, deployment, nth, which, told])
  }

  /** What is kept of a deployment, oldest first. */
  *of(deployment: number): Generator<LogLine> {
    const lines = this.#lines
    for (let line = lines.oldest; line < lines.length; line++) {
      if (lines.at(line, 1) !== deployment) continue
      const kind = this.#kinds[lines.at(line, 3)]!
      const fields = this.#fields.at(lines.at(line, 4))
      yield { at: lines.at(line, 0), nth: lines.at(line, 2), kind, fields }
    }
  }
}
