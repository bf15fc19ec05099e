import { type RequestCost, tokenCostOf, unitCostOf, unitPriceOf } from '../account/request-cost.ts'
import { tokenPriceOf } from '../account/token-price.ts'
import type { ModelTarget } from '../deployments/model-lookup.ts'
import type { Store } from '../store.ts'
import type { EndedState, InferencePlan, InferenceSpec } from './request-row.ts'

/** The price in force of a request. */
export type PlanPrice = Pick<InferencePlan, 'price' | 'unitPrice'>

const NO_PRICE: PlanPrice = Object.freeze({ price: undefined, unitPrice: undefined })

/** Returns the price in force of a request. An own deployment costs its rent alone. */
export function priceOfRequest(store: Store, { work }: InferenceSpec, target: ModelTarget): PlanPrice {
  if (target.kind === 'own') return NO_PRICE
  const { model, priceShare } = target
  return work === undefined
    ? { price: tokenPriceOf(store, model, priceShare), unitPrice: undefined }
    : { price: undefined, unitPrice: unitPriceOf(store, model, priceShare) }
}

/**
 * Returns the cost of a request at its end; undefined if it is not charged. Media work is charged only if it was served.
 * Tokens are charged as far as they were generated.
 *
 * @param workTime microseconds of an instance's work
 */
export function costOfRequest(
  { chargedModel, price, unitPrice, promptTokens, work }: InferencePlan,
  state: EndedState,
  isStarted: boolean,
  answerTokens: number,
  workTime: number,
): RequestCost | undefined {
  if (chargedModel === '' || !isStarted) return undefined
  const use = { promptTokens, answerTokens, amounts: work?.amounts, workTime }
  if (work === undefined) return price && tokenCostOf(price, use)
  return unitPrice && state === 'served' ? unitCostOf(unitPrice, use) : undefined
}
