import type { ModelTask } from '../store/records.ts'
import type { World } from './world.ts'

/** What requests for a model run on: capacity that is shared, or a deployment of the account's own. */
export type Target =
  | {
      readonly kind: 'catalog'
      readonly model: string
      readonly task: ModelTask
      /** What its tokens cost, as a share of the model's own price. */
      readonly priceShare: number
      /** Ordinal of the adapter that is named; undefined for none. */
      readonly adapter: number | undefined
    }
  | {
      readonly kind: 'own'
      readonly task: ModelTask
      /** Ordinal of the deployment whose instances serve. */
      readonly deployment: number
      readonly adapter: number | undefined
    }

const DEPLOY_ID = 'deploy_id:'

/**
 * What a model name means now: an own deployment by name or as `deploy_id:<id>`, an adapter's base, or a current model of
 * the catalog. Undefined for a name that nothing has.
 */
export function targetOf({ deployments, store, profile }: World, model: string): Target | undefined {
  const named = model.startsWith(DEPLOY_ID)
    ? deployments.get(model.slice(DEPLOY_ID.length))
    : (deployments.live(model) ?? deployments.live(`${store.account.display_name}/${model}`))
  if (named && named.status !== 'deleted' && named.type !== 'legacy' && named.type !== 'tts') {
    const { task, ordinal } = named
    if (named.type !== 'lora') return { kind: 'own', task, deployment: ordinal, adapter: undefined }
    const { base, baseModel } = deployments.read(ordinal).plan
    // An adapter on a model of the catalog costs half as much again as the model.
    return base >= 0
      ? { kind: 'own', task, deployment: base, adapter: ordinal }
      : { kind: 'catalog', model: baseModel, task, priceShare: profile.prices.adapterFactor, adapter: ordinal }
  }
  const entry = store.models.get(named?.type === 'legacy' ? named.model_name : model)
  if (entry === undefined || entry.deprecated !== null) return undefined
  return { kind: 'catalog', model: entry.model_name, task: entry.type, priceShare: 1, adapter: undefined }
}
