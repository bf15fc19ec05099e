import { calibrated, ENGINE_CLASSES } from '../../data/engine-classes.ts'
import { purpose } from '../../kernel/random.ts'
import { hashCredential } from '../../lib/text/secrets.ts'
import type { Ledger } from '../account/ledger.ts'
import { catalogWeights, repositoryWeights } from '../fleet/weights.ts'
import { Part } from '../part.ts'
import type { UsageHistory } from '../recording/history.ts'
import {
  type DeployedWeights,
  type DeploymentPlan,
  DeploymentRow,
  EMPTY_LIST,
  type FixtureIdentity,
  type LlmSpec,
} from './deployment-row.ts'
import type { DeploymentTable } from './deployment-table.ts'
import { engineClassOf } from './instance-speed.ts'
import type { AccountModels } from './model-versions.ts'

const ID = purpose('deployment.id')

/** A plan without the fields that the creation sets. */
export type NewDeploymentPlan = Omit<DeploymentPlan, 'key' | 'nth' | 'version' | 'createdAt' | 'constants'>

/** The parts below that it uses. */
export interface DeploymentCreationParts {
  readonly ledger: Ledger
  readonly history: UsageHistory
  readonly modelVersions: AccountModels
}

/** The creation of deployments: their identity, version, weights and meter. */
export class DeploymentCreation extends Part<DeploymentCreationParts, unknown, DeploymentTable> {
  #lastWeights: DeployedWeights | undefined

  /** Adds a deployment that does not start. */
  add(spec: LlmSpec, identity: FixtureIdentity): number {
    const ordinal = this.insert(
      {
        modelName: spec.model_name,
        task: identity.task ?? spec.task ?? 'text-generation',
        type: identity.type ?? spec.type ?? 'llm',
        // A fixture has references to the catalog under these types, which run on GPUs of the provider.
        hasInstances: identity.type === undefined || identity.type === 'llm',
        gpu: spec.gpu,
        numGpus: spec.num_gpus,
        maxBatchSize: spec.max_batch_size,
        weights: this.#shareWeights(this.#weightsOf(spec, identity)),
        containerImage: spec.container_image ?? '',
        extraArgs: spec.extra_args ?? EMPTY_LIST,
        base: -2,
        baseModel: spec.base_model ?? '',
        modelhubUrl: '',
      },
      spec.version === undefined ? identity : { ...identity, version: spec.version },
    )
    const row = this.owner.writable(ordinal)
    row.minInstances = spec.min_instances
    row.maxInstances = spec.max_instances
    if (row.plan.hasInstances) {
      row.meter = this.parts.ledger.meters.openGpus(row.id, 'deployment', spec.gpu, spec.num_gpus)
    }
    this.context.record(row, 'deployment.created', {
      model_name: spec.model_name,
      gpu: spec.gpu,
      num_gpus: spec.num_gpus,
    })
    return ordinal
  }

  /** Adds the row of a deployment or an adapter. Returns its ordinal. */
  insert(plan: NewDeploymentPlan, identity: FixtureIdentity): number {
    const { chance } = this.context
    const nth = this.owner.countOf(plan.modelName)
    const key = chance.key('deployment', plan.modelName, nth)
    const id = identity.deploy_id ?? chance.letters(16, key, ID)
    const catalogModel = this.context.store.models.get(plan.modelName)
    const version = catalogModel
      ? (identity.version ?? catalogModel.versions[catalogModel.versions.length - 1] ?? '')
      : this.parts.modelVersions.addVersion(plan.modelName, plan.task, plan.type, identity.version)
    // Field by field: a spread would double the time of a creation without its request.
    const fixedPlan: DeploymentPlan = {
      key,
      modelName: plan.modelName,
      nth,
      version,
      task: plan.task,
      type: plan.type,
      hasInstances: plan.hasInstances,
      createdAt: identity.created_at ?? this.context.clock.now,
      gpu: plan.gpu,
      numGpus: plan.numGpus,
      maxBatchSize: plan.maxBatchSize,
      weights: plan.weights,
      containerImage: plan.containerImage,
      extraArgs: plan.extraArgs,
      constants: calibrated(ENGINE_CLASSES[engineClassOf(plan)], this.context.profile.engine),
      base: plan.base,
      baseModel: plan.baseModel,
      modelhubUrl: plan.modelhubUrl,
    }
    const updatedAt = identity.updated_at ?? fixedPlan.createdAt
    const row = new DeploymentRow(this.owner.generation, id, { plan: fixedPlan, updatedAt })
    const ordinal = this.owner.addRow(row)
    this.parts.history.onStatusChanged(row)
    this.context.markVisibleChange()
    return ordinal
  }

  /** Returns the weights of the last creation if these are equal, so that deployments of one model share an object. */
  #shareWeights(weights: DeployedWeights): DeployedWeights {
    const last = this.#lastWeights
    const fields = Object.keys(weights) as (keyof DeployedWeights)[]
    if (last === undefined || fields.some(field => last[field] !== weights[field])) this.#lastWeights = weights
    return this.#lastWeights!
  }

  #weightsOf(spec: LlmSpec, identity: FixtureIdentity): DeployedWeights {
    const { store } = this.context
    const sourceOf = (repo: string) =>
      identity.type !== undefined && store.hub.get(repo) === undefined ? 'fixture' : 'hub'
    if (spec.weights) {
      const { repo, revision, token } = spec.weights
      // Snapshots and recordings hold no credential: a hash tells the same tokens apart.
      const hash = token === '' ? '' : hashCredential(token)
      return { source: sourceOf(repo), repo, revision, token: hash, ...repositoryWeights(store.hub.get(repo), repo) }
    }
    const base = spec.base_model === undefined ? undefined : store.models.get(spec.base_model)
    const repo = spec.base_model ?? spec.model_name
    if (!base) {
      return {
        source: sourceOf(repo),
        repo,
        revision: 'main',
        token: '',
        ...repositoryWeights(store.hub.get(repo), repo),
      }
    }
    const revision = spec.version ?? base.versions[base.versions.length - 1] ?? ''
    return { source: 'catalog', repo, revision, token: '', ...catalogWeights(base, store.hub.get(repo)) }
  }
}
