import * as z from 'zod'
import type { Archive } from '../../kernel/archive.ts'
import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import { purpose } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { attempt } from '../../lib/errors.ts'
import { deepFreeze } from '../../lib/fields.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { quote } from '../../lib/quote.ts'
import { describeProblems, knownKeysAt, parseOwnFields } from '../../lib/zod-problems.ts'
import { TablePart } from '../part.ts'
import type { LedgerParts } from './ledger.ts'

const ID = purpose('ownRecord.id')
/** Kinds that no table and no role of a user can have: rules of judge and explore know the things of the provider by them. */
export const PROVIDER_KINDS = /^(?:deployment|adapter|hosted|container|batch|file)$/
/** The form of a kind. It has no space, since one parts it from the key of a record, and from the verb of a role. */
export const RECORD_KIND = /^[a-z][\w-]*$/i

/** A schema of zod 4. The user's copy of zod need not be ours, and two copies are slow to compare. */
export interface AnySchema<Output = unknown> {
  readonly _zod: { readonly output: Output; readonly input: unknown }
}

/** The values that a schema gives. */
export type OutputOf<Schema> = Schema extends AnySchema ? Schema['_zod']['output'] : undefined

/** A table of records that endpoints of a user keep. Forks, snapshots and replays contain its records. */
export interface RecordTable<R extends object = object> {
  /** The word for one record, as in `pod`. Roles, findings and the journal use it. */
  readonly kind: string
  /** The schema of a record. */
  readonly record: AnySchema<R>
  /** The field whose text identifies a record. */
  readonly key: keyof R & string
  /** The field that has the status. */
  readonly status: keyof R & string
  /** The statuses of records that have ended. Such a record costs nothing. */
  readonly ended: readonly string[]
  /** The field with the price in US dollars an hour, from 0 to 1,000,000. Default: records cost nothing. */
  readonly usdPerHour?: keyof R & string
}

const TABLE_FIELDS = ['kind', 'record', 'key', 'status', 'ended', 'usdPerHour']

/**
 * Declares a table of records that your endpoints keep in a world.
 *
 * @throws RangeError for a kind that it cannot have, and for a field or a status that the schema of the record lacks
 * @example
 * const pods = recordTable({ kind: 'pod', record: Pod, key: 'id', status: 'desiredStatus', ended: ['TERMINATED'] })
 */
export function recordTable<R extends object>(table: RecordTable<R>): RecordTable<R> {
  assertKnownKeys(table, TABLE_FIELDS, 'Failed to declare a table', { noun: 'field' })
  const { kind, record, key, status, ended, usdPerHour = key } = table
  assertKind(kind)
  const problem = (reason: string) => new RangeError(`Failed to declare the table '${kind}': ${reason}`)
  if (typeof record !== 'object' || record === null || !('_zod' in record)) {
    throw problem('its record is not a schema of zod 4. Give one, as in z.object({ … }).')
  }
  const json = attempt(() => z.toJSONSchema(record as unknown as z.ZodType, { unrepresentable: 'any' }))
  if ((json?.type ?? 'object') !== 'object') {
    throw problem(`its record is of the type ${json!.type}. Give a schema of an object, as in z.object({ … }).`)
  }
  const { shape } = record as { readonly shape?: Readonly<Record<string, z.ZodType>> }
  for (const [role, field] of Object.entries({ key, status, usdPerHour })) {
    if (typeof field !== 'string') throw problem(`${role} is ${quote(field)}. Give the name of a field of its record.`)
    if (shape === undefined || Object.hasOwn(shape, field)) continue
    const advice = formatSuggestion(field, Object.keys(shape), 'Add it to the schema.')
    throw problem(`${role} is '${field}', a field that its record lacks. ${advice}`)
  }
  const keyType = (json?.properties?.[key] as { readonly type?: string } | undefined)?.type ?? 'string'
  if (keyType !== 'string') throw problem(`key is '${key}', whose values are not texts. Give a field with texts.`)
  if (!Array.isArray(ended) || ended.some(one => typeof one !== 'string')) {
    throw problem(`ended is ${quote(ended)}. Give a list of texts.`)
  }
  const statuses = [...(shape?.[status]?._zod.values ?? ended)].map(String)
  for (const one of ended) {
    if (statuses.includes(one)) continue
    const advice = formatSuggestion(one, statuses, `Give some of ${statuses.join(', ')}.`)
    throw problem(`ended has '${one}', and ${status} is never that. ${advice}`)
  }
  return table
}

function assertKind(kind: string): void {
  if (typeof kind === 'string' && RECORD_KIND.test(kind) && !PROVIDER_KINDS.test(kind)) return
  throw new RangeError(
    `Failed to use the table '${kind}': its kind is not one word, or the provider uses it. Give the table another kind.`,
  )
}

/** A change that a record undergoes on its own: some time after the change before it, it gets these fields. */
export interface LaterChange<R> {
  readonly after: Duration
  readonly set: Partial<R>
}

