/** The catalog as JSON. It is composed once for each catalog and each state of prices and deprecations. */
import type { CatalogModel, ModelHardware } from '../data/records/catalog.ts'
import { GPU_TYPES } from '../data/records/gpu-config.ts'
import { isDeprecated } from '../simulation/deployments/model-lookup.ts'
import type { World } from '../simulation/world.ts'
import { toTimePricing } from './model-catalog.ts'

/** JSON of the entries of each catalog, and how many models were deprecated. An entry lives as long as its catalog. */
const cachedJson = new WeakMap<readonly CatalogModel[], { deprecatedCount: number; json: readonly string[] }>()

export function toCatalogJson(world: World): readonly string[] {
  const models = world.store.models.all()
  const deprecatedCount = countDeprecated(world)
  const cached = cachedJson.get(models)
  if (cached?.deprecatedCount === deprecatedCount) return cached.json
  const json = sortCatalog(world).map(model => JSON.stringify(toModelEntry(model)))
  cachedJson.set(models, { deprecatedCount, json })
  return json
}

function sortCatalog(world: World): readonly CatalogModel[] {
  const rankOf = (model: CatalogModel) => {
    if (isDeprecated(model, world.clock)) return 2
    return model.type === 'text-generation' ? 0 : 1
  }
  return [...world.store.models.all()].sort((a, b) => rankOf(a) - rankOf(b))
}

interface PricedCatalog {
  readonly hardware: readonly ModelHardware[]
  readonly gpuPrices: string
  readonly deprecatedCount: number
  readonly json: readonly string[]
}

/** JSON of the entries of each catalog by time, for the hardware, prices and deprecations that were seen last. */
const cachedPricedJson = new WeakMap<readonly CatalogModel[], PricedCatalog>()

export function toDeploymentCatalogJson(world: World): readonly string[] {
  const models = world.store.models.all()
  const hardware = world.store.hardware.all()
  const gpuPrices = GPU_TYPES.map(gpu => world.ledger.priceCentsPerHour(gpu)).join()
  const deprecatedCount = countDeprecated(world)
  const cached = cachedPricedJson.get(models)
  if (cached?.hardware === hardware && cached.gpuPrices === gpuPrices && cached.deprecatedCount === deprecatedCount) {
    return cached.json
  }
  const json = sortCatalog(world).map(model =>
    JSON.stringify({ ...toModelEntry(model), pricing: toTimePricing(world, model) }),
  )
  cachedPricedJson.set(models, { hardware, gpuPrices, deprecatedCount, json })
  return json
}

function countDeprecated(world: World): number {
  return world.store.models.all().filter(model => isDeprecated(model, world.clock)).length
}

export function toModelEntry({
  versions: _,
  parameters_b: __,
  featured: ___,
  created: ____,
  version_times: _____,
  ...model
}: CatalogModel) {
  return { ...model, private: 0 }
}
