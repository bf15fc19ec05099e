import type { DeploymentStatus } from '../../data/records/enums.ts'
import type { Archive } from '../../kernel/archive.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import type { Generation } from '../../kernel/row.ts'
import { IndexedPart } from '../part.ts'
import { DeploymentRow, isTerminal } from './deployment-row.ts'

/** The rows of the deployments, their lookup by id and by name, and their records. */
export class DeploymentTable<Parts = unknown, Ports = unknown> extends IndexedPart<DeploymentRow, Parts, Ports> {
  protected readonly table = this.tableOf(DeploymentRow)
  /** The newest deployment of each model name: its ordinal, or `~ordinal` if it was deleted. */
  readonly #newestByName = new LayeredMap<number>()
  /** The JSON text of each record, until a visible change. */
  #jsonCache: (string | undefined)[] = []

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#newestByName.archive(archive)
    this.#jsonCache = archive.cache(this.#jsonCache)
  }

  get generation(): Generation {
    return this.table.generation
  }

  liveOrdinalOf(modelName: string): number | undefined {
    const newest = this.#newestByName.get(modelName)
    return newest === undefined || newest < 0 ? undefined : newest
  }

  /** Returns how many deployments of this name there were. */
  countOf(modelName: string): number {
    const newest = this.#newestByName.get(modelName)
    return newest === undefined ? 0 : this.table.read(newest < 0 ? ~newest : newest).plan.nth + 1
  }

  /** Adds a row. Its id and its model name lead to it from now on. */
  override addRow(row: DeploymentRow): number {
    const ordinal = super.addRow(row)
    this.#newestByName.set(row.plan.modelName, ordinal)
    return ordinal
  }

  /** Frees the model name of a deleted deployment. */
  releaseName(ordinal: number, modelName: string): void {
    if (this.#newestByName.get(modelName) === ordinal) this.#newestByName.set(modelName, ~ordinal)
  }

  /** Returns the ordinals in the order of their creation. Default: all statuses but `deleted`. */
  listOrdinals(statuses?: ReadonlySet<DeploymentStatus>): number[] {
    const listed: { ordinal: number; row: Readonly<DeploymentRow> }[] = []
    for (const [ordinal, row] of this.table.entries()) {
      if (statuses ? statuses.has(row.status) : row.status !== 'deleted') listed.push({ ordinal, row })
    }
    listed.sort((a, b) => a.row.plan.createdAt - b.row.plan.createdAt)
    return listed.map(({ ordinal }) => ordinal)
  }

  /** Drops the cached record after a change that a client can see. */
  onVisibleChange(ordinal: number): void {
    this.#jsonCache[ordinal] = undefined
    this.context.markVisibleChange()
  }

  /** Returns the cached JSON text of a record, for the invariant checker; undefined if none is cached. */
  cachedJson(ordinal: number): string | undefined {
    return this.#jsonCache[ordinal]
  }

  /** Returns the JSON text of a record, and keeps it. */
  toJson(ordinal: number): string {
    let text = this.#jsonCache[ordinal]
    if (text === undefined) {
      text = this.toText(ordinal)
      this.#jsonCache[ordinal] = text
    }
    return text
  }

  /** Returns the JSON text of a record without keeping it. */
  toText(ordinal: number): string {
    return JSON.stringify(this.toRecord(ordinal))
  }

  /** Returns the deployment record of the interface document (2.3). */
  toRecord(ordinal: number) {
    const { clock } = this.context
    const row = this.table.read(ordinal)
    const { plan } = row
    const { repo, revision, token } = plan.weights
    return {
      deploy_id: row.id,
      model_name: plan.modelName,
      version: plan.version,
      task: plan.task,
      status: row.status,
      fail_reason: row.failReason,
      created_at: clock.iso(plan.createdAt),
      updated_at: clock.iso(row.updatedAt),
      type: plan.type,
      instances: reportedInstances(row),
      ...((plan.hasInstances || plan.type === 'lora') && {
        config: {
          gpu: plan.gpu,
          num_gpus: plan.numGpus,
          max_batch_size: plan.maxBatchSize,
          weights: { repo, revision, token: token === '' ? '' : '********' },
        },
        settings: { min_instances: row.minInstances, max_instances: row.maxInstances },
      }),
    }
  }
}

/** Returns the instances as the record shows them. An adapter has no instances of its own and counts as one. */
function reportedInstances(row: Readonly<DeploymentRow>): { running: number; pending: number } {
  if (row.plan.base === -2) return { running: row.reportedRunning, pending: row.reportedPending }
  const running = row.status === 'running' ? 1 : 0
  return { running, pending: running === 0 && !isTerminal(row.status) ? 1 : 0 }
}