/** The records of one table. */
export interface Records<R extends object> {
  get(key: string): Readonly<R> | undefined
  /** Returns the records in the order of their slots. */
  all(): Readonly<R>[]
  /**
   * Adds a record, or replaces the one with its key and cancels the changes that were planned for that one.
   *
   * @param later what becomes of the record if nothing else changes it
   * @throws RangeError for a record that does not match the schema
   */
  put(record: R, ...later: readonly LaterChange<R>[]): Readonly<R>
  /** Removes a record. Returns false if it does not exist. */
  delete(key: string): boolean
  /** Returns an unused id: the kind, an underscore and 16 letters and digits. Equal names get other ids. */
  newId(name: string): string
}

interface RecordState {
  readonly value: object
  readonly status: string
  readonly hasEnded: boolean
  /** Its price an hour. 0: it costs nothing. */
  readonly cents: number
}

interface PlannedChange extends RecordState {
  readonly after: Micros
}

/** A record of a user's table. Its id is the key. */
export class OwnRecordRow extends Row {
  declare readonly kind: string
  value = this.reference<object>({})
  status = this.reference('')
  later = this.reference<readonly PlannedChange[]>([])
  /** How many of them have happened. */
  happened = this.int32(0)
  hasEnded = this.boolean(false)
  /** The event of the next change. */
  change = this.number(0)
  cents = this.number(0)
  /** -1: it never cost anything. */
  meter = this.int32(-1)

  constructor(generation: Generation, id: string, initial: { readonly kind: string }) {
    super(generation, id)
    this.kind = this.reference(initial.kind)
  }
}

