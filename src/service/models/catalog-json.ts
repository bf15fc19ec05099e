/** The catalog as JSON. It is composed once for each catalog and each state of prices and deprecations. */
import type { CatalogModel } from '../../data/records/catalog.ts'
import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import { isDeprecated } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'
import { toTimePricing } from './model-catalog.ts'

/** JSON of the entries of each catalog, with the state that it shows. An entry lives as long as its catalog. */
type CatalogCache = WeakMap<readonly CatalogModel[], { state: readonly unknown[]; json: readonly string[] }>

const cachedJson: CatalogCache = new WeakMap()
/** The entries with prices by time. */
const cachedPricedJson: CatalogCache = new WeakMap()

export function toCatalogJson(world: World): readonly string[] {
  return composeOnce(world, cachedJson, [], toModelEntry)
}

export function toDeploymentCatalogJson(world: World): readonly string[] {
  const gpuPrices = GPU_TYPES.map(gpu => world.ledger.meters.priceCentsPerHour(gpu))
  return composeOnce(world, cachedPricedJson, [world.store.hardware.all(), ...gpuPrices], model => ({
    ...toModelEntry(model),
    pricing: toTimePricing(world, model),
  }))
}

/**
 * Returns the JSON of all entries in the order of the lists. Composes it again if a model was deprecated or the sources
 * have changed since the last call.
 *
 * @param sources what the entries show beside the catalog, compared by identity
 */
function composeOnce(
  world: World,
  cache: CatalogCache,
  sources: readonly unknown[],
  toEntry: (model: CatalogModel) => object,
): readonly string[] {
  const models = world.store.models.all()
  const deprecatedCount = models.reduce((count, model) => count + (isDeprecated(model, world.clock) ? 1 : 0), 0)
  const state = [deprecatedCount, ...sources]
  const cached = cache.get(models)
  if (cached?.state.every((value, index) => value === state[index])) return cached.json
  const json = sortCatalog(world).map(model => JSON.stringify(toEntry(model)))
  cache.set(models, { state, json })
  return json
}

function sortCatalog(world: World): readonly CatalogModel[] {
  const rankOf = (model: CatalogModel) => {
    if (isDeprecated(model, world.clock)) return 2
    return model.type === 'text-generation' ? 0 : 1
  }
  return [...world.store.models.all()].sort((a, b) => rankOf(a) - rankOf(b))
}

export function toModelEntry({
  versions: _,
  parameters_b: __,
  featured: ___,
  created: ____,
  version_times: _____,
  family: ______,
  ...model
}: CatalogModel) {
  return { ...model, private: 0 }
}
