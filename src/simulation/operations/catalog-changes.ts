import type { AggregatorModel, CatalogModel, ModelHardware } from '../../data/records/catalog.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import type { Ledger } from '../account/ledger.ts'
import type { Batches } from '../batches/batches.ts'
import { CommandError } from '../command-error.ts'
import type { JournalKindName } from '../journal-kinds.ts'
import { Part } from '../part.ts'

const VERSION = purpose('catalog.version')
/** Decimals of a price in USD per token: a millionth of a cent per million tokens. */
const USD_DECIMALS = 14

type PriceSide = 'input' | 'output'

/** Changes of the public catalog during a run. Each changes every record of the model, so that the endpoints agree. */
export class CatalogChanges extends Part<{ readonly ledger: Ledger; readonly batches: Batches }> {
  /** Sets the date of deprecation of a model, `delay` microseconds from now. Until then the model is current. */
  deprecate(name: string, delay: Micros): void {
    const { clock } = this.context
    const deprecated = clock.unix(clock.now + delay)
    this.#setDeprecated(name, deprecated, new Date(deprecated * 1000).toISOString().slice(0, 10))
    this.#record('catalog.deprecated', { model: name, deprecated })
  }

  /** Makes a model current, without a date of deprecation. */
  restore(name: string): void {
    if (this.#model(name).deprecated === null) return
    this.#setDeprecated(name, null, '')
    this.#record('catalog.restored', { model: name })
  }

  /** Adds a newest version, drawn from the seed, to a model. */
  addVersion(name: string): void {
    const { chance, clock, store } = this.context
    const model = this.#model(name)
    const version = chance.hex(64, chance.key('catalogVersion', name, model.versions.length), VERSION)
    store.models.put({
      ...model,
      versions: [...model.versions, version],
      version_times: { ...model.version_times, [version]: clock.unix(clock.now) },
    })
    this.#record('catalog.versionAdded', { model: name, version: version.slice(0, 8) })
  }

  /**
   * Sets the cents per million input or output tokens of a model. Requests that began keep their price.
   * Lines of a batch have the price in force when they end.
   *
   * @throws CommandError for a model without such a price
   */
  setPrice(name: string, side: PriceSide, cents: number): void {
    const { store } = this.context
    const model = this.#model(name)
    const hardware = store.hardware.get(name)
    const hasPrice = model.type === 'text-generation' || (side === 'input' && isReader(model))
    if (!hasPrice || !hardware?.hardware.some(one => one.type === 'serverless')) {
      throw new CommandError(
        `Failed to set the ${side} price of '${name}': a model of the type ${model.type} has no such price. Name another model.`,
      )
    }
    // Lines that are done by now are counted and charged at the old price.
    this.parts.batches.pacing.rescheduleAll()
    const field = side === 'input' ? 'cents_per_million_input_tokens' : 'cents_per_million_output_tokens'
    const options = hardware.hardware.map(one =>
      one.type === 'serverless' ? { ...one, pricing: { ...one.pricing, [field]: cents } } : one,
    )
    store.hardware.put({ ...hardware, hardware: options })
    store.models.put({ ...model, pricing: toPricing(model, options) })
    const listed = store.aggregator.get(name)
    if (listed !== undefined) {
      store.aggregator.put({ ...listed, pricing: toAggregatorPricing(listed, this.#model(name), side, cents) })
    }
    this.#record('catalog.priceSet', { model: name, side, cents_per_million: cents })
  }

  #model(name: string): CatalogModel {
    return this.context.store.models.get(name)!
  }

  #setDeprecated(name: string, deprecated: number | null, deprecation_date: string): void {
    const { models, aggregator } = this.context.store
    models.put({ ...this.#model(name), deprecated })
    const listed = aggregator.get(name)
    if (listed !== undefined) aggregator.put({ ...listed, deprecation_date })
  }

  #record(kind: JournalKindName, fields: Record<string, string | number>): void {
    this.context.recordCommand(this.parts.ledger.account, kind, fields)
  }
}

/** Returns whether a model reads tokens and writes none. */
function isReader({ type }: CatalogModel): boolean {
  return type === 'embeddings' || type === 'reranker'
}

/** Returns the price in the catalog, with its texts. A model whose own price is by time keeps it. */
function toPricing({ pricing }: CatalogModel, options: ModelHardware['hardware']): CatalogModel['pricing'] {
  const tokens = options.find(one => one.type === 'serverless')!.pricing
  const input = tokens.cents_per_million_input_tokens
  const output = tokens.cents_per_million_output_tokens
  const columns = ['Tokens', 'USD per million']
  if (pricing.type === 'input_tokens') {
    return {
      ...pricing,
      cents_per_input_token: input / 1e6,
      short: `${usd(input)} / 1M tokens`,
      full: `${usd(input)} per million input tokens`,
      table: { columns, rows: [['input', usd(input)]] },
    }
  }
  if (pricing.type !== 'tokens') return pricing
  return {
    ...pricing,
    cents_per_input_token: input / 1e6,
    cents_per_output_token: output / 1e6,
    short: `${usd(input)} in, ${usd(output)} out / 1M tokens`,
    full: `${usd(input)} per million input tokens, ${usd(output)} per million output tokens`,
    table: {
      columns,
      rows: [
        ['input', usd(input)],
        ['output', usd(output)],
      ],
    },
  }
}

function toAggregatorPricing(
  { pricing }: AggregatorModel,
  { pricing: own }: CatalogModel,
  side: PriceSide,
  cents: number,
): AggregatorModel['pricing'] {
  if (side === 'output') return { ...pricing, completion: usdPerToken(cents) }
  const cachedShare = own.type === 'tokens' ? own.rate_per_input_token_cached : null
  return {
    ...pricing,
    prompt: usdPerToken(cents),
    ...(cachedShare !== null && { input_cache_read: usdPerToken(cents * cachedShare) }),
  }
}

/** Returns cents as US dollars with at least two decimals, as in `$0.005`. */
function usd(cents: number): string {
  const [whole, decimals = ''] = trimmed(cents / 100, 8).split('.')
  return `$${whole}.${decimals.padEnd(2, '0')}`
}

function usdPerToken(centsPerMillion: number): string {
  return trimmed(centsPerMillion / 1e8, USD_DECIMALS)
}

/** Returns a number in decimal form, without an exponent and without zeros at its end. */
function trimmed(value: number, decimals: number): string {
  return value.toFixed(decimals).replace(/\.?0+$/, '')
}