/** The records of the tables of a user's endpoints. */
export class OwnRecords extends TablePart<OwnRecordRow, LedgerParts> {
  protected readonly table = this.tableOf(OwnRecordRow)
  readonly #ordinals = new LayeredMap<number>()
  /** The declarations of the tables that were used. They have functions, so a snapshot has none of them. */
  #declared = new Map<string, RecordTable>()
  /** The kinds of records that there were. */
  #kinds: readonly string[] = []
  #isCutOff = false

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#ordinals.archive(archive)
    this.#declared = archive.cache(this.#declared)
    this.#kinds = archive.value(this.#kinds)
    this.#isCutOff = archive.value(this.#isCutOff)
  }

  /** The declarations of the tables that were used, by kind. */
  get declared(): ReadonlyMap<string, RecordTable> {
    return this.#declared
  }

  /** Returns the row of a record, of any table if `kind` is missing. */
  findRow(key: string, kind?: string): Readonly<OwnRecordRow> | undefined {
    if (kind !== undefined) {
      const ordinal = this.#ordinals.get(toName(kind, key))
      return ordinal === undefined ? undefined : this.table.read(ordinal)
    }
    return this.#kinds.map(one => this.findRow(key, one)).find(row => row !== undefined)
  }

  /** @throws RangeError if another table or the provider has this kind */
  of<R extends object>(declared: RecordTable<R>): Records<R> {
    const { kind } = declared ?? {}
    if (kind === undefined) {
      throw new RangeError(
        `Failed to use a table: ${quote(declared)} is not one. Give the result of recordTable({ … }).`,
      )
    }
    assertKind(kind)
    const known = this.#declared.get(kind)
    if (known !== undefined && known !== (declared as unknown)) {
      throw new RangeError(
        `Failed to use the table '${kind}': another call of recordTable has this kind. Call it once, or give another kind.`,
      )
    }
    this.#declared.set(kind, declared as unknown as RecordTable)
    return {
      get: key => this.findRow(key, kind)?.value as R | undefined,
      all: () => [...this.entries()].flatMap(([, row]) => (row.kind === kind ? [row.value as R] : [])),
      put: (record, ...later) => this.#put(declared, record, later),
      delete: key => this.#delete(kind, key),
      newId: name => {
        if (typeof name !== 'string') {
          throw new RangeError(`Failed to make an id of a ${kind}: its name is ${quote(name)}. Give a text.`)
        }
        return `${kind}_${this.context.chance.letters(16, this.context.newKey(`own.${kind}`, name), ID)}`
      },
    }
  }

  onEvent(event: 'ownRecord.changeDue', ordinal: number, use: number): void {
    if (this.table.useCount(ordinal) !== use) throw new Error(`Failed to fire ${event}: its record has gone.`)
    const row = this.writable(ordinal)
    this.#change(ordinal, row, row.later[row.happened]!, row.later, row.happened + 1)
  }

  /** Ends the prices of all records while the account is cut off. */
  setCutOff(isCutOff: boolean): void {
    this.#isCutOff = isCutOff
    for (const [, row] of this.entries()) this.#bill(row)
  }

  /** Deletes all records, because the account is deleted. */
  deleteAll(): void {
    for (const [, { kind, id }] of [...this.entries()]) this.#delete(kind, id)
  }

  #put<R extends object>(declared: RecordTable<R>, record: R, later: readonly LaterChange<R>[]): Readonly<R> {
    const first = parse(declared, record)
    const { kind } = declared
    const key = String(first[declared.key])
    let value = first
    const planned = later.map(change => {
      assertKnownKeys(change, ['after', 'set'], `Failed to put a ${kind}: a later change`, { noun: 'field' })
      const { after, set } = change
      value = parse(declared, { ...value, ...set })
      // A field that the schema drops would change nothing.
      const known = new Set([...knownKeysAt(declared.record as unknown as z.ZodType, value, []), ...Object.keys(value)])
      assertKnownKeys(set, [...known], `Failed to put a ${kind}: the 'set' of a later change`, {
        noun: 'field',
      })
      if (String(value[declared.key]) !== key) {
        throw new RangeError(
          `Failed to put a ${kind}: the 'set' of a later change has another ${declared.key}. Leave ${declared.key} out of 'set'.`,
        )
      }
      return { ...stateOf(declared, value), after: micros(after) }
    })
    const state = stateOf(declared, first)
    const name = toName(kind, key)
    let ordinal = this.#ordinals.get(name)
    if (ordinal === undefined) {
      const row = new OwnRecordRow(this.table.generation, key, { kind })
      ordinal = this.table.add(row)
      this.#ordinals.set(name, ordinal)
      if (!this.#kinds.includes(kind)) this.#kinds = [...this.#kinds, kind]
    }
    this.#change(ordinal, this.writable(ordinal), state, planned)
    return first
  }

  #change(ordinal: number, row: OwnRecordRow, state: RecordState, later: readonly PlannedChange[], happened = 0): void {
    const isNew = row.status === ''
    row.value = state.value
    row.status = state.status
    row.hasEnded = state.hasEnded
    this.#plan(ordinal, row, later, happened)
    if (state.cents !== row.cents) {
      if (row.meter >= 0) this.parts.ledger.setUnits(row.meter, 0)
      row.cents = state.cents
      row.meter = this.parts.ledger.meters.openMachine(row.id, row.kind, row.cents)
    }
    this.#bill(row)
    const { name } = row.value as { readonly name?: unknown }
    const fields = { kind: row.kind, status: row.status, ...(typeof name === 'string' && { name }) }
    this.context.record(row, isNew ? 'ownRecord.created' : 'ownRecord.changed', fields)
    this.context.markVisibleChange()
  }

  #bill({ meter, cents, hasEnded }: Readonly<OwnRecordRow>): void {
    if (meter >= 0) this.parts.ledger.setUnits(meter, cents === 0 || hasEnded || this.#isCutOff ? 0 : 1)
  }

  #plan(ordinal: number, row: OwnRecordRow, later: readonly PlannedChange[], happened = 0): void {
    this.context.cancel(row.change)
    row.later = later
    row.happened = happened
    const next = later[happened]
    const use = this.table.useCount(ordinal)
    row.change = next ? this.context.schedule(next.after, 'ownRecord.changeDue', ordinal, use) : 0
  }

  #delete(kind: string, key: string): boolean {
    const ordinal = this.#ordinals.get(toName(kind, key))
    if (ordinal === undefined) return false
    const row = this.writable(ordinal)
    this.#plan(ordinal, row, [])
    if (row.meter >= 0) this.parts.ledger.setUnits(row.meter, 0)
    this.context.record(row, 'ownRecord.deleted', { kind })
    this.context.markVisibleChange()
    this.#ordinals.delete(toName(kind, key))
    this.table.remove(ordinal)
    return true
  }
}

function toName(kind: string, key: string): string {
  return `${kind} ${key}`
}

/** @throws RangeError for an invalid price */
function stateOf<R extends object>({ kind, status: field, ended, usdPerHour }: RecordTable<R>, value: R): RecordState {
  const status = String(value[field])
  const price: unknown = (usdPerHour && value[usdPerHour]) ?? 0
  const usd = typeof price === 'string' && /^\d+(?:\.\d+)?$/.test(price) ? Number(price) : price
  if (typeof usd === 'number' && usd >= 0 && usd <= 1e6) {
    return { value, status, hasEnded: ended.includes(status), cents: usd * 100 }
  }
  const advice = "Give dollars an hour, from 0 to 1,000,000: a number, or a text such as '1.99'."
  throw new RangeError(`Failed to put a ${kind}: ${usdPerHour} is ${quote(price)}. ${advice}`)
}

function parse<R extends object>({ kind, record: given }: RecordTable<R>, record: R): R {
  const schema = given as z.ZodType<R>
  const checked = parseOwnFields(schema, record)
  if (checked.success) return deepFreeze(checked.data)
  throw new RangeError(`Failed to put a ${kind}: ${describeProblems(schema, record, checked.error)}`)
}
