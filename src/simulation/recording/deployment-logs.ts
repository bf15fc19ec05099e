import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { EntryFields } from '../../kernel/journal.ts'
import { AppendLog } from '../../kernel/layered-map.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import { LIMITS } from '../../lib/limits.ts'
import { Part } from '../part.ts'

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

/** The columns of a line. `form` is the position of its kind and the names of its fields. */
const LINE = { at: 0, deployment: 1, instanceIndex: 2, form: 3, firstValue: 4, width: 5 } as const

/** A kind of lines, and the names of their fields. Undefined: a line of this form has no fields. */
type LineForm = readonly [kind: string, names: readonly string[] | undefined]

/** What is known of a kind of lines, so that each line needs one look-up. */
interface KindOfLines {
  readonly hasFields: boolean
  /** The position of the form of the last line, and the names of its fields; -1 before the first line. */
  form: number
  names: readonly string[] | undefined
}

/** Log lines whose text depends only on the deployment. */
const KINDS_WITHOUT_FIELDS: ReadonlySet<string> = new Set(['deployment.created', 'instance.pending'])

/**
 * The logs of the deployments. Lines are formatted when they are read. The number of lines is bounded.
 * A fork continues with the lines of its origin. The logs are not part of the digest.
 */
export class DeploymentLogs extends Part {
  readonly #lines = new NumberLog(LINE.width, LIMITS.logLines)
  /** The values of the fields of all lines: an object for each line would take more, and the collector would copy it. */
  readonly #values = new AppendLog<EntryFields[string]>()
  /** The forms that occurred so far, in the order of their first line. */
  #forms: readonly LineForm[] = []
  /** What the last line of each kind was like. It is a cache. */
  readonly #lastOfKind = new Map<string, KindOfLines>()
  #oldestLine = 0

  archive(archive: Archive): void {
    this.#lines.archive(archive)
    this.#values.archive(archive)
    this.#forms = archive.value(this.#forms)
    this.#oldestLine = this.#lines.oldest
  }

  /** Appends a line of an instance or of the controller of a deployment. */
  append(deployment: number, instanceIndex: number, kind: string, given?: EntryFields): void {
    const last = this.#lastOfKind.get(kind) ?? this.#addKind(kind)
    const fields = last.hasFields ? given : undefined
    if (last.form < 0 || !hasNames(fields, last.names)) this.#findForm(last, kind, fields)
    const lines = this.#lines
    lines.add()
    lines.set(LINE.at, this.context.clock.now)
    lines.set(LINE.deployment, deployment)
    lines.set(LINE.instanceIndex, instanceIndex)
    lines.set(LINE.form, last.form)
    lines.set(LINE.firstValue, this.#values.length)
    if (fields !== undefined) for (const name in fields) this.#values.push(fields[name]!)
    if (lines.oldest !== this.#oldestLine) this.#dropValues()
  }

  /** Yields the lines of a deployment, oldest first. */
  *linesOf(deployment: number): Generator<LogLine> {
    const lines = this.#lines
    for (let line = lines.oldest; line < lines.length; line++) {
      if (lines.at(line, LINE.deployment) !== deployment) continue
      const [kind, names] = this.#forms[lines.at(line, LINE.form)]!
      const firstValue = lines.at(line, LINE.firstValue)
      const fields = names && Object.fromEntries(names.map((name, i) => [name, this.#values.at(firstValue + i)!]))
      yield { at: lines.at(line, LINE.at), instanceIndex: lines.at(line, LINE.instanceIndex), kind, fields }
    }
  }

  #addKind(kind: string): KindOfLines {
    const last = { hasFields: !KINDS_WITHOUT_FIELDS.has(kind), form: -1, names: undefined }
    this.#lastOfKind.set(kind, last)
    return last
  }

  #findForm(last: KindOfLines, kind: string, fields: EntryFields | undefined): void {
    let form = this.#forms.findIndex(([ofKind, names]) => ofKind === kind && hasNames(fields, names))
    if (form < 0) {
      form = this.#forms.length
      // Forks share the list.
      this.#forms = [...this.#forms, [kind, fields && Object.keys(fields)]]
    }
    last.form = form
    last.names = this.#forms[form]![1]
  }

  /** Drops the values of dropped lines. */
  #dropValues(): void {
    this.#oldestLine = this.#lines.oldest
    this.#values.dropBefore(this.#lines.at(this.#oldestLine, LINE.firstValue))
  }
}

/** Returns whether fields have these names in this order. */
function hasNames(fields: EntryFields | undefined, names: readonly string[] | undefined): boolean {
  if (fields === undefined || names === undefined) return fields === names
  let count = 0
  for (const name in fields) if (names[count++] !== name) return false
  return count === names.length
}
