import { Layers } from '../kernel/layers.ts'
import { purpose } from '../kernel/random.ts'
import { type Generation, Row, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import type { DeploymentType, ModelTask } from '../store/records.ts'
import type { World } from './world.ts'

const VERSION = purpose('model.version')

/** A model the account made by deploying it: its versions, oldest first. */
export class OwnModelRow extends Row {
  readonly task: ModelTask
  readonly type: DeploymentType
  versions: readonly string[] = []

  constructor(generation: Generation, id: string, task: ModelTask, type: DeploymentType) {
    super(generation, id)
    this.task = task
    this.type = type
  }

  copy(generation: Generation): OwnModelRow {
    const copy = new OwnModelRow(generation, this.id, this.task, this.type)
    copy.versions = this.versions
    return copy.takeHash(this)
  }
}

/** A model of the account, to read. */
export interface OwnModel {
  readonly model_name: string
  readonly task: ModelTask
  readonly type: DeploymentType
  readonly versions: readonly string[]
}

/** The account's own models: each deployment makes a version of one. A model without versions is gone. */
export class OwnModels {
  readonly #world: World
  readonly #table: Table<OwnModelRow>
  readonly #byName: Layers<number>

  constructor(world: World, from?: { table: Table<OwnModelRow>; models: OwnModels }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#byName = from ? from.models.#byName.fork() : new Layers()
  }

  fork(world: World, theirs: Generation): OwnModels {
    return new OwnModels(world, { table: this.#table.fork(theirs, world.generation), models: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#byName.keep(tape)
  }

  /** The account's model of this name, while it has a version. */
  own(modelName: string): OwnModel | undefined {
    const ordinal = this.#byName.get(modelName)
    const row = ordinal === undefined ? undefined : this.#table.read(ordinal)
    return row && row.versions.length > 0 ? view(row) : undefined
  }

  /** By name. */
  listOwn(): OwnModel[] {
    return [...this.#table.entries()]
      .filter(([, row]) => row.versions.length > 0)
      .map(([, row]) => view(row))
      .sort((a, b) => (a.model_name < b.model_name ? -1 : 1))
  }

  /** Adds a version, drawn unless a fixture gives it, and returns it. */
  addVersion(modelName: string, task: ModelTask, type: DeploymentType, given?: string): string {
    const world = this.#world
    const version = given ?? world.chance.hex(64, world.newKey('version', modelName), VERSION)
    const known = this.#byName.get(modelName)
    const ordinal = known ?? this.#table.add(new OwnModelRow(this.#table.generation, modelName, task, type))
    if (known === undefined) this.#byName.set(modelName, ordinal)
    const row = this.#table.own(ordinal)
    row.versions = [...row.versions, version]
    world.happened(row, 'model.versionAdded', { version: version.slice(0, 8) })
    return version
  }

  /** Removes a version, or `ALL`; what runs one of them is deleted. */
  remove(modelName: string, version: string): void {
    const world = this.#world
    const ordinal = this.#byName.get(modelName)
    if (ordinal === undefined) return
    const row = this.#table.own(ordinal)
    const removed = version === 'ALL' ? row.versions : row.versions.filter(one => one === version)
    row.versions = row.versions.filter(one => !removed.includes(one))
    for (const one of removed) world.happened(row, 'model.versionRemoved', { version: one.slice(0, 8) })
    for (const deployment of world.deployments.list()) {
      if (deployment.model_name === modelName && removed.includes(deployment.version)) deployment.delete()
    }
    world.seen()
  }
}

function view(row: Readonly<OwnModelRow>): OwnModel {
  return { model_name: row.id, task: row.task, type: row.type, versions: row.versions }
}
