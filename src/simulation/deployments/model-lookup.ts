import type { Profile } from '../../data/profiles/load.ts'
import type { CatalogModel } from '../../data/records/catalog.ts'
import type { ModelTask } from '../../data/records/enums.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Store } from '../store.ts'
import type { Deployments } from './deployments.ts'

/** What the name of a model is looked up in. A world has it all. */
export interface ModelSources {
  readonly deployments: Deployments
  readonly store: Store
  readonly profile: Profile
  readonly clock: Pick<Clock, 'now' | 'unix'>
}

interface TargetBase {
  /** The whole name of what is asked for, however the request spells it. */
  readonly name: string
  readonly task: ModelTask
  /** Ordinal of the row that answers for it: it has to run. Undefined for a model of the catalog by its name. */
  readonly row: number | undefined
}

/** What requests for a model run on: capacity that is shared, or a deployment of the account's own. */
export type ModelTarget =
  | (TargetBase & {
      readonly kind: 'catalog'
      readonly model: string
      /** What its tokens cost, as a share of the model's own price. */
      readonly priceShare: number
      /** Ordinal of the adapter that is named; undefined for none. */
      readonly adapter: number | undefined
    })
  | (TargetBase & {
      readonly kind: 'own'
      /** Ordinal of the deployment whose instances serve. */
      readonly deployment: number
      readonly adapter: number | undefined
    })

const DEPLOY_ID_PREFIX = 'deploy_id:'

/** Returns whether a request names its deployment by id. */
export function isDeployId(model: string): boolean {
  return model.startsWith(DEPLOY_ID_PREFIX)
}

/** Returns whether a catalog model is deprecated now. Its date of deprecation can be in the future. */
export function isDeprecated({ deprecated }: CatalogModel, clock: ModelSources['clock']): boolean {
  return deprecated !== null && deprecated <= clock.unix(clock.now)
}

/**
 * Returns the target of a model name: a deployment of the account by name or as `deploy_id:<id>`, the base of an adapter,
 * or a current model of the catalog, by its name or by the id of the account's reference to it. A name can end with
 * `:` and a version of the model. Undefined for an unknown name, if no policy accepts it, for an unknown version, and
 * for a deleted deployment.
 *
 * @param acceptsDeprecated whether deprecated models of the catalog are targets too
 */
export function findModelTarget(
  sources: ModelSources,
  model: string,
  acceptsDeprecated = false,
): ModelTarget | undefined {
  const target = findUnversionedTarget(sources, model, acceptsDeprecated)
  if (target !== undefined || isDeployId(model)) return target
  const colon = model.lastIndexOf(':')
  const versioned = colon < 0 ? undefined : findUnversionedTarget(sources, model.slice(0, colon), acceptsDeprecated)
  if (versioned !== undefined) return hasVersion(sources, versioned, model.slice(colon + 1)) ? versioned : undefined
  const { unknownModels } = sources.profile.policies
  // A deprecated model is known.
  return unknownModels === null || sources.store.models.has(model)
    ? undefined
    : findUnversionedTarget(sources, unknownModels, false)
}

/** Returns whether the model has this version. A deployment of the account serves only its own. */
function hasVersion({ deployments, store }: ModelSources, { name, row }: ModelTarget, version: string): boolean {
  if (row !== undefined) return deployments.findLive(name)?.row.plan.version === version
  return store.models.get(name)?.versions.includes(version) ?? false
}

function findUnversionedTarget(
  { deployments, store, profile, clock }: ModelSources,
  model: string,
  acceptsDeprecated: boolean,
): ModelTarget | undefined {
  const isId = isDeployId(model)
  const deployment = isId
    ? deployments.get(model.slice(DEPLOY_ID_PREFIX.length))
    : (deployments.findLive(model) ?? deployments.findLive(`${store.account.display_name}/${model}`))
  if (deployment?.status === 'deleted') return undefined
  // A catalog model serves all under its name, so a deployment of it is reached by its id alone.
  const plan = deployment?.row.plan
  const isOwn = plan?.hasInstances && (isId || plan.baseModel !== plan.modelName)
  if (deployment && plan && (isOwn || plan.type === 'lora')) {
    const { task, modelName: name, base, baseModel } = plan
    const { ordinal } = deployment
    const common = { name, task, row: ordinal }
    if (plan.type !== 'lora') return { kind: 'own', ...common, deployment: ordinal, adapter: undefined }
    // An adapter on a model of the catalog costs half as much again as the model.
    return base >= 0
      ? { kind: 'own', ...common, deployment: base, adapter: ordinal }
      : { kind: 'catalog', ...common, model: baseModel, priceShare: profile.prices.adapterFactor, adapter: ordinal }
  }
  const catalogModel = store.models.get(plan?.modelName ?? model)
  if (catalogModel === undefined) return undefined
  if (!acceptsDeprecated && isDeprecated(catalogModel, clock)) return undefined
  const { model_name: name, type: task } = catalogModel
  // By its own name, the model is there for every account, also after a deployment that refers to it is gone.
  const row = isId ? deployment?.ordinal : undefined
  return { kind: 'catalog', name, task, row, model: name, priceShare: 1, adapter: undefined }
}
