/** Prices and costs of requests: by token, or by the units of another pricing type. */
import type { ModelPricing } from '../../data/records/pricing.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { Store } from '../store.ts'
import { tokenWeight, unitWeight } from './money.ts'

/** Cents per million tokens. */
export interface TokenPrice {
  readonly input: number
  readonly output: number
}

/** Returns a share of the present price of a catalog model; undefined if it has no price by token. */
export function tokenPriceOf(store: Store, model: string, share: number): TokenPrice | undefined {
  const serverless = store.hardware.get(model)?.hardware.find(one => one.type === 'serverless')
  if (serverless?.type !== 'serverless') return undefined
  const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = serverless.pricing
  return { input: input * share, output: output * share }
}

export type PricingType = ModelPricing['type']

/** The price of a request that is not charged by the token prices of the hardware table. */
export interface UnitPrice {
  readonly type: PricingType
  /** Cents per unit: per second, character, image unit or input token. */
  readonly cents: number
  /** Cents per output token. 0 for all types but `tokens`. */
  readonly outputCents: number
}

/** Amounts of the work of a media or custom model. A pricing type charges the amount of its name. Default: 0. */
export interface WorkAmounts {
  /** Images: 1 is an image with the default size and the default iterations of its model. */
  readonly image_units?: number
  /** Characters. */
  readonly input_character_length?: number
  /** Seconds of the input, for example of audio. */
  readonly input_length?: number
  /** Seconds of the output. */
  readonly output_length?: number
}

/** What a request used until its end. */
export interface RequestUse {
  readonly promptTokens: number
  readonly answerTokens: number
  /** Undefined: a request that is charged by token. */
  readonly amounts: WorkAmounts | undefined
  /** Microseconds of an instance's work. */
  readonly workTime: Micros
}

/** The cost of one request. */
export interface RequestCost {
  readonly pricingType: PricingType
  /** Tokens, or units of the pricing type to a millionth. */
  readonly units: number
  /** Millionths of a micro-cent. A charge of the ledger is rounded down to micro-cents for each model. */
  readonly weight: bigint
}

/** Returns the US dollars of a cost, before the charge is rounded down. */
export function toDollars({ weight }: RequestCost): number {
  return Number(weight) / 1e14
}

/** Returns a share of the present price of a catalog model by its own pricing; undefined for an unknown model. */
export function unitPriceOf({ models }: Store, model: string, share: number): UnitPrice | undefined {
  const pricing = models.get(model)?.pricing
  if (pricing === undefined) return undefined
  return {
    type: pricing.type,
    cents: centsPerUnit(pricing) * share,
    outputCents: pricing.type === 'tokens' ? pricing.cents_per_output_token * share : 0,
  }
}

function centsPerUnit(pricing: ModelPricing): number {
  switch (pricing.type) {
    case 'time':
    case 'uptime':
      return pricing.cents_per_sec
    case 'tokens':
    case 'input_tokens':
      return pricing.cents_per_input_token
    case 'input_length':
      return pricing.cents_per_input_sec
    case 'input_character_length':
      return pricing.cents_per_input_chars
    case 'image_units':
      return pricing.cents_per_image_unit
    case 'output_length':
      return pricing.cents_per_output_sec
  }
}

/** Returns the cost of a request by token. */
export function tokenCostOf({ input, output }: TokenPrice, use: RequestUse): RequestCost {
  const { promptTokens, answerTokens } = use
  const weight = tokenWeight(promptTokens, input) + tokenWeight(answerTokens, output)
  return { pricingType: 'tokens', units: promptTokens + answerTokens, weight }
}

/** Units are counted to a millionth. */
const UNIT_RESOLUTION = 1e6

/** Returns the cost of a request by the units of its pricing type. */
export function unitCostOf({ type, cents, outputCents }: UnitPrice, use: RequestUse): RequestCost {
  const units = Math.round(unitsOf(type, use) * UNIT_RESOLUTION) / UNIT_RESOLUTION
  if (type !== 'tokens') return { pricingType: type, units, weight: unitWeight(units, cents) }
  const weight = unitWeight(use.promptTokens, cents) + unitWeight(use.answerTokens, outputCents)
  return { pricingType: type, units, weight }
}

function unitsOf(type: PricingType, { promptTokens, answerTokens, amounts, workTime }: RequestUse): number {
  switch (type) {
    case 'time':
    case 'uptime':
      return workTime / SECOND
    case 'tokens':
      return promptTokens + answerTokens
    case 'input_tokens':
      return promptTokens
    default:
      return amounts?.[type] ?? 0
  }
}
