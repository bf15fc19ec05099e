/**
 * The reference data of one world: the offers of the service and the records of the account. Records are frozen. A
 * write replaces a record, so worlds can share them.
 */
import type * as z from 'zod'
import type { Account, ApiToken, SshKey, Voice } from '../data/records/account.ts'
import * as account from '../data/records/account.ts'
import type {
  AggregatorModel,
  CatalogModel,
  HubRepository,
  ModelHardware,
  ModelSchema,
} from '../data/records/catalog.ts'
import * as catalog from '../data/records/catalog.ts'
import type { ModelTask, VariantKey } from '../data/records/enums.ts'
import type { Fixture } from '../data/records/fixture.ts'
import type { HostedPlan } from '../data/records/machines.ts'
import * as machines from '../data/records/machines.ts'
import type { Archive } from '../kernel/archive.ts'
import { deepFreeze } from '../lib/fields.ts'
import { groupBy } from '../lib/lists.ts'
import { oncePer } from '../lib/once.ts'
import { isCredential } from '../lib/text/secrets.ts'
import { describeProblems } from '../lib/zod-problems.ts'

/** A change of an index, reported after the change. `record` is the new record. After a delete it is undefined. */
export interface IndexWrite<R> {
  action: 'create' | 'update' | 'delete'
  key: string
  record: R | undefined
  /** The `origin` argument of `put` or `delete`. A listener uses it to ignore its own writes. */
  origin: unknown
}

export type IndexListener<R> = (write: IndexWrite<R>) => void

/** The kind of an index: the word for one record, its schema, its key and its unique field. */
export interface IndexOptions<R> {
  /** The word for one record in errors, e.g. `voice`. */
  kind: string
  schema: () => z.ZodType<R>
  keyOf: (record: R) => string
  /** A second field whose value is unique. */
  unique?: { field: string; of: (record: R) => string }
}

/** A record or a key that an index rejects. */
export class IndexError extends Error {
  override readonly name = 'IndexError'
}

/**
 * Frozen records of one kind by key, in the order of arrival.
 *
 * @example
 * const voices = new Index({ kind: 'voice', schema: () => Voice, keyOf: voice => voice.voice_id }, fixture.voices)
 * voices.get('voice_ada')?.name
 */
export class Index<R extends object> {
  readonly options: IndexOptions<R>
  #records: Map<string, R>
  /** Whether a fork holds the same map, so that the next write copies it first. */
  #shared = false
  #all: readonly R[] | undefined
  #byUnique: { of: readonly R[]; records: Map<string, R> } | undefined
  readonly #listeners = new Set<IndexListener<R>>()

  /** @param records records that already match the schema. The constructor freezes them. */
  constructor(options: IndexOptions<R>, records: Iterable<R> = []) {
    this.options = options
    this.#records = new Map()
    for (const record of records) this.#records.set(options.keyOf(record), deepFreeze(record))
  }

  get size(): number {
    return this.#records.size
  }

  get(key: string): R | undefined {
    return this.#records.get(key)
  }

  has(key: string): boolean {
    return this.#records.has(key)
  }

  /** Returns every record in the order of arrival. The array is the same until the next write. */
  all(): readonly R[] {
    this.#all ??= Object.freeze([...this.#records.values()])
    return this.#all
  }

  /**
   * Returns the record with this value of the unique field. Undefined: the value is unknown, or the kind has no such
   * field.
   */
  getByUnique(value: string): R | undefined {
    const { unique } = this.options
    if (unique === undefined) return undefined
    const all = this.all()
    if (this.#byUnique?.of !== all) {
      this.#byUnique = { of: all, records: new Map(all.map(record => [unique.of(record), record])) }
    }
    return this.#byUnique.records.get(value)
  }

