import type { DeploymentType, ModelTask } from '../../data/records/enums.ts'
import { purpose } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import { withItem } from '../../lib/lists.ts'
import { IndexedPart } from '../part.ts'

const VERSION = purpose('model.version')

const NO_DETAILS = Object.freeze({
  description: '',
  cover_img_url: '',
  /** Default: the task of the model. */
  reported_type: '',
  github_url: '',
  paper_url: '',
  license_url: '',
  readme: '',
})
/** What the account says of a model of its own. An empty text: nothing. */
export type ModelDetails = Readonly<Record<keyof typeof NO_DETAILS, string>>

const NO_VERSIONS: readonly string[] = Object.freeze([])

/** A model the account made by deploying it: its versions, oldest first. */
export class AccountModelRow extends Row {
  declare readonly task: ModelTask
  declare readonly type: DeploymentType
  versions = this.reference<readonly string[]>(NO_VERSIONS)
  /** Versions that were drawn for this name, removed ones included. The id of the next one depends on it. */
  drawnVersions = this.int32(0)
  /** Whether the lists of public models have it. */
  isPublic = this.boolean(false)
  details = this.reference<ModelDetails>(NO_DETAILS)

  constructor(generation: Generation, id: string, initial: Pick<AccountModelRow, 'task' | 'type'>) {
    super(generation, id)
    this.task = this.reference(initial.task)
    this.type = this.reference(initial.type)
  }
}

/** A model of the account, to read. */
export interface AccountModel {
  readonly model_name: string
  readonly task: ModelTask
  readonly type: DeploymentType
  readonly versions: readonly string[]
  readonly isPublic: boolean
  readonly details: ModelDetails
}

/** The account's own models: each deployment makes a version of one. A model without versions is gone. */
export class AccountModels extends IndexedPart<AccountModelRow> {
  protected readonly table = this.tableOf(AccountModelRow)

  /** The account's model of this name, while it has a version. */
  get(modelName: string): AccountModel | undefined {
    const row = this.findById(modelName)
    return row && row.versions.length > 0 ? toAccountModel(row) : undefined
  }

  /** Tells whether the account ever had a model of this name. */
  has(modelName: string): boolean {
    return this.ordinalOf(modelName) !== undefined
  }

  /** By name. */
  list(): AccountModel[] {
    return [...this.table.entries()]
      .filter(([, row]) => row.versions.length > 0)
      .map(([, row]) => toAccountModel(row))
      .sort((a, b) => (a.model_name < b.model_name ? -1 : 1))
  }

  /** Adds a version, drawn unless it is given, and returns it. A version that the model has is not added again. */
  addVersion(modelName: string, task: ModelTask, type: DeploymentType, givenVersion?: string): string {
    if (givenVersion !== undefined && this.get(modelName)?.versions.includes(givenVersion)) return givenVersion
    const row = this.table.writable(
      this.ordinalOf(modelName) ?? this.addRow(new AccountModelRow(this.table.generation, modelName, { task, type })),
    )
    const version = givenVersion ?? this.#drawVersion(row)
    row.versions = withItem(row.versions, version)
    this.context.record(row, 'model.versionAdded', { version: version.slice(0, 8) })
    return version
  }

  #drawVersion(row: AccountModelRow): string {
    const { chance } = this.context
    const key = chance.key('version', row.id, row.drawnVersions)
    row.drawnVersions++
    return chance.hex(64, key, VERSION)
  }

  /** Changes the visibility and the details of a model that has versions. */
  describe(modelName: string, isPublic: boolean, details: ModelDetails): void {
    const row = this.table.writable(this.ordinalOf(modelName)!)
    row.isPublic = isPublic
    row.details = details
    this.context.record(row, 'model.described', { public: isPublic })
  }

  /** Removes a version, or `ALL`, and returns what was removed. What runs one of them stays: `Deployments` deletes it. */
  removeVersions(modelName: string, version: string): readonly string[] {
    const ordinal = this.ordinalOf(modelName)
    if (ordinal === undefined) return []
    const row = this.table.writable(ordinal)
    const removed = version === 'ALL' ? row.versions : row.versions.filter(other => other === version)
    row.versions = row.versions.filter(other => !removed.includes(other))
    if (row.versions.length === 0) {
      row.isPublic = false
      row.details = NO_DETAILS
    }
    for (const id of removed) this.context.record(row, 'model.versionRemoved', { version: id.slice(0, 8) })
    return removed
  }
}

function toAccountModel(row: Readonly<AccountModelRow>): AccountModel {
  const { id: model_name, task, type, versions, isPublic, details } = row
  return { model_name, task, type, versions, isPublic, details }
}
