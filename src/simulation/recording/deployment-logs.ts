import { DEPLOYMENT_STATUSES } from '../../data/records/enums.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { EntryFields } from '../../kernel/journal.ts'
import { AppendLog } from '../../kernel/layered-map.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import type { SimulationContext } from '../context.ts'

/** Lines that a world keeps: of all deployments together, the newest. */
const MAX_LINES = 65_536

/** The place of an instance of its deployment for lines that are of no instance: who scales, counts and bills. */
export const CONTROLLER = -1

/** Something that happened to a deployment, before it is put into words. */
export interface LogLine {
  readonly at: Micros
  /** Which instance of it, from 0; `CONTROLLER` for none. */
  readonly instanceIndex: number
  readonly kind: string
  readonly fields: EntryFields | undefined
}

/** Events of deployments that stand in a log; those of instances all do. What else does is told by whoever does it. */
export const LOGGED_KINDS: ReadonlySet<string> = new Set([
  ...['deployment.created', ...DEPLOYMENT_STATUSES.map(status => `deployment.${status}`)],
  ...['limited', 'resized', 'scaledUp', 'scaledDown', 'idled', 'woken'].map(word => `deployment.${word}`),
  ...['adapter.created', 'adapter.resident', 'adapter.evicted'],
])

/** What is told in words that need nothing but the deployment. */
const KINDS_WITHOUT_FIELDS: ReadonlySet<string> = new Set(['deployment.created', 'instance.pending'])

/**
 * The logs of the deployments: what the simulation did to them, kept as it happened and put into words when somebody
 * reads it. Bounded whatever happens; a fork goes on with the lines of its origin. The digest does not know of them.
 */
export class DeploymentLogs {
  readonly #context: SimulationContext
  /** At, deployment, nth, which kind, and the position of its fields; -1 for none. */
  readonly #lines: NumberLog
  readonly #fields: AppendLog<EntryFields>
  /** The kinds that there have been. */
  #kinds: readonly string[] = []

  constructor(context: SimulationContext, origin?: DeploymentLogs) {
    this.#context = context
    this.#lines = origin ? origin.#lines.fork() : new NumberLog(5, MAX_LINES)
    // Of lines a block more is kept, too.
    this.#fields = origin ? origin.#fields.fork() : new AppendLog(MAX_LINES + 1024)
    if (origin) this.#kinds = origin.#kinds
  }

  archive(archive: Archive): void {
    this.#lines.archive(archive)
    this.#fields.archive(archive)
    this.#kinds = archive.value(this.#kinds)
  }

  /** A line of a deployment, of an instance of it or of its controller. */
  append(deployment: number, instanceIndex: number, kind: string, fields?: EntryFields): void {
    let kindIndex = this.#kinds.indexOf(kind)
    if (kindIndex < 0) {
      kindIndex = this.#kinds.length
      this.#kinds = [...this.#kinds, kind]
    }
    const fieldsIndex = fields === undefined || KINDS_WITHOUT_FIELDS.has(kind) ? -1 : this.#fields.push(fields)
    this.#lines.push([this.#context.clock.now, deployment, instanceIndex, kindIndex, fieldsIndex])
  }

  /** What is kept of a deployment, oldest first. */
  *linesOf(deployment: number): Generator<LogLine> {
    const lines = this.#lines
    for (let line = lines.oldest; line < lines.length; line++) {
      if (lines.at(line, 1) !== deployment) continue
      const kind = this.#kinds[lines.at(line, 3)]!
      const fields = this.#fields.at(lines.at(line, 4))
      yield { at: lines.at(line, 0), instanceIndex: lines.at(line, 2), kind, fields }
    }
  }
}