  /**
   * Adds a record, or replaces the record with its key. Returns the stored record: checked, completed, frozen.
   *
   * @param origin passed to the listeners
   * @throws IndexError without a change, if the record does not match the schema or another record has its unique value
   */
  put(record: R, origin?: unknown): R {
    const { kind, keyOf, unique } = this.options
    const schema = this.options.schema()
    const checked = schema.safeParse(record)
    if (!checked.success) {
      throw new IndexError(`Failed to put a ${kind}: ${describeProblems(schema, record, checked.error)}`)
    }
    const stored = deepFreeze(checked.data)
    const key = keyOf(stored)
    const holder = unique && this.getByUnique(unique.of(stored))
    if (holder !== undefined && keyOf(holder) !== key) {
      throw new IndexError(
        `Failed to put ${kind} '${key}': ${kind} '${keyOf(holder)}' has the same ${unique?.field}. Give it another.`,
      )
    }
    const action = this.#records.has(key) ? 'update' : 'create'
    this.#writableRecords().set(key, stored)
    this.#notify({ action, key, record: stored, origin })
    return stored
  }

  /** Removes a record. Returns false if it does not exist. */
  delete(key: string, origin?: unknown): boolean {
    if (!this.#records.has(key)) return false
    this.#writableRecords().delete(key)
    this.#notify({ action: 'delete', key, record: undefined, origin })
    return true
  }

  /**
   * Calls the listener after each write to this index, but not to a fork of it. Returns a function that removes the
   * listener.
   */
  onWrite(listener: IndexListener<R>): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  archive(archive: Archive): void {
    this.#records = archive.value(this.#records)
    this.#shared = archive.value(this.#shared)
    for (const record of this.#records.values()) deepFreeze(record)
    this.#all = undefined
    this.#byUnique = undefined
  }

  /** Returns an independent index with the same records and no listeners. O(1): either side copies before it writes. */
  fork(): Index<R> {
    const fork = new Index(this.options)
    fork.#records = this.#records
    fork.#all = this.#all
    fork.#byUnique = this.#byUnique
    fork.#shared = true
    this.#shared = true
    return fork
  }

  #writableRecords(): Map<string, R> {
    if (this.#shared) {
      this.#records = new Map(this.#records)
      this.#shared = false
    }
    this.#all = undefined
    this.#byUnique = undefined
    return this.#records
  }

  #notify(write: IndexWrite<R>): void {
    for (const listener of this.#listeners) listener(write)
  }
}

/** Returns the key of a model schema in `store.schemas`. */
export function schemaKey(type: ModelTask, variant: VariantKey): string {
  return `${type} ${variant}`
}

/**
 * The reference data of one world in indexes.
 *
 * @example
 * const store = new Store(loadFixture('default'))
 * store.models.get('aurora-labs/aurora-8b-instruct')?.max_tokens
 */
export class Store {
  #account: Readonly<Account>
  #hubPolicy: 'estimate' | 'refuse' | undefined
  #images: readonly string[]
  /** By token_id. */
  declare readonly tokens: Index<ApiToken>
  /** The public catalog by model_name. */
  declare readonly models: Index<CatalogModel>
  /** By model_name. */
  declare readonly hardware: Index<ModelHardware>
  /** By `schemaKey(type, variant)`. */
  declare readonly schemas: Index<ModelSchema>
  /** By id. */
  declare readonly aggregator: Index<AggregatorModel>
  /** Repositories of the hub by repo. */
  declare readonly hub: Index<HubRepository>
  /** By voice_id. */
  declare readonly voices: Index<Voice>
  /** By id. */
  declare readonly sshKeys: Index<SshKey>
  /** Plans of hosted instances by id. */
  declare readonly plans: Index<HostedPlan>

  /** @param origin a loaded fixture, or the store to fork */
  constructor(origin: Fixture | Store) {
    this.#account = deepFreeze(origin.account)
    this.#hubPolicy = origin instanceof Store ? origin.hubPolicy : origin.hub.policy
    this.#images = origin instanceof Store ? origin.images : origin.hub.images
    const indexes = this as Record<(typeof INDEX_NAMES)[number], unknown>
    const records = origin instanceof Store ? undefined : recordsOf(origin)
    for (const name of INDEX_NAMES) {
      indexes[name] = records
        ? new Index<object>(INDEXES[name] as IndexOptions<object>, records[name])
        : (origin as Store)[name].fork()
    }
  }

