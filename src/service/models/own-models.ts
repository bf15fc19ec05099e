/** The models of the account, as the lists and the record of a model show them. */
import type * as z from 'zod'
import type { DeploymentRow } from '../../simulation/deployments/deployment-row.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { AccountModel } from '../../simulation/deployments/model-versions.ts'
import type { World } from '../../simulation/world.ts'
import { isForeignModelName } from '../lookups.ts'
import { findContextLength } from '../openai/request-lifecycle.ts'
import type { DeploymentModelEntry } from '../records.ts'

/** Returns the model of the account with a full name; undefined if it has none. */
export function findOwnModel(world: World, model_name: string): AccountModel | undefined {
  return isOwnModelName(world, model_name) ? world.modelVersions.get(model_name) : undefined
}

/**
 * Returns whether a name can be that of a model of the account. A name with another owner is a repository that the
 * account deployed, or an old reference to the catalog, which is not such a model.
 */
function isOwnModelName(world: World, model_name: string): boolean {
  if (!isForeignModelName(world, model_name)) return true
  for (const [, { plan }] of world.deployments.entries()) {
    if (plan.modelName === model_name && plan.hasInstances) return true
  }
  return false
}

/** Returns the models of the account, by name. */
export function listOwnModels(world: World): readonly AccountModel[] {
  return world.modelVersions.list().filter(model => isOwnModelName(world, model.model_name))
}

/** Returns the GPUs of the newest deployment of a model of the account; undefined if it has none of its own. */
export function findGpus(
  { deployments }: World,
  model_name: string,
): Pick<DeploymentRow, 'gpu' | 'numGpus'> | undefined {
  let newest: Readonly<DeploymentRow> | undefined
  for (const [, row] of deployments.entries()) {
    if (row.plan.modelName !== model_name) continue
    if (newest === undefined || row.plan.createdAt >= newest.plan.createdAt) newest = row
  }
  return newest?.gpu === 'other' ? undefined : newest
}

/** Returns the catalog entry of a model of the account. Its price is the price of its GPUs. */
export function toOwnModelEntry(world: World, model: AccountModel) {
  const deployment = world.deployments.findLive(model.model_name)
  const adapter = deployment?.row.plan.type === 'lora' ? deployment : undefined
  const { details } = model
  const target = deployment && findModelTarget(world, model.model_name)
  const gpus = findGpus(world, model.model_name)
  const cents = gpus === undefined ? 0 : world.ledger.meters.priceCentsPerHour(gpus.gpu) * gpus.numGpus
  const hardware = gpus === undefined ? '' : `${gpus.numGpus}x${gpus.gpu}`
  return {
    model_name: model.model_name,
    type: model.task,
    reported_type: details.reported_type || model.task,
    pricing: {
      type: 'time' as const,
      cents_per_sec: cents / 3600,
      short: gpus ? `$${(cents / 100).toFixed(2)} / hour` : '',
      full: gpus ? `$${(cents / 100).toFixed(2)} per hour and instance of ${hardware}` : '',
      table: {
        columns: ['hardware', 'USD per hour'],
        rows: gpus ? [[hardware, (cents / 100).toFixed(2)]] : [],
      },
    },
    // An adapter has a description and a visibility of its own.
    description: adapter ? adapter.row.description : details.description,
    cover_img_url: details.cover_img_url,
    tags: [],
    max_tokens: target?.task === 'text-generation' ? findContextLength(world, target) : null,
    replaced_by: null,
    deprecated: null,
    quantization: null,
    mmlu: null,
    expected: null,
    private: Number(adapter ? adapter.row.isPrivate : !model.isPublic),
    is_partner: false,
  } satisfies z.output<typeof DeploymentModelEntry>
}
