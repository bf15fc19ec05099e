/** What several endpoints say about one model of the catalog, so that they agree. */
import type { CatalogModel, ModelHardware } from '../../data/records/catalog.ts'
import type { TimePricing } from '../../data/records/pricing.ts'
import { hash32 } from '../../kernel/random.ts'
import { isDeprecated } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'

type Hardware = ModelHardware['hardware'][number]

const DAY_SECONDS = 86_400
/** 2024-06-01. Models without a time of their own are created in the year after it. */
const FIRST_CREATED = 1_717_200_000
/** Maximum answer of a text model in tokens, if no entry of the aggregator says more. */
const MAX_OUTPUT_TOKENS = 16_384

/** Returns when a model was created, in Unix seconds. */
export function modelCreatedAt(world: World, { model_name, created, deprecated }: CatalogModel): number {
  const time =
    created ??
    world.store.aggregator.get(model_name)?.created ??
    FIRST_CREATED + (hash32(model_name) % 365) * DAY_SECONDS
  return Math.min(time, deprecated ?? time, world.clock.unix(0))
}

/**
 * Returns when each version was uploaded, in Unix seconds: the first with the model, the others a month apart. A version
 * that was added during the run has the time of its addition.
 */
export function versionTimes(world: World, model: CatalogModel): readonly number[] {
  const created = modelCreatedAt(world, model)
  return model.versions.map(
    (version, index) =>
      model.version_times[version] ?? Math.min(created + index * 30 * DAY_SECONDS, world.clock.unix(0)),
  )
}

/** Returns the price of the cheapest dedicated hardware. A model without such hardware has its own price, or one GPU. */
export function toTimePricing(world: World, { model_name, pricing }: CatalogModel): TimePricing {
  if (pricing.type === 'time') return pricing
  const options = (world.store.hardware.get(model_name)?.hardware ?? []).filter(isDedicated)
  const priced = options.map(({ gpu, num_gpus }) => ({
    name: `${num_gpus}x ${gpu}`,
    cents: (world.ledger.meters.priceCentsPerHour(gpu) * num_gpus) / 3600,
  }))
  priced.sort((a, b) => a.cents - b.cents)
  const [cheapest = { name: '1x L4-24GB', cents: world.ledger.meters.priceCentsPerHour('L4-24GB') / 3600 }] = priced
  const usd = (cents: number) => `$${(cents / 100).toFixed(6)}`
  return {
    type: 'time',
    cents_per_sec: cheapest.cents,
    short: `${usd(cheapest.cents)}/sec`,
    full: `${usd(cheapest.cents)} per second of ${cheapest.name}`,
    table: { columns: ['Hardware', 'Price per second'], rows: priced.map(({ name, cents }) => [name, usd(cents)]) },
  }
}

/** Returns whether the account can deploy the model on GPUs of its own. */
export function isDeployable(world: World, model: CatalogModel): boolean {
  return (
    !isDeprecated(model, world.clock) &&
    (world.store.hardware.get(model.model_name)?.hardware.some(isDedicated) ?? false)
  )
}

/** Returns the maximum answer of a text model in tokens; null for other models. */
export function maxOutputTokens(
  world: World,
  { model_name, type, max_tokens }: Pick<CatalogModel, 'model_name' | 'type' | 'max_tokens'>,
): number | null {
  if (type !== 'text-generation') return null
  const listed = world.store.aggregator.get(model_name)?.max_output_length
  return listed ?? Math.min(max_tokens ?? MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS)
}

/** Returns the prices of a model in USD: of tokens per million, else of each unit that its price names. */
export function unitPrices(
  world: World,
  { model_name, pricing }: Pick<CatalogModel, 'model_name' | 'pricing'>,
): Readonly<Record<string, number>> {
  const serverless = world.store.hardware.get(model_name)?.hardware.find(one => one.type === 'serverless')
  const units = Object.entries(pricing).filter(([field]) => field.startsWith('cents_per_')) as [string, number][]
  const prices = Object.fromEntries(
    units.map(([field, cents]) => [field.slice('cents_per_'.length), Number((cents / 100).toPrecision(12))]),
  )
  if (serverless === undefined) return prices
  const input = serverless.pricing.cents_per_million_input_tokens / 100
  const output = serverless.pricing.cents_per_million_output_tokens / 100
  if (input === 0 && output === 0) return prices
  const cachedShare = pricing.type === 'tokens' ? pricing.rate_per_input_token_cached : null
  return {
    input_tokens: input,
    output_tokens: output,
    // Rounded, because the product of two decimals has binary noise.
    ...(cachedShare !== null && { cache_read_tokens: Number((input * cachedShare).toPrecision(12)) }),
  }
}

function isDedicated(option: Hardware): option is Extract<Hardware, { type: 'dedicated' }> {
  return option.type === 'dedicated'
}