  /** The account of the fixture, with funds, GPU quotas and top-up at the epoch. */
  get account(): Readonly<Account> {
    return this.#account
  }

  /** Replaces fields of the account. The caller has validated them. */
  editAccount(changes: Partial<Account>): void {
    this.#account = deepFreeze({ ...this.#account, ...changes })
  }

  /** The policy of the fixture for repositories that it does not list; undefined if it has none. */
  get hubPolicy(): 'estimate' | 'refuse' | undefined {
    return this.#hubPolicy
  }

  /** The container images of the fixture. A name that ends with an asterisk has every image below it. */
  get images(): readonly string[] {
    return this.#images
  }

  archive(archive: Archive): void {
    this.#account = deepFreeze(archive.value(this.#account))
    this.#hubPolicy = archive.value(this.#hubPolicy)
    this.#images = archive.value(this.#images)
    for (const name of INDEX_NAMES) this[name].archive(archive)
  }

  tokenByValue(value: string): ApiToken | undefined {
    return this.tokens.getByUnique(value) ?? this.tokens.all().find(({ token }) => isCredential(token, value))
  }

  /** Returns the schema of a variant for models of a type. Undefined: the type does not offer it. */
  schema(type: ModelTask, variant: VariantKey): ModelSchema | undefined {
    return this.schemas.get(schemaKey(type, variant))
  }

  /** Returns the variants that models of a type offer, in the order of the fixture. */
  variantsOf(type: ModelTask): readonly VariantKey[] {
    return (variantsByType(this.schemas.all()).get(type) ?? []).map(({ variant }) => variant)
  }

  /** Returns an independent store with the same records. O(1): either side copies an index before it writes to it. */
  fork(): Store {
    return new Store(this)
  }
}

/** The variants of each type of models. A list of schemas never changes. */
const variantsByType = oncePer((schemas: readonly ModelSchema[]) => groupBy(schemas, ({ type }) => type))

/** Declares an index: the word for a record, its schema, and the field of its key. */
function index<R extends object>(kind: string, schema: () => z.ZodType<R>, key: keyof R & string): IndexOptions<R> {
  return { kind, schema, keyOf: record => String(record[key]) }
}

/** The indexes in the order of their archive. */
const INDEXES = {
  tokens: {
    ...index('token', () => account.ApiToken, 'token_id'),
    unique: { field: 'token value', of: ({ token }: ApiToken) => token },
  },
  models: index('model', () => catalog.CatalogModel, 'model_name'),
  hardware: index('hardware entry', () => catalog.ModelHardware, 'model_name'),
  schemas: {
    ...index('model schema', () => catalog.ModelSchema, 'variant'),
    keyOf: ({ type, variant }: ModelSchema) => schemaKey(type, variant),
  },
  aggregator: index('aggregator entry', () => catalog.AggregatorModel, 'id'),
  hub: index('hub repository', () => catalog.HubRepository, 'repo'),
  voices: index('voice', () => account.Voice, 'voice_id'),
  sshKeys: {
    ...index('SSH key', () => account.SshKey, 'id'),
    unique: { field: 'name', of: ({ name }: SshKey) => name },
  },
  plans: index('plan', () => machines.HostedPlan, 'id'),
}
const INDEX_NAMES = Object.keys(INDEXES) as (keyof typeof INDEXES)[]

/** Returns the records of each index of a fixture. */
function recordsOf({ api_tokens, hub, ssh_keys, ...fixture }: Fixture) {
  return { ...fixture, tokens: api_tokens, hub: hub.repositories, sshKeys: ssh_keys }
}
