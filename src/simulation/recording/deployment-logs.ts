import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { EntryFields } from '../../kernel/journal.ts'
import { AppendLog } from '../../kernel/layered-map.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import { LIMITS } from '../../limits.ts'
import type { SimulationContext } from '../context.ts'

/** The instance index of lines that belong to no instance, for example of scaling and billing. */
export const CONTROLLER = -1

/** A log line before it is formatted. */
export interface LogLine {
  readonly at: Micros
  /** The index of the instance, from 0, or `CONTROLLER`. */
  readonly instanceIndex: number
  readonly kind: string
  readonly fields: EntryFields | undefined
}

/** Log lines whose text depends only on the deployment. */
const KINDS_WITHOUT_FIELDS: ReadonlySet<string> = new Set(['deployment.created', 'instance.pending'])

/**
 * The logs of the deployments. Lines are formatted when they are read. The number of lines is bounded.
 * A fork continues with the lines of its origin. The logs are not part of the digest.
 */
export class DeploymentLogs {
  readonly #context: SimulationContext
  /** Columns: time, deployment, instance index, kind, and the position of its fields. -1: no fields. */
  readonly #lines: NumberLog
  readonly #fields: AppendLog<EntryFields>
  /** The kinds that occurred so far, in the order of their first line, with their positions. */
  #kinds: ReadonlyMap<string, number> = new Map()

  constructor(context: SimulationContext, origin?: DeploymentLogs) {
    this.#context = context
    this.#lines = origin ? origin.#lines.fork() : new NumberLog(5, LIMITS.logLines)
    // Of lines a block more is kept, too.
    this.#fields = origin ? origin.#fields.fork() : new AppendLog(LIMITS.logLines + 1024)
    if (origin) this.#kinds = origin.#kinds
  }

  archive(archive: Archive): void {
    this.#lines.archive(archive)
    this.#fields.archive(archive)
    this.#kinds = toPositions(archive.value([...this.#kinds.keys()]))
  }

  /** Appends a line of an instance or of the controller of a deployment. */
  append(deployment: number, instanceIndex: number, kind: string, fields?: EntryFields): void {
    let kindIndex = this.#kinds.get(kind)
    if (kindIndex === undefined) {
      kindIndex = this.#kinds.size
      // Forks share the map.
      this.#kinds = new Map([...this.#kinds, [kind, kindIndex]])
    }
    const fieldsIndex = fields === undefined || KINDS_WITHOUT_FIELDS.has(kind) ? -1 : this.#fields.push(fields)
    this.#lines.push([this.#context.clock.now, deployment, instanceIndex, kindIndex, fieldsIndex])
  }

  /** Yields the lines of a deployment, oldest first. */
  *linesOf(deployment: number): Generator<LogLine> {
    const lines = this.#lines
    const kinds = [...this.#kinds.keys()]
    for (let line = lines.oldest; line < lines.length; line++) {
      if (lines.at(line, 1) !== deployment) continue
      const kind = kinds[lines.at(line, 3)]!
      const fields = this.#fields.at(lines.at(line, 4))
      yield { at: lines.at(line, 0), instanceIndex: lines.at(line, 2), kind, fields }
    }
  }
}

function toPositions(kinds: readonly string[]): ReadonlyMap<string, number> {
  return new Map(kinds.map((kind, position) => [kind, position]))
}
