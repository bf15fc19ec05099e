import type { DeploymentType, ModelTask } from '../../data/records/records.ts'
import type { Archive } from '../../kernel/archive.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import { purpose } from '../../kernel/random.ts'
import { type Generation, Row, Table } from '../../kernel/table.ts'
import type { World } from '../world.ts'

const VERSION = purpose('model.version')

/** A model the account made by deploying it: its versions, oldest first. */
export class AccountModelRow extends Row {
  readonly task: ModelTask
  readonly type: DeploymentType
  versions: readonly string[] = []

  constructor(generation: Generation, id: string, task: ModelTask, type: DeploymentType) {
    super(generation, id)
    this.task = task
    this.type = type
  }

  copy(generation: Generation): AccountModelRow {
    const copy = new AccountModelRow(generation, this.id, this.task, this.type)
    copy.versions = this.versions
    return copy.takeHash(this)
  }
}

/** A model of the account, to read. */
export interface AccountModel {
  readonly model_name: string
  readonly task: ModelTask
  readonly type: DeploymentType
  readonly versions: readonly string[]
}

/** The account's own models: each deployment makes a version of one. A model without versions is gone. */
export class AccountModels {
  readonly #world: World
  readonly #table: Table<AccountModelRow>
  readonly #byName: LayeredMap<number>

  constructor(world: World, from?: { table: Table<AccountModelRow>; models: AccountModels }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#byName = from ? from.models.#byName.fork() : new LayeredMap()
  }

  fork(world: World, originGeneration: Generation): AccountModels {
    return new AccountModels(world, { table: this.#table.fork(originGeneration, world.generation), models: this })
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
    this.#byName.archive(archive)
  }

  /** The account's model of this name, while it has a version. */
  get(modelName: string): AccountModel | undefined {
    const ordinal = this.#byName.get(modelName)
    const row = ordinal === undefined ? undefined : this.#table.read(ordinal)
    return row && row.versions.length > 0 ? toAccountModel(row) : undefined
  }

  /** By name. */
  list(): AccountModel[] {
    return [...this.#table.entries()]
      .filter(([, row]) => row.versions.length > 0)
      .map(([, row]) => toAccountModel(row))
      .sort((a, b) => (a.model_name < b.model_name ? -1 : 1))
  }

  /** Adds a version, drawn unless a fixture gives it, and returns it. */
  addVersion(modelName: string, task: ModelTask, type: DeploymentType, fixtureVersion?: string): string {
    const world = this.#world
    const version = fixtureVersion ?? world.chance.hex(64, world.newKey('version', modelName), VERSION)
    const existingOrdinal = this.#byName.get(modelName)
    const ordinal =
      existingOrdinal ?? this.#table.add(new AccountModelRow(this.#table.generation, modelName, task, type))
    if (existingOrdinal === undefined) this.#byName.set(modelName, ordinal)
    const row = this.#table.writable(ordinal)
    row.versions = [...row.versions, version]
    world.record(row, 'model.versionAdded', { version: version.slice(0, 8) })
    return version
  }

  /** Removes a version, or `ALL`; what runs one of them is deleted. */
  removeVersions(modelName: string, version: string): void {
    const world = this.#world
    const ordinal = this.#byName.get(modelName)
    if (ordinal === undefined) return
    const row = this.#table.writable(ordinal)
    const removed = version === 'ALL' ? row.versions : row.versions.filter(one => one === version)
    row.versions = row.versions.filter(one => !removed.includes(one))
    for (const one of removed) world.record(row, 'model.versionRemoved', { version: one.slice(0, 8) })
    for (const deployment of world.deployments.list()) {
      if (deployment.model_name === modelName && removed.includes(deployment.version)) deployment.delete()
    }
    world.markVisibleChange()
  }
}

function toAccountModel(row: Readonly<AccountModelRow>): AccountModel {
  return { model_name: row.id, task: row.task, type: row.type, versions: row.versions }
}
